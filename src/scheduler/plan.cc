#include "scheduler/plan.h"

#include "scheduler/mix.h"

namespace paternoster::scheduler {

std::uint64_t plan_hash(const Plan& plan) {
  std::uint64_t digest = mix(kMixStart, plan.step);
  const auto word = [&](auto value) { digest = mix(digest, static_cast<std::uint64_t>(value)); };
  word(plan.run.size());
  for (const RunEntry& entry : plan.run) {
    word(entry.sequence.value);
    word(entry.request.value);
    word(entry.choice);
    word(entry.first_position);
    word(entry.token_count);
    word(entry.drafted);
    word(entry.block_count);
    word(entry.samples ? 1 : 0);
  }
  for (const TokenId token : plan.tokens) word(token);
  for (const BlockId block : plan.blocks) word(block.value);
  for (const auto* copies : {&plan.swap_out, &plan.swap_in, &plan.copies}) {
    word(copies->size());
    for (const BlockCopy& copy : *copies) {
      word(copy.from.value);
      word(copy.to.value);
    }
  }
  word(plan.admitted.size());
  for (const Admission& admission : plan.admitted) {
    word(admission.sequence.value);
    word(admission.cached_tokens);
  }
  word(plan.preempted.size());
  for (const Preemption& one : plan.preempted) {
    word(one.sequence.value);
    word(one.cause);
  }
  word(plan.waiting.size());
  for (const Waiting& waiting : plan.waiting) {
    word(waiting.sequence.value);
    word(waiting.reason);
  }
  word(plan.queue_reason);
  word(plan.again_ns);
  return digest;
}

}  // namespace paternoster::scheduler
