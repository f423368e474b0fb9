// The words for enumerations, in logs, metrics and the live feed.
#include "scheduler/choices.h"
#include "scheduler/event.h"
#include "scheduler/plan.h"

namespace paternoster::scheduler {

const char* to_string(Boarding boarding) {
  switch (boarding) {
    case Boarding::kStatic:
      return "static";
    case Boarding::kContinuous:
      return "continuous";
    case Boarding::kStaticGlobal:
      return "static_global";
    case Boarding::kWindow:
      return "window";
    case Boarding::kSliced:
      return "sliced";
    case Boarding::kSlicedKeep:
      return "sliced_keep";
  }
  return "?";
}

const char* to_string(Order order) {
  switch (order) {
    case Order::kFcfs:
      return "fcfs";
    case Order::kPriority:
      return "priority";
    case Order::kShortest:
      return "shortest";
    case Order::kDeadline:
      return "deadline";
    case Order::kFair:
      return "fair";
    case Order::kMultilevel:
      return "multilevel";
  }
  return "?";
}

const char* to_string(Prefill prefill) {
  switch (prefill) {
    case Prefill::kWhole:
      return "whole";
    case Prefill::kChunked:
      return "chunked";
    case Prefill::kStallFree:
      return "stall_free";
    case Prefill::kLatencyTarget:
      return "latency_target";
  }
  return "?";
}

const char* to_string(Relief relief) {
  switch (relief) {
    case Relief::kReserve:
      return "reserve";
    case Relief::kRecompute:
      return "recompute";
    case Relief::kSwap:
      return "swap";
    case Relief::kAuto:
      return "auto";
  }
  return "?";
}

const char* to_string(Victim victim) {
  switch (victim) {
    case Victim::kLatest:
      return "latest";
    case Victim::kLeastWork:
      return "least_work";
  }
  return "?";
}

const char* to_string(Speculation speculation) {
  switch (speculation) {
    case Speculation::kOff:
      return "off";
    case Speculation::kNgram:
      return "ngram";
  }
  return "?";
}

const char* to_string(PreemptCause cause) {
  switch (cause) {
    case PreemptCause::kNone:
      return "none";
    case PreemptCause::kBlocks:
      return "blocks";
    case PreemptCause::kClass:
      return "class";
    case PreemptCause::kForced:
      return "forced";
    case PreemptCause::kSlice:
      return "slice";
  }
  return "?";
}

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
    case Refusal::kDeadlineHopeless:
      return "deadline_hopeless";
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
    case FinishReason::kDeadline:
      return "deadline";
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
    case WaitReason::kClass:
      return "class";
    case WaitReason::kShorterFirst:
      return "shorter_first";
    case WaitReason::kEarlierDeadline:
      return "earlier_deadline";
    case WaitReason::kTenantShare:
      return "tenant_share";
    case WaitReason::kWindowOpen:
      return "window_open";
    case WaitReason::kLatencyTarget:
      return "latency_target";
  }
  return "?";
}

}  // namespace paternoster::scheduler
