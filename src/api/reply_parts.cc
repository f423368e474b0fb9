#include "api/reply_parts.h"

#include <algorithm>

#include "base/json_writer.h"

namespace paternoster::api {
namespace {

void append_bytes(std::string& out, std::string_view bytes) {
  out += '[';
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out += ',';
    append_integer(out, static_cast<unsigned char>(bytes[i]));
  }
  out += ']';
}

void append_chat_token(std::string& out, const ScoredToken& token, JsonObject& object) {
  object.field("token", token.bytes);
  if (token.logprob) {
    object.field("logprob", *token.logprob);
  } else {
    object.null("logprob");
  }
  object.key("bytes");
  append_bytes(out, token.bytes);
}

// A token as a key: one whose bytes are not whole characters is spelled out, so that it stays unique.
std::string spelled(const ScoredToken& token) {
  if (is_utf8(token.bytes)) return token.bytes;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "bytes:";
  for (const char c : token.bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += "\\x";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

void append_optional(std::string& out, const std::optional<float>& logprob) {
  if (logprob) {
    append_number(out, *logprob);
  } else {
    out += "null";
  }
}

// The best ones and the chosen one as a map. Different tokens may be spelled alike: the best stays.
void append_top_map(std::string& out, const TokenLogprobs& token) {
  if (!token.chosen.logprob) {
    out += "null";
    return;
  }
  std::vector<std::string> seen;
  out += '{';
  const auto add = [&](const ScoredToken& scored) {
    std::string key = spelled(scored);
    if (std::ranges::find(seen, key) != seen.end()) return;
    if (!seen.empty()) out += ',';
    append_string(out, key);
    out += ':';
    append_optional(out, scored.logprob);
    seen.push_back(std::move(key));
  };
  std::ranges::for_each(token.top, add);
  add(token.chosen);
  out += '}';
}

std::int64_t characters(std::string_view bytes) {
  std::int64_t count = 0;
  for (const char c : bytes) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

double milliseconds(std::int64_t ns) { return static_cast<double>(ns / 1000) / 1000; }

// A list with one member a token, each written by `append`.
template <typename Append>
void append_list(std::string& out, std::span<const TokenLogprobs> tokens, Append append) {
  out += '[';
  for (const TokenLogprobs& token : tokens) {
    if (&token != tokens.data()) out += ',';
    append(token);
  }
  out += ']';
}

}  // namespace

void append_error(std::string& out, const ApiError& error) {
  JsonObject outer(out);
  JsonObject inner(outer.key("error"));
  inner.field("message", error.message).field("type", error.type);
  const auto optional = [&](std::string_view name, const std::string& value) {
    if (value.empty()) {
      inner.null(name);
    } else {
      inner.field(name, value);
    }
  };
  optional("param", error.param);
  optional("code", error.code);
  for (const auto& [name, value] : error.extras) inner.field(name, value);
  if (error.retry_after_ms > 0) inner.field("retry_after_ms", error.retry_after_ms);
  inner.end();
  outer.end();
}

std::string error_body(const ApiError& error) {
  std::string body;
  append_error(body, error);
  return body;
}

void append_usage(std::string& out, const Usage& usage) {
  JsonObject object(out);
  object.field("prompt_tokens", usage.prompt_tokens)
      .field("completion_tokens", usage.completion_tokens)
      .field("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  JsonObject(object.key("prompt_tokens_details")).field("cached_tokens", usage.cached_tokens).end();
  object.end();
}

void append_timings(std::string& out, const Timings& timings) {
  JsonObject(out)
      .field("queue_position", timings.ahead)
      .field("queue_ms", milliseconds(timings.queue_ns))
      .field("prefill_ms", milliseconds(timings.prefill_ns))
      .field("decode_ms", milliseconds(timings.decode_ns))
      .field("preemptions", timings.preemptions)
      .field("recomputed_tokens", timings.recomputed_tokens)
      .field("swapped_bytes", timings.swapped_bytes)
      .end();
}

void append_tokens(std::string& out, std::span<const TokenId> tokens) {
  out += '[';
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += ',';
    append_integer(out, tokens[i]);
  }
  out += ']';
}

void append_stop_reason(std::string& out, const StopReason& reason) {
  if (const auto* text = std::get_if<std::string>(&reason)) {
    out += ",\"stop_reason\":";
    append_string(out, *text);
  } else if (const auto* token = std::get_if<TokenId>(&reason)) {
    out += ",\"stop_reason\":";
    append_integer(out, *token);
  }
}

void append_chat_logprobs(std::string& out, std::span<const TokenLogprobs> tokens) {
  out += "{\"content\":";
  append_list(out, tokens, [&](const TokenLogprobs& token) {
    JsonObject object(out);
    append_chat_token(out, token.chosen, object);
    object.key("top_logprobs") += '[';
    for (const ScoredToken& best : token.top) {
      if (&best != token.top.data()) out += ',';
      JsonObject inner(out);
      append_chat_token(out, best, inner);
      inner.end();
    }
    out += ']';
    object.end();
  });
  out += ",\"refusal\":null}";
}

void append_text_logprobs(std::string& out, std::span<const TokenLogprobs> tokens,
                          std::int64_t& offset) {
  out += "{\"tokens\":";
  append_list(out, tokens,
              [&](const TokenLogprobs& token) { append_string(out, spelled(token.chosen)); });
  out += ",\"token_logprobs\":";
  append_list(out, tokens,
              [&](const TokenLogprobs& token) { append_optional(out, token.chosen.logprob); });
  out += ",\"top_logprobs\":";
  append_list(out, tokens, [&](const TokenLogprobs& token) { append_top_map(out, token); });
  out += ",\"text_offset\":";
  append_list(out, tokens, [&](const TokenLogprobs& token) {
    append_integer(out, offset);
    offset += characters(token.chosen.bytes);
  });
  out += '}';
}

}  // namespace paternoster::api
