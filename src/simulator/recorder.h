// What both simulations note down: a flight for each request under way, tokens as they come, records as
// requests end, and how things stood over time. Knows no scheduler and no clock.
#pragma once

#include <cstdint>
#include <functional>

#include "measure/summary.h"
#include "measure/timeline.h"
#include "simulator/flights.h"
#include "simulator/gap_tables.h"
#include "workload/workload.h"

namespace paternoster::simulator {

// More came than was served: somebody was refused, or more than a twentieth of all requests (and of a few)
// had no seat yet when the last one came.
bool is_overloaded(const measure::Summary& summary, std::int64_t waiting_at_last_arrival);

class Recorder {
 public:
  using Sink = std::function<void(const measure::RequestRecord&)>;

  // `egress_ns`: from a token to its client's eyes.
  Recorder(const workload::Source& source, measure::Objectives objectives, std::int64_t egress_ns, Sink sink);

  // A slot for the arrival, which is its number as long as it lives.
  std::uint64_t open(const workload::Arrival& arrival);
  void seat(std::uint64_t slot, std::int64_t now_ns, std::int32_t cached_tokens);
  void token(std::uint64_t slot, std::int64_t now_ns);
  void close(std::uint64_t slot, measure::Status status, std::int64_t now_ns);

  Flights& flights() { return flights_; }
  measure::Timeline& timeline() { return timeline_; }
  // How things stand from now on; `now_ns` never goes back.
  void stand(std::int64_t now_ns, const measure::Timeline::Moment& moment);
  void advance(std::int64_t now_ns);

  std::uint64_t over() const { return over_; }
  std::int64_t end_ns() const { return end_ns_; }
  std::int64_t last_arrival_ns() const { return last_arrival_ns_; }
  // Requests that had no seat yet when the last one came, itself included.
  std::int64_t waiting_at_last_arrival() const { return waiting_at_last_arrival_; }
  std::int32_t most_live() const { return most_live_; }
  measure::Summary finish();

 private:
  Flights flights_;
  std::vector<workload::ClassOfWork> classes_;
  std::vector<workload::Tenant> tenants_;
  std::int64_t egress_ns_;
  Sink sink_;
  measure::Summarizer summarizer_;
  measure::Timeline timeline_;
  GapTables gaps_;
  measure::Timeline::Moment moment_;
  std::int64_t now_ns_ = 0;
  std::int64_t end_ns_ = 0;
  std::int64_t last_arrival_ns_ = 0;
  std::int64_t waiting_at_last_arrival_ = 0;
  std::int32_t most_live_ = 0;
  std::uint64_t over_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t seated_ = 0;  // had their first seat, or ended without
};

}  // namespace paternoster::simulator
