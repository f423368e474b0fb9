#include "simulator/recorder.h"

#include <algorithm>

#include "base/check.h"

namespace paternoster::simulator {

bool is_overloaded(const measure::Summary& summary, std::int64_t waiting_at_last_arrival) {
  const auto total = static_cast<std::int64_t>(summary.all.total());
  return summary.all.refused > 0 || waiting_at_last_arrival > std::max<std::int64_t>(8, total / 20);
}

Recorder::Recorder(const workload::Source& source, measure::Objectives objectives, std::int64_t egress_ns, Sink sink)
    : classes_(source.classes()),
      tenants_(source.tenants()),
      egress_ns_(egress_ns),
      sink_(std::move(sink)),
      summarizer_(std::move(objectives)) {
  const auto tenants = static_cast<std::uint32_t>(tenants_.size());
  for (std::uint32_t one = 0; one < classes_.size(); ++one) {
    for (std::uint32_t tenant = 0; tenant < tenants; ++tenant) {
      gaps_.name(one * tenants + tenant, classes_[one].name, tenants_[tenant].name);
    }
  }
}

std::uint64_t Recorder::open(const workload::Arrival& arrival) {
  const std::uint64_t slot = flights_.open();
  Flight& flight = flights_[slot];
  flight.record.id = arrival.number;
  flight.record.class_name = classes_[arrival.class_index].name;
  flight.record.tenant = tenants_[arrival.tenant_index].name;
  flight.record.scheduled_ns = flight.record.sent_ns = arrival.at_ns;
  flight.record.input_tokens = arrival.input_tokens;
  flight.output_tokens = arrival.output_tokens;
  flight.token = static_cast<TokenId>((arrival.number * 0x9E3779B97F4A7C15u) >> 33);
  flight.kind = arrival.class_index * static_cast<std::uint32_t>(tenants_.size()) + arrival.tenant_index;
  ++arrived_;
  most_live_ = std::max(most_live_, static_cast<std::int32_t>(flights_.open_count()));
  last_arrival_ns_ = arrival.at_ns;
  waiting_at_last_arrival_ = static_cast<std::int64_t>(arrived_ - seated_);
  return slot;
}

void Recorder::seat(std::uint64_t slot, std::int64_t now_ns, std::int32_t cached_tokens) {
  measure::RequestRecord& record = flights_[slot].record;
  if (record.admitted_ns >= 0) return;
  record.admitted_ns = now_ns;
  record.cached_tokens = cached_tokens;
  ++seated_;
}

void Recorder::token(std::uint64_t slot, std::int64_t now_ns) {
  Flight& flight = flights_[slot];
  measure::RequestRecord& record = flight.record;
  const std::int64_t seen_ns = now_ns + egress_ns_;
  if (record.output_tokens++ == 0) {
    record.first_token_ns = seen_ns;
  } else {
    const std::int64_t gap_ns = seen_ns - record.last_token_ns;
    record.largest_gap_ns = std::max(record.largest_gap_ns, gap_ns);
    gaps_.add(flight.kind, gap_ns, summarizer_);
  }
  record.last_token_ns = seen_ns;
}

void Recorder::close(std::uint64_t slot, measure::Status status, std::int64_t now_ns) {
  measure::RequestRecord& record = flights_[slot].record;
  record.status = status;
  record.ended_ns = now_ns + egress_ns_;
  if (record.admitted_ns < 0) ++seated_;
  end_ns_ = std::max(end_ns_, record.ended_ns);
  summarizer_.add(record);
  if (sink_) sink_(record);
  ++over_;
  flights_.close(slot);
}

void Recorder::stand(std::int64_t now_ns, const measure::Timeline::Moment& moment) {
  advance(now_ns);
  moment_ = moment;
}

void Recorder::advance(std::int64_t now_ns) {
  PATERNOSTER_CHECK(now_ns >= now_ns_);
  if (now_ns > now_ns_) timeline_.add(now_ns_, now_ns, moment_);
  now_ns_ = now_ns;
}

measure::Summary Recorder::finish() {
  gaps_.flush(summarizer_);
  return summarizer_.finish(static_cast<double>(end_ns_));
}

}  // namespace paternoster::simulator
