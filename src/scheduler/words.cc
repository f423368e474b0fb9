// The words for enumerations, in logs, metrics and the live feed.
#include "scheduler/event.h"
#include "scheduler/plan.h"

namespace paternoster::scheduler {

const char* to_string(EventKind kind) {
  switch (kind) {
    case EventKind::kAccepted:
      return "accepted";
    case EventKind::kRefused:
      return "refused";
    case EventKind::kAdmitted:
      return "admitted";
    case EventKind::kPreempted:
      return "preempted";
    case EventKind::kToken:
      return "token";
    case EventKind::kFinished:
      return "finished";
    case EventKind::kRequestFinished:
      return "request_finished";
  }
  return "?";
}

const char* to_string(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "none";
    case Refusal::kInvalid:
      return "invalid";
    case Refusal::kPromptTooLong:
      return "prompt_too_long";
    case Refusal::kNeverFits:
      return "never_fits";
    case Refusal::kQueueFull:
      return "queue_full";
    case Refusal::kDraining:
      return "draining";
  }
  return "?";
}

const char* to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "none";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "?";
}

const char* to_string(WaitReason reason) {
  switch (reason) {
    case WaitReason::kNone:
      return "none";
    case WaitReason::kNoBlocks:
      return "no_blocks";
    case WaitReason::kTokenBudget:
      return "token_budget";
    case WaitReason::kSeatLimit:
      return "seat_limit";
    case WaitReason::kBatchClosed:
      return "batch_closed";
    case WaitReason::kBehindEarlier:
      return "behind_earlier";
    case WaitReason::kSiblingPrefill:
      return "sibling_prefill";
    case WaitReason::kPreempted:
      return "preempted";
  }
  return "?";
}

}  // namespace paternoster::scheduler
