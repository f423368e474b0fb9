// The calls that are answered in slices, and what their clients hear: the events of every slice become
// those of one call, numbered and in order as if one engine had answered it in one go.
//
// Fed by the slice loop. Gathers what is to be delivered in an outbox that the loop takes. Measures calls
// as wholes: engines do not measure slices. One thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/event.h"
#include "api/live_frame.h"
#include "api/request_status.h"
#include "engine/preparer.h"
#include "measure/serving.h"
#include "scheduler/event.h"
#include "text/tokenizer.h"

namespace paternoster::engine {

class SliceBook {
 public:
  struct Choice {
    RequestId rider;  // the fleet's number, and that of its slices
    std::shared_ptr<RequestNumbers> numbers;  // with what ended slices said
    std::vector<TokenId> saying;              // in the slice under way
    bool sent = false;  // an engine has a slice of it
    std::size_t engine = 0;  // the one that had the last slice
    bool over = false;
    std::int32_t output() const { return static_cast<std::int32_t>(numbers->said.size() + saying.size()); }
  };
  struct Call {
    PreparedCall prepared;
    std::vector<Choice> choices;
    api::Usage usage;
    api::Timings timings;
    std::int64_t boarded_ns = 0;   // an engine has got its first slice
    std::int64_t first_token_ns = 0;
    std::int64_t last_token_ns = 0;
    bool stopped = false;  // somebody has ended it: no new slices
    std::int32_t open = 0;  // choices that are not over
  };
  struct Rider {
    Call* call;
    Choice* choice;
    std::int32_t number;  // of the choice
  };

  // `metrics` may be null.
  SliceBook(const text::Tokenizer& tokenizer, measure::ServingMetrics* metrics)
      : tokenizer_(tokenizer), metrics_(metrics) {}

  // Gives every choice a rider of its own: the numbers after last_number, which is moved on.
  Call& open(PreparedCall&& prepared, std::atomic<std::uint64_t>& last_number);
  Call* find(api::CallId call);
  Rider find(RequestId rider);  // null call: it is over
  const std::unordered_map<api::CallId, std::unique_ptr<Call>>& all() const { return calls_; }
  std::int32_t not_begun() const { return not_begun_; }  // calls without a first token

  void accept(Call& call, std::int32_t ahead, std::int64_t starts_in_ns);
  // The next slice of a choice, for an engine that gets it now.
  PreparedCall slice_of(const Rider& rider, std::int32_t most_tokens, std::int64_t now_ns);

  // What an engine tells of a slice.
  void take(const Rider& rider, api::Delta&& delta, std::int64_t now_ns);
  // True: the choice is over, not only its slice.
  bool take(const Rider& rider, api::Finished&& finished, std::int64_t now_ns);
  // The slice has ended: what it said, which is now part of what was said.
  std::int32_t end_slice(const Rider& rider, const api::Done& done);

  // Ends a choice that no engine has, with what it has said.
  void end_here(const Rider& rider, std::int64_t now_ns);
  // The last word when all choices are over: the call is forgotten. True if so.
  bool close(Call& call, std::int64_t now_ns);
  // Forgets the call; refuse: its client hears the error.
  void refuse(api::CallId call, api::ApiError&& error, scheduler::FinishReason why, std::int64_t now_ns);
  void forget(api::CallId call, scheduler::FinishReason why, std::int64_t now_ns);
  // A call that never came in.
  void refuse_unknown(api::CallId call, api::ApiError&& error);

  std::vector<api::BackendEvent> take_outbox() { return std::exchange(outbox_, {}); }

 private:
  void tell(scheduler::EventKind kind, const Call& call, std::int32_t choice, std::int64_t at_ns,
            scheduler::FinishReason finish = scheduler::FinishReason::kNone);
  void finish_choice(const Rider& rider, api::FinishReason reason, api::StopReason&& why, std::int64_t now_ns);
  void erase(Call& call);

  const text::Tokenizer& tokenizer_;
  measure::ServingMetrics* metrics_;
  std::unordered_map<api::CallId, std::unique_ptr<Call>> calls_;
  std::unordered_map<RequestId, std::pair<Call*, std::int32_t>> riders_;
  std::vector<api::BackendEvent> outbox_;
  std::int32_t not_begun_ = 0;
};

}  // namespace paternoster::engine
