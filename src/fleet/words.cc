// The words for enumerations, and the digest of a plan.
#include "fleet/event.h"
#include "fleet/plan.h"
#include "scheduler/mix.h"

namespace paternoster::fleet {

const char* to_string(EventKind kind) {
  switch (kind) {
    case EventKind::kAccepted: return "accepted";
    case EventKind::kRefused: return "refused";
    case EventKind::kSliceDone: return "slice_done";
    case EventKind::kSliceLost: return "slice_lost";
    case EventKind::kFinished: return "finished";
  }
  return "?";
}

const char* to_string(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone: return "none";
    case Refusal::kInvalid: return "invalid";
    case Refusal::kNeverFits: return "never_fits";
    case Refusal::kQueueFull: return "queue_full";
    case Refusal::kDraining: return "draining";
  }
  return "?";
}

const char* to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone: return "none";
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kFailed: return "failed";
  }
  return "?";
}

const char* to_string(WaitReason reason) {
  switch (reason) {
    case WaitReason::kNone: return "none";
    case WaitReason::kInterval: return "interval";
    case WaitReason::kNoInstance: return "no_instance";
    case WaitReason::kAllBusy: return "all_busy";
    case WaitReason::kNoMemory: return "no_memory";
  }
  return "?";
}

std::uint64_t plan_hash(const Plan& plan) {
  std::uint64_t digest = scheduler::mix(scheduler::kMixStart, plan.number);
  const auto word = [&](auto value) { digest = scheduler::mix(digest, static_cast<std::uint64_t>(value)); };
  word(plan.batches.size());
  for (const Batch& batch : plan.batches) {
    word(batch.id.value);
    word(batch.instance.value);
    word(batch.member_count);
    word(batch.padded_input);
    word(batch.iterations);
    word(batch.estimate_ns);
  }
  for (const Member& member : plan.members) {
    word(member.request.value);
    word(member.input_tokens);
    word(member.output_tokens);
    word(member.most_tokens);
    word(member.kept ? 1 : 0);
  }
  word(plan.drops.size());
  for (const Drop& drop : plan.drops) {
    word(drop.request.value);
    word(drop.instance.value);
  }
  word(plan.waiting);
  word(plan.reason);
  word(plan.next_ns);
  return digest;
}

}  // namespace paternoster::fleet
