#include "cli/backend_talker.h"

#include <chrono>
#include <iterator>
#include <utility>

#include "cli/terminal.h"

namespace paternoster::cli {
namespace {


ErrorCode code_of(const api::ApiError& error) {
  return error.status < 500 ? ErrorCode::kInvalidArgument : ErrorCode::kInternal;
}

api::Generation generation_for(const Question& question) {
  api::Generation generation;
  generation.request_id = "terminal";
  if (question.turns.empty()) {
    generation.prompt = api::TextPrompt{question.text};
  } else {
    api::ChatPrompt chat;
    for (const Turn& turn : question.turns) {
      chat.messages.push_back({.role = turn.role, .content = turn.content, .extra_json = {}});
    }
    generation.prompt = std::move(chat);
  }
  if (question.max_tokens) {
    generation.max_tokens = static_cast<std::int32_t>(*question.max_tokens);
  }
  if (question.temperature) {
    generation.sampling.temperature = *question.temperature;
  }
  generation.sampling.seed = question.seed;
  return generation;
}

// What the events of one call add up to.
class Collector {
 public:
  Collector(Answer& answer, const Talker::OnText& on_text) : answer_(answer), on_text_(on_text) {}

  void operator()(const api::Accepted& accepted) { answer_.prompt_tokens = accepted.prompt_tokens; }
  void operator()(const api::Delta& delta) {
    answer_.output_tokens += static_cast<std::int64_t>(delta.token_ids.size());
    answer_.text += delta.text;
    heard = delta.text.empty() || on_text_(delta.text);
  }
  void operator()(const api::Finished& finished) {
    answer_.finish_reason = api::to_string(finished.reason);
  }
  void operator()(const api::Done& done) {
    answer_.output_tokens = done.usage.completion_tokens;
    over = true;
  }
  void operator()(const api::Refused& refused) {
    failure = Error{code_of(refused.error), refused.error.message};
    over = true;
  }

  bool heard = true;  // somebody still listens
  bool over = false;
  std::optional<Error> failure;

 private:
  Answer& answer_;
  const Talker::OnText& on_text_;
};

}  // namespace

BackendTalker::BackendTalker(std::unique_ptr<api::Backend> backend) : backend_(std::move(backend)) {
  backend_->attach(this);
}

BackendTalker::~BackendTalker() { backend_->attach(nullptr); }

void BackendTalker::deliver(std::vector<api::BackendEvent>&& events) {
  const std::lock_guard lock(mutex_);
  events_.insert(events_.end(), std::make_move_iterator(events.begin()),
                 std::make_move_iterator(events.end()));
  arrived_.notify_one();
}

std::vector<api::BackendEvent> BackendTalker::wait_for_events() {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, kLookAround, [this] { return !events_.empty(); });
  return std::exchange(events_, {});
}

Result<Answer> BackendTalker::answer(const Question& question, const OnText& on_text) {
  Answer answer;
  Collector collect(answer, on_text);
  const api::CallId call = backend_->generate(generation_for(question));
  while (!collect.over) {
    for (const api::BackendEvent& event : wait_for_events()) {
      // Events of an answer that was cancelled may still come.
      if (api::call_of(event) == call && collect.heard) {
        std::visit(collect, event);
      }
    }
    if (!collect.over && (!collect.heard || take_interrupt())) {
      backend_->cancel(call);
      answer.finish_reason = "cancelled";
      return answer;
    }
  }
  if (collect.failure) {
    return std::unexpected(*std::move(collect.failure));
  }
  return answer;
}

}  // namespace paternoster::cli
