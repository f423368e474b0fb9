// Every call that the engine's loop serves, and the events that tell its client how it goes.
//
// Fed by the loop: prepared calls, the scheduler's events, and each step's draws. Gathers what is to be
// delivered in an outbox that the loop takes once a step. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "api/event.h"
#include "engine/native_executor.h"
#include "engine/preparer.h"
#include "engine/text_stream.h"
#include "scheduler/event.h"
#include "scheduler/executor.h"
#include "text/tokenizer.h"

namespace paternoster::engine {

// Where a call (CallBook's or SliceBook's) was when its time was over, in words.
template <typename Call>
const char* place_of(const Call& call) {
  if (call.boarded_ns == 0) return "the queue";
  return call.first_token_ns == 0 ? "prefill" : "decode";
}

class CallBook {
 public:
  struct Choice {
    explicit Choice(TextStream&& stream) : text(std::move(stream)) {}
    TextStream text;
    api::Delta delta;  // of this step
    bool echoed = false;
    bool said_all = false;  // though its end may be told later (boarding static_global)
    bool over = false;
    api::StopReason stop_reason;
    std::int32_t output = 0;
  };
  struct Call {
    PreparedCall prepared;
    SequenceId first_sequence;
    std::vector<Choice> choices;
    api::Usage usage;
    api::Timings timings;
    std::int64_t starts_in_ns = -1;  // as estimated on arrival
    std::int64_t boarded_ns = 0;
    std::int64_t first_token_ns = 0;
    bool accepted = false;
    bool late = false;     // its deadline has passed
    bool stopped = false;  // ended on request: it finishes with what it has
  };
  struct Rider {
    Call* call;
    std::int32_t choice;
  };

  CallBook(const text::Tokenizer& tokenizer, NativeExecutor& executor)
      : tokenizer_(tokenizer), executor_(executor) {}

  // Before the call is submitted to the scheduler.
  void open(PreparedCall&& prepared);
  bool knows(api::CallId call) const { return calls_.contains(RequestId{call.value}); }
  const Call* find(RequestId request) const;
  const Rider* find(SequenceId sequence) const;
  const std::unordered_map<RequestId, std::unique_ptr<Call>>& all() const { return calls_; }
  // When it is cancelled now, it is no abandoned call: its client hears the end.
  void mark_stopped(RequestId request) { call_of(request).stopped = true; }

  // A call that never reached the scheduler, or that it refused: the client's last word.
  void refuse(api::CallId call, api::ApiError&& error);

  // Reads the step's draws, and sets `stop` on outcomes whose text ends with a stop string.
  void read_step(scheduler::StepResult& result, std::span<const Drawn> drawn);

  // What Accepted says of the queue; before the scheduler's event is taken.
  void expect(RequestId request, std::int32_t ahead, std::int64_t starts_in_ns);

  // Everything the scheduler tells but kRefused, which the loop answers.
  void take(std::span<const scheduler::Event> events);

  // Drops the call without a word: it was cancelled.
  void forget(RequestId request);

  std::vector<api::BackendEvent> take_outbox() { return std::exchange(outbox_, {}); }

 private:
  Call& call_of(RequestId request);
  void accept(Call& call, const scheduler::Event& event);
  void admit(Call& call, const scheduler::Event& event);
  void finish(Call& call, const scheduler::Event& event);
  void end(Call& call, const scheduler::Event& event);
  void echo(Call& call, std::int32_t choice);
  void send_delta(Choice& choice, api::CallId call, std::int32_t number);
  api::TokenLogprobs logprobs_of(const Drawn& drawn) const;

  const text::Tokenizer& tokenizer_;
  NativeExecutor& executor_;
  std::unordered_map<RequestId, std::unique_ptr<Call>> calls_;
  std::unordered_map<SequenceId, Rider> riders_;
  std::vector<api::BackendEvent> outbox_;
};

}  // namespace paternoster::engine
