#include "api/whole_reply.h"

#include <iterator>

#include "base/json_writer.h"

namespace paternoster::api {

WholeReply::WholeReply(const Ask& ask, ReplyHeading heading)
    : heading_(std::move(heading)),
      return_token_ids_(ask.return_token_ids),
      logprobs_(ask.logprobs),
      prompt_only_(ask.prompt_only),
      choices_a_prompt_(ask.choices),
      choices_(ask.generations.size() * static_cast<std::size_t>(ask.choices)),
      prompt_tokens_(ask.generations.size()) {}

WholeReply::Choice& WholeReply::choice(std::size_t prompt, std::int32_t index) {
  return choices_[prompt * static_cast<std::size_t>(choices_a_prompt_) +
                  static_cast<std::size_t>(index)];
}

void WholeReply::take(std::size_t prompt, const Accepted& accepted) {
  if (return_token_ids_) prompt_tokens_[prompt] = accepted.prompt_token_ids;
}

void WholeReply::take(std::size_t prompt, Delta&& delta) {
  if (prompt_only_ && !delta.prompt) return;
  Choice& state = choice(prompt, delta.choice);
  state.text += delta.text;
  if (return_token_ids_ && !delta.prompt) {
    state.token_ids.insert(state.token_ids.end(), delta.token_ids.begin(), delta.token_ids.end());
  }
  if (logprobs_) {
    state.logprobs.insert(state.logprobs.end(), std::make_move_iterator(delta.logprobs.begin()),
                          std::make_move_iterator(delta.logprobs.end()));
  }
}

void WholeReply::take(std::size_t prompt, const Finished& finished) {
  Choice& state = choice(prompt, finished.choice);
  state.reason = prompt_only_ ? FinishReason::kLength : finished.reason;
  state.stop_reason = finished.stop_reason;
}

void WholeReply::take(const Done& done) {
  usage_.prompt_tokens += done.usage.prompt_tokens;
  usage_.cached_tokens += done.usage.cached_tokens;
  usage_.completion_tokens += prompt_only_ ? 0 : done.usage.completion_tokens;
  timings_ = done.timings;
}

void WholeReply::append_choice(std::size_t index, std::string& out) const {
  const Choice& state = choices_[index];
  JsonObject object(out);
  object.field("index", index);
  if (heading_.route == Route::kChat) {
    JsonObject(object.key("message"))
        .field("role", "assistant")
        .field("content", state.text)
        .null("refusal")
        .end();
  } else {
    object.field("text", state.text);
  }
  object.key("logprobs");
  if (!logprobs_) {
    out += "null";
  } else if (heading_.route == Route::kChat) {
    append_chat_logprobs(out, state.logprobs);
  } else {
    std::int64_t offset = 0;
    append_text_logprobs(out, state.logprobs, offset);
  }
  object.field("finish_reason", to_string(state.reason));
  append_stop_reason(out, state.stop_reason);
  if (return_token_ids_) {
    append_tokens(object.key("prompt_token_ids"),
                  prompt_tokens_[index / static_cast<std::size_t>(choices_a_prompt_)]);
    append_tokens(object.key("token_ids"), state.token_ids);
  }
  object.end();
}

std::string WholeReply::write() const {
  std::string out;
  JsonObject object(out);
  object.field("id", heading_.id)
      .field("object", heading_.route == Route::kChat ? "chat.completion" : "text_completion")
      .field("created", heading_.created_s)
      .field("model", heading_.model);
  object.key("choices") += '[';
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (i > 0) out += ',';
    append_choice(i, out);
  }
  out += ']';
  append_usage(object.key("usage"), usage_);
  append_timings(object.key("timings"), timings_);
  if (return_token_ids_ && prompt_tokens_.size() == 1) {
    append_tokens(object.key("prompt_token_ids"), prompt_tokens_[0]);
  }
  object.end();
  return out;
}

}  // namespace paternoster::api
