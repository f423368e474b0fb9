// Speculation: sequences that decode compute some guessed tokens in the same step, as far as places,
// time and the step's tokens are there anyway. Nobody loses a seat, a token or a block for it.
#include <algorithm>

#include "scheduler/planner.h"
#include "scheduler/prefill/prefill.h"
#include "scheduler/speculation/worth.h"
#include "scheduler/tables.h"

namespace paternoster::scheduler {

void Planner::draft_pass() {
  const Config& config = state_.config;
  if (config.choices.speculation == Speculation::kOff) return;
  if (state_.running.size() > static_cast<std::size_t>(config.tuning.draft_seqs)) return;
  speculation::Worth worth;
  worth.add(saturating_multiply(config.cost.step_ns, kPicosecondsANanosecond), false);
  for (const Slot slot : state_.running) {
    const Sequence& sequence = state_.sequences[slot];
    if (sequence.scheduled == 0) continue;
    worth.add(entry_ps(config.cost, sequence.scheduled, sequence.computed),
              sequence.scheduled == tokens_left(sequence));
  }
  // Others see at most half as long a gap more.
  if (state_.running.size() > 1) worth.limit_to(saturating_add(worth.step_ps(), worth.step_ps() / 2));
  if (prefill::divides_after_boarding(config.choices.prefill)) {
    const std::int64_t step_ps = saturating_multiply(config.cost.step_ns, kPicosecondsANanosecond);
    worth.limit_to(saturating_add(target_ps(), step_ps));
  }
  count_pledges();
  for (const Slot slot : state_.running) draft(state_.sequences[slot], worth);
}

// Guesses that the sequence has places for: in its table, its reservation, or blocks of which everyone
// aboard could still take one. The last token it may draw is never computed.
std::int32_t Planner::most_guesses(const Sequence& sequence) const {
  const Group& group = state_.groups[sequence.group];
  const std::int32_t drawn_at_most =
      std::min(sequence.horizon - static_cast<std::int32_t>(sequence.output.size()), group.max_new - sequence.told);
  const auto aboard = static_cast<std::int32_t>(state_.running.size());
  const std::int32_t free = unpromised(state_) - std::max(pledged_, 0) - aboard;
  const std::int32_t blocks = static_cast<std::int32_t>(sequence.blocks.size()) +
                              (sequence.holds_reservation ? sequence.reserved : std::clamp(free, 0, 1));
  const std::int64_t places =
      std::int64_t{blocks} * state_.config.limits.block_size - known_tokens(state_, sequence);
  return static_cast<std::int32_t>(std::min<std::int64_t>(
      {places, drawn_at_most - 1, state_.config.tuning.draft_tokens, std::max(budget_, 0)}));
}

void Planner::draft(Sequence& sequence, speculation::Worth& worth) {
  const bool decodes = sequence.scheduled == 1 && tokens_left(sequence) == 1 && !sequence.output.empty();
  if (!decodes || sequence.ended != FinishReason::kNone) return;
  const std::int32_t known = known_tokens(state_, sequence);
  const Group& group = state_.groups[sequence.group];
  speculation::Guesses& guesses = sequence.guesses;
  guesses.index.reserve(static_cast<std::int32_t>(group.prompt.size()) + std::max(group.max_new, sequence.horizon));
  // Behind the known tokens stand the guesses: a text that repeats itself is guessed on and on.
  const auto token_at_any = [&](std::int32_t at) {
    return at < known ? token_at(state_, sequence, at) : guesses.draft[static_cast<std::size_t>(at - known)];
  };
  std::int32_t from = guesses.index.find(known, token_at_any);
  if (from == speculation::NgramIndex::kNowhere) return;
  guesses.next = token_at_any(from);
  const CostModel& cost = state_.config.cost;
  std::int64_t chance = guesses.rate;
  std::int64_t entry_now_ps = entry_ps(cost, 1, sequence.computed);
  for (std::int32_t most = most_guesses(sequence); most > 0; --most) {
    const std::int64_t longer_ps = entry_ps(cost, sequence.scheduled + 1, sequence.computed);
    if (!worth.take(static_cast<std::int32_t>(chance), std::max<std::int64_t>(longer_ps - entry_now_ps, 1))) break;
    guesses.draft.push_back(token_at_any(from++));
    ++sequence.scheduled;
    --budget_;
    entry_now_ps = longer_ps;
    chance = chance * guesses.rate / speculation::kAlways;
  }
  const auto needed = static_cast<std::size_t>(blocks_for(state_, sequence.computed + sequence.scheduled));
  while (sequence.blocks.size() < needed) grow(state_, sequence);
}

}  // namespace paternoster::scheduler
