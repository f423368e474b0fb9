// The reading half of the journal. The bytes may come from anywhere: whatever would be a driver's
// bug in a live scheduler (a commit that does not belong to its plan) is an error here, never an
// abort.
#include <algorithm>
#include <string>
#include <type_traits>

#include "scheduler/journal.h"
#include "scheduler/journal_format.h"
#include "scheduler/scheduler.h"

namespace paternoster::scheduler {
namespace {

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool cut_off() const { return cut_off_; }
  bool at_end() const { return at_ == bytes_.size(); }
  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  std::uint8_t byte() {
    if (at_end()) {
      cut_off_ = true;
      return 0;
    }
    return bytes_[at_++];
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t part = byte();
      value |= std::uint64_t{part & 0x7Fu} << shift;
      if (part < 0x80) break;
    }
    return value;
  }
  std::int64_t integer() {
    const std::uint64_t bits = number();
    return static_cast<std::int64_t>((bits >> 1) ^ (0 - (bits & 1)));
  }
  std::int32_t small() {  // an integer that was 32 bits; others saturate and fail validation
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(integer(), INT32_MIN, INT32_MAX));
  }
  std::uint64_t word() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 8) value |= std::uint64_t{byte()} << shift;
    return value;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool cut_off_ = false;
};

// A number into whatever it is: a choice, a limit, a switch. One out of range saturates and fails
// validation.
template <typename T>
void read_into(Reader& reader, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = reader.integer() != 0;
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(std::clamp<std::int64_t>(reader.integer(), 0, 255));
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    value = reader.small();
  } else {
    value = reader.integer();
  }
}

Config read_config(Reader& reader) {
  Config config;
  visit_config(config, [&](auto& value) { read_into(reader, value); });
  return config;
}

// The counts that precede tokens and outcomes: each needs at least one byte, so a larger one is cut
// off.
std::size_t read_count(Reader& reader) {
  const std::uint64_t count = reader.number();
  if (count > reader.left()) {
    while (!reader.cut_off()) reader.byte();
    return 0;
  }
  return static_cast<std::size_t>(count);
}

class Player {
 public:
  Player(Reader& reader, Scheduler& scheduler, Replay& replay)
      : reader_(reader), scheduler_(scheduler), replay_(replay) {}

  // One record. False if it could not have been written by a scheduler.
  bool play() {
    const std::uint8_t tag = reader_.byte();
    if (tag == kDrainRecord) {
      scheduler_.drain();
      return true;
    }
    now_ns_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(now_ns_) +
                                        static_cast<std::uint64_t>(reader_.integer()));
    switch (tag) {
      case kSubmitRecord:
        return submit();
      case kCancelRecord:
        return cancel();
      case kPlanRecord:
        return plan();
      case kCommitRecord:
        return commit();
      case kForcePreemptRecord:
        return force_preempt();
      case kCalibrateRecord:
        return calibrate();
      case kWeightRecord:
        return set_weight();
      default:
        return reader_.cut_off();
    }
  }

 private:
  bool submit() {
    Request request;
    request.id = RequestId{reader_.number()};
    request.max_tokens = reader_.small();
    request.choices = reader_.small();
    request.cache_namespace = reader_.number();
    request.reads_prefix_cache = reader_.number() != 0;
    request.tenant = TenantId{static_cast<std::uint32_t>(reader_.number())};
    request.priority = reader_.small();
    request.expected_tokens = reader_.small();
    request.deadline_ns = reader_.integer();
    request.itl_target_ns = reader_.integer();
    request.prompt.resize(read_count(reader_));
    for (TokenId& token : request.prompt) token = reader_.small();
    if (reader_.cut_off()) return true;
    if (scheduler_.live(request.id)) return false;
    scheduler_.submit(now_ns_, std::move(request));
    ++replay_.requests;
    return true;
  }
  bool cancel() {
    const RequestId id{reader_.number()};
    if (!reader_.cut_off()) scheduler_.cancel(now_ns_, id);
    return true;
  }
  bool plan() {
    const std::uint64_t recorded = reader_.word();
    if (reader_.cut_off()) return true;
    if (scheduler_.in_flight()) return false;
    plan_ = &scheduler_.plan(now_ns_);
    ++replay_.plans;
    if (plan_hash(*plan_) != recorded && !replay_.first_difference) {
      replay_.first_difference = replay_.plans;
    }
    return true;
  }
  bool commit() {
    StepResult result;
    result.outcomes.resize(read_count(reader_));
    for (Outcome& outcome : result.outcomes) {
      outcome.sequence = SequenceId{reader_.number()};
      outcome.token = reader_.small();
      outcome.stop = reader_.number() != 0;
    }
    if (reader_.cut_off()) return true;
    if (!belongs(result)) return false;
    scheduler_.commit(now_ns_, result);
    replay_.tokens += result.outcomes.size();
    return true;
  }
  bool force_preempt() {
    const SequenceId id{reader_.number()};
    if (reader_.cut_off()) return true;
    if (scheduler_.in_flight()) return false;
    scheduler_.force_preempt(now_ns_, id);
    return true;
  }
  bool calibrate() {
    CostModel cost;
    visit_cost(cost, [this](std::int64_t& value) { value = reader_.integer(); });
    return reader_.cut_off() || scheduler_.calibrate(now_ns_, cost).has_value();
  }
  bool set_weight() {
    const TenantId tenant{static_cast<std::uint32_t>(reader_.number())};
    const std::int32_t weight = reader_.small();
    return reader_.cut_off() || scheduler_.set_weight(now_ns_, tenant, weight).has_value();
  }
  bool belongs(const StepResult& result) const {
    if (!scheduler_.in_flight())
      return plan_ != nullptr && plan_->empty() && result.outcomes.empty();
    std::span<const Outcome> rest(result.outcomes);
    for (const RunEntry& entry : plan_->run) {
      if (entry.samples && !take(entry, rest)) return false;
    }
    return rest.empty();
  }
  // The entry's draws off the front of `rest`: one, and one more behind each right guess. False if there
  // is none, or more than that.
  bool take(const RunEntry& entry, std::span<const Outcome>& rest) const {
    const std::span<const TokenId> guesses = plan_->tokens_of(entry).last(entry.drafted);
    std::size_t count = 0;
    while (count < rest.size() && rest[count].sequence == entry.sequence) {
      if (count > guesses.size() || (count > 0 && rest[count - 1].token != guesses[count - 1])) return false;
      ++count;
    }
    rest = rest.subspan(count);
    return count > 0;
  }

  Reader& reader_;
  Scheduler& scheduler_;
  Replay& replay_;
  const Plan* plan_ = nullptr;
  std::int64_t now_ns_ = 0;
};

}  // namespace

Result<Replay> replay(std::span<const std::uint8_t> journal) {
  Reader reader(journal);
  for (const std::uint8_t letter : kJournalMagic) {
    if (reader.byte() != letter) {
      return failure(ErrorCode::kInvalidFile,
                     "not a scheduler journal: it does not begin with PNJ3");
    }
  }
  Replay replay;
  replay.config = read_config(reader);
  auto scheduler = Scheduler::create(replay.config);
  if (!scheduler) {
    return failure(ErrorCode::kInvalidFile,
                   "the journal's configuration: " + scheduler.error().message);
  }
  Player player(reader, *scheduler, replay);
  while (!reader.at_end() && !reader.cut_off()) {
    const std::size_t at = reader.at();
    if (!player.play()) {
      return failure(ErrorCode::kInvalidFile, "the record at byte " + std::to_string(at) +
                                                  " of the journal was not written by a scheduler");
    }
  }
  return replay;
}

}  // namespace paternoster::scheduler
