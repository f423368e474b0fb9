#include "api/stream_reply.h"

#include "base/json_writer.h"

namespace paternoster::api {
namespace {

std::string opening_of(const ReplyHeading& heading) {
  std::string out = "data: ";
  JsonObject object(out);
  object.field("id", heading.id)
      .field("object", heading.route == Route::kChat ? "chat.completion.chunk" : "text_completion")
      .field("created", heading.created_s)
      .field("model", heading.model);
  object.key("choices") += '[';
  return out;
}

}  // namespace

StreamReply::StreamReply(const Ask& ask, ReplyHeading heading)
    : route_(ask.route),
      include_usage_(ask.include_usage),
      continuous_usage_(ask.include_usage && ask.continuous_usage),
      return_token_ids_(ask.return_token_ids),
      logprobs_(ask.logprobs),
      prompt_only_(ask.prompt_only),
      choices_a_prompt_(ask.choices),
      opening_(opening_of(heading)),
      choices_(ask.generations.size() * static_cast<std::size_t>(ask.choices)),
      prompt_tokens_(ask.generations.size()) {}

std::size_t StreamReply::index_of(std::size_t prompt, std::int32_t index) const {
  return prompt * static_cast<std::size_t>(choices_a_prompt_) + static_cast<std::size_t>(index);
}

StreamReply::Choice& StreamReply::choice(std::size_t prompt, std::int32_t index) {
  return choices_[index_of(prompt, index)];
}

void StreamReply::begin_chunk(std::string& out) const { out += opening_; }

void StreamReply::end_chunk(std::string& out) const {
  out += ']';
  if (continuous_usage_) {
    out += ",\"usage\":";
    append_usage(out, usage_);
  } else if (include_usage_) {
    out += ",\"usage\":null";
  }
  out += "}\n\n";
}

void StreamReply::take(std::size_t prompt, const Accepted& accepted) {
  usage_.prompt_tokens += accepted.prompt_tokens;
  if (return_token_ids_) prompt_tokens_[prompt] = accepted.prompt_token_ids;
}

// The chunk that says who speaks; on the chat route only, unless there are prompt ids to tell.
void StreamReply::begin_choice(std::size_t prompt, std::int32_t index, std::string& out) {
  Choice& state = choice(prompt, index);
  if (state.begun) return;
  state.begun = true;
  if (route_ == Route::kText && !return_token_ids_) return;
  begin_chunk(out);
  out += "{\"index\":";
  append_integer(out, static_cast<std::int64_t>(index_of(prompt, index)));
  out += route_ == Route::kChat ? ",\"delta\":{\"role\":\"assistant\",\"content\":\"\"}" : ",\"text\":\"\"";
  out += ",\"logprobs\":null,\"finish_reason\":null";
  if (return_token_ids_) {
    out += ",\"prompt_token_ids\":";
    append_tokens(out, prompt_tokens_[prompt]);
    out += ",\"token_ids\":[]";
  }
  out += '}';
  end_chunk(out);
}

void StreamReply::append_delta(std::size_t prompt, const Delta& delta, std::string& out) {
  begin_chunk(out);
  out += "{\"index\":";
  append_integer(out, static_cast<std::int64_t>(index_of(prompt, delta.choice)));
  out += route_ == Route::kChat ? ",\"delta\":{\"content\":" : ",\"text\":";
  append_string(out, delta.text);
  if (route_ == Route::kChat) out += '}';
  out += ",\"logprobs\":";
  if (!logprobs_) {
    out += "null";
  } else if (route_ == Route::kChat) {
    append_chat_logprobs(out, delta.logprobs);
  } else {
    append_text_logprobs(out, delta.logprobs, choice(prompt, delta.choice).offset);
  }
  out += ",\"finish_reason\":null";
  if (return_token_ids_) {
    out += ",\"token_ids\":";
    // The prompt's ids are told apart from what was generated.
    append_tokens(out, delta.prompt ? std::span<const TokenId>() : std::span(delta.token_ids));
  }
  out += '}';
  end_chunk(out);
}

void StreamReply::take(std::size_t prompt, const Delta& delta, std::string& out) {
  if (prompt_only_ && !delta.prompt) return;
  if (!delta.prompt) usage_.completion_tokens += static_cast<std::int32_t>(delta.token_ids.size());
  begin_choice(prompt, delta.choice, out);
  const bool tells = !delta.text.empty() || (logprobs_ && !delta.logprobs.empty()) ||
                     (return_token_ids_ && !delta.token_ids.empty());
  if (tells) append_delta(prompt, delta, out);
}

void StreamReply::take(std::size_t prompt, const Finished& finished, std::string& out) {
  begin_choice(prompt, finished.choice, out);
  begin_chunk(out);
  out += "{\"index\":";
  append_integer(out, static_cast<std::int64_t>(index_of(prompt, finished.choice)));
  out += route_ == Route::kChat ? ",\"delta\":{}" : ",\"text\":\"\"";
  out += ",\"logprobs\":null,\"finish_reason\":\"";
  out += to_string(prompt_only_ ? FinishReason::kLength : finished.reason);
  out += '"';
  append_stop_reason(out, finished.stop_reason);
  out += '}';
  end_chunk(out);
}

void StreamReply::take(const Done& done) {
  final_usage_.prompt_tokens += done.usage.prompt_tokens;
  final_usage_.cached_tokens += done.usage.cached_tokens;
  final_usage_.completion_tokens += prompt_only_ ? 0 : done.usage.completion_tokens;
  usage_.cached_tokens += done.usage.cached_tokens;
  timings_ = done.timings;
}

void StreamReply::end(std::string& out) {
  if (include_usage_) {
    begin_chunk(out);
    out += "],\"usage\":";
    append_usage(out, final_usage_);
    out += ",\"timings\":";
    append_timings(out, timings_);
    out += "}\n\n";
  }
  out += "data: [DONE]\n\n";
}

void StreamReply::fail(const ApiError& error, std::string& out) {
  out += "data: ";
  append_error(out, error);
  out += "\n\ndata: [DONE]\n\n";
}

}  // namespace paternoster::api
