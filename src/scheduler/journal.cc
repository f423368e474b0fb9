#include "scheduler/journal.h"

#include <utility>

#include "scheduler/journal_format.h"

namespace paternoster::scheduler {
void Journal::number(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
    value >>= 7;
  }
  bytes_.push_back(static_cast<std::uint8_t>(value));
}

void Journal::integer(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  number((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

void Journal::tag(std::uint8_t record, std::int64_t now_ns) {
  bytes_.push_back(record);
  integer(static_cast<std::int64_t>(static_cast<std::uint64_t>(now_ns) -
                                    static_cast<std::uint64_t>(last_ns_)));
  last_ns_ = now_ns;
}

void Journal::begin(const Config& config) {
  bytes_.insert(bytes_.end(), std::begin(kJournalMagic), std::end(kJournalMagic));
  visit_config(config, [this](auto value) { integer(static_cast<std::int64_t>(value)); });
}

void Journal::submit(std::int64_t now_ns, const Request& request) {
  tag(kSubmitRecord, now_ns);
  number(request.id.value);
  integer(request.max_tokens);
  integer(request.choices);
  number(request.cache_namespace);
  number(request.reads_prefix_cache ? 1 : 0);
  number(request.tenant.value);
  integer(request.priority);
  integer(request.expected_tokens);
  integer(request.deadline_ns);
  integer(request.itl_target_ns);
  number(request.prompt.size());
  for (const TokenId token : request.prompt) integer(token);
}

void Journal::cancel(std::int64_t now_ns, RequestId request) {
  tag(kCancelRecord, now_ns);
  number(request.value);
}

void Journal::plan(std::int64_t now_ns, const Plan& plan) {
  tag(kPlanRecord, now_ns);
  const std::uint64_t hash = plan_hash(plan);
  for (int byte = 0; byte < 8; ++byte) {
    bytes_.push_back(static_cast<std::uint8_t>(hash >> (8 * byte)));
  }
}

void Journal::commit(std::int64_t now_ns, const StepResult& result) {
  tag(kCommitRecord, now_ns);
  number(result.outcomes.size());
  for (const Outcome& outcome : result.outcomes) {
    number(outcome.sequence.value);
    integer(outcome.token);
    number(outcome.stop ? 1 : 0);
  }
}

void Journal::drain() { bytes_.push_back(kDrainRecord); }

void Journal::force_preempt(std::int64_t now_ns, SequenceId sequence) {
  tag(kForcePreemptRecord, now_ns);
  number(sequence.value);
}

void Journal::calibrate(std::int64_t now_ns, const CostModel& cost) {
  tag(kCalibrateRecord, now_ns);
  visit_cost(cost, [this](std::int64_t value) { integer(value); });
}

void Journal::set_weight(std::int64_t now_ns, TenantId tenant, std::int32_t weight) {
  tag(kWeightRecord, now_ns);
  number(tenant.value);
  integer(weight);
}

std::vector<std::uint8_t> Journal::take() { return std::exchange(bytes_, {}); }

}  // namespace paternoster::scheduler
