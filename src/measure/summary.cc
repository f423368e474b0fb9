#include "measure/summary.h"

#include <algorithm>

namespace paternoster::measure {
namespace {

Figures& find(FiguresByName& list, std::string_view name) {
  const auto found = list.find(name);
  return found != list.end() ? found->second : list.emplace(name, Figures{}).first->second;
}

}  // namespace

const char* to_string(Status status) {
  switch (status) {
    case Status::kCompleted: return "completed";
    case Status::kRefused: return "refused";
    case Status::kFailed: return "failed";
    case Status::kTimedOut: return "timed_out";
    case Status::kCancelled: return "cancelled";
  }
  return "?";
}

const Distribution& Figures::of(Metric metric) const {
  switch (metric) {
    case Metric::kTtft: return ttft;
    case Metric::kTpot: return tpot;
    case Metric::kItl: return itl;
    case Metric::kE2e: break;
  }
  return e2e;
}

double Figures::attainment() const {
  return total() == 0 ? 1 : static_cast<double>(good) / static_cast<double>(total());
}

namespace {

double rate(double count, double duration_s) { return duration_s > 0 ? count / duration_s : 0; }

}  // namespace

double Summary::request_rate() const {
  return rate(static_cast<double>(all.completed), duration_s);
}
double Summary::output_rate() const {
  return rate(static_cast<double>(all.output_tokens), duration_s);
}
double Summary::total_rate() const {
  return rate(static_cast<double>(all.input_tokens + all.output_tokens), duration_s);
}
double Summary::goodput() const { return rate(static_cast<double>(all.good), duration_s); }

bool Summary::meets_objectives() const {
  if (all.refused > 0 || all.failed > 0) return false;
  return std::ranges::all_of(objectives, [&](const Objective& one) {
    return all.of(one.metric).percentile(one.percent) <= static_cast<double>(one.limit_ns);
  });
}

double jain_index(const FiguresByName& tenants) {
  double sum = 0;
  double squares = 0;
  for (const auto& [name, figures] : tenants) {
    const double service = static_cast<double>(figures.input_tokens + 2 * figures.output_tokens);
    sum += service;
    squares += service * service;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(tenants.size()) * squares);
}

Summarizer::Summarizer(Objectives objectives) { summary_.objectives = std::move(objectives); }

void Summarizer::add(const RequestRecord& record) {
  const bool good = is_good(record, summary_.objectives);
  add_to(summary_.all, record, good);
  add_to(find(summary_.classes, record.class_name), record, good);
  add_to(find(summary_.tenants, record.tenant), record, good);
}

void Summarizer::add_to(Figures& figures, const RequestRecord& record, bool good) const {
  if (record.sent_ns >= 0) figures.lateness.add(static_cast<double>(record.lateness_ns()));
  figures.preemptions += record.preemptions;
  if (!record.completed()) {
    ++(record.status == Status::kRefused ? figures.refused : figures.failed);
    return;
  }
  ++figures.completed;
  figures.good += good ? 1 : 0;
  figures.input_tokens += record.input_tokens;
  figures.output_tokens += record.output_tokens;
  figures.cached_tokens += record.cached_tokens;
  figures.input_lengths.add(record.input_tokens);
  figures.output_lengths.add(record.output_tokens);
  if (record.admitted_ns >= 0) {
    figures.queue.add(static_cast<double>(record.admitted_ns - record.scheduled_ns));
  }
  if (record.output_tokens < 1 || record.first_token_ns < 0) return;
  const auto e2e = static_cast<double>(record.e2e_ns());
  figures.ttft.add(static_cast<double>(record.ttft_ns()));
  figures.e2e.add(e2e);
  figures.normalized.add(e2e / record.output_tokens);
  if (record.output_tokens > 1) figures.tpot.add(record.tpot_ns());
  for (std::size_t at = 1; at < record.arrivals.size(); ++at) {
    figures.itl.add(static_cast<double>(record.arrivals[at].at_ns - record.arrivals[at - 1].at_ns));
  }
}

void Summarizer::add_gap(double gap_ns, std::uint64_t times, std::string_view class_name,
                         std::string_view tenant) {
  summary_.all.itl.add(gap_ns, times);
  find(summary_.classes, class_name).itl.add(gap_ns, times);
  find(summary_.tenants, tenant).itl.add(gap_ns, times);
}

Summary Summarizer::finish(double duration_ns) {
  summary_.duration_s = duration_ns / 1e9;
  if (summary_.classes.size() < 2) summary_.classes.clear();
  if (summary_.tenants.size() < 2) summary_.tenants.clear();
  summary_.jain = jain_index(summary_.tenants);
  return std::move(summary_);
}

}  // namespace paternoster::measure
