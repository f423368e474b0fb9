#include "api/reply_reader.h"

#include <array>
#include <boost/json.hpp>
#include <cmath>

namespace paternoster::api {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostMessage = 300;

const json::value* find(const json::object& object, std::string_view key) {
  return object.if_contains(json::string_view(key.data(), key.size()));
}

const json::object* object_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  return value == nullptr ? nullptr : value->if_object();
}

std::string_view text_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (value == nullptr || !value->is_string()) return {};
  const json::string& text = value->get_string();
  return {text.data(), text.size()};
}

std::int32_t count_of(const json::value* value) {
  if (value == nullptr) return 0;
  boost::system::error_code failed;
  const auto count = value->to_number<std::int32_t>(failed);
  return failed || count < 0 ? 0 : count;
}

// Milliseconds, as a number, under the first of the names that is there.
template <typename... Names>
std::int64_t duration_ns(const json::object& object, Names... names) {
  for (const std::string_view name : {std::string_view(names)...}) {
    const json::value* value = find(object, name);
    if (value == nullptr || !value->is_number()) continue;
    boost::system::error_code failed;
    const double ms = value->to_number<double>(failed);
    if (!failed && std::isfinite(ms) && ms >= 0 && ms < 1e12) return std::llround(ms * 1e6);
  }
  return -1;
}

// `timings` of ours and of llama.cpp, `metrics` of vLLM.
std::optional<ServerTimings> timings_of(const json::object& root) {
  ServerTimings timings;
  if (const json::object* told = object_at(root, "timings")) {
    timings.queue_ns = duration_ns(*told, "queue_ms");
    timings.prefill_ns = duration_ns(*told, "prefill_ms", "prompt_ms");
    timings.decode_ns = duration_ns(*told, "decode_ms", "predicted_ms");
    if (timings.queue_ns >= 0 && timings.prefill_ns >= 0) {
      timings.first_token_ns = timings.queue_ns + timings.prefill_ns;
    }
    return timings;
  }
  if (const json::object* told = object_at(root, "metrics")) {
    timings.queue_ns = duration_ns(*told, "queue_time_ms");
    timings.first_token_ns = duration_ns(*told, "time_to_first_token_ms");
    timings.decode_ns = duration_ns(*told, "generation_time_ms");
    if (timings.first_token_ns >= 0) return timings;
  }
  return std::nullopt;
}

std::optional<Usage> usage_of(const json::object& root) {
  const json::object* told = object_at(root, "usage");
  if (told == nullptr) return std::nullopt;
  Usage usage;
  usage.prompt_tokens = count_of(find(*told, "prompt_tokens"));
  usage.completion_tokens = count_of(find(*told, "completion_tokens"));
  if (const json::object* details = object_at(*told, "prompt_tokens_details")) {
    usage.cached_tokens = count_of(find(*details, "cached_tokens"));
  }
  return usage;
}

// A delta, a message, or (completions) the choice itself.
void take_text(const json::object& said, ReplyPiece& piece) {
  for (const std::string_view key : {"content", "text", "reasoning_content", "reasoning"}) {
    const std::string_view text = text_at(said, key);
    piece.text += text;
    piece.carries = piece.carries || !text.empty();
  }
  const json::value* calls = find(said, "tool_calls");
  piece.carries = piece.carries || (calls != nullptr && calls->is_array() && !calls->get_array().empty());
}

void take_token_ids(const json::object& choice, ReplyPiece& piece) {
  const json::value* told = find(choice, "token_ids");
  if (told == nullptr || !told->is_array()) return;
  piece.token_ids.emplace();
  for (const json::value& token : told->get_array()) piece.token_ids->push_back(count_of(&token));
  piece.carries = piece.carries || !piece.token_ids->empty();
}

void take_choice(const json::object& choice, ReplyPiece& piece) {
  piece.choice = count_of(find(choice, "index"));
  take_text(choice, piece);
  for (const std::string_view key : {"delta", "message"}) {
    if (const json::object* said = object_at(choice, key)) take_text(*said, piece);
  }
  take_token_ids(choice, piece);
  piece.finish_reason = text_at(choice, "finish_reason");
}

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, kMostMessage));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

std::string_view message_in(const json::object& root) {
  if (const json::object* error = object_at(root, "error")) return text_at(*error, "message");
  for (const std::string_view key : {"error", "message", "detail"}) {
    if (const std::string_view text = text_at(root, key); !text.empty()) return text;
  }
  return {};
}

}  // namespace

ApiResult<ReplyPiece> read_reply(std::string_view text) {
  // A chunk is small: its tree lives on the stack.
  std::array<unsigned char, 4096> room;
  json::monotonic_resource memory(room.data(), room.size());
  boost::system::error_code failed;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), failed, &memory);
  const json::object* root = failed ? nullptr : value.if_object();
  if (root == nullptr) {
    return std::unexpected(other_error(502, "server_error", "malformed_event",
                                       "not a JSON object: " + one_line(text.substr(0, 80))));
  }
  if (const json::value* error = find(*root, "error"); error != nullptr && !error->is_null()) {
    return std::unexpected(other_error(200, "server_error", "error_in_stream", error_message_of(text)));
  }
  ReplyPiece piece;
  if (const json::value* choices = find(*root, "choices"); choices != nullptr && choices->is_array()) {
    const json::array& all = choices->get_array();
    if (!all.empty() && all.front().is_object()) take_choice(all.front().get_object(), piece);
  }
  piece.usage = usage_of(*root);
  piece.timings = timings_of(*root);
  return piece;
}

std::string error_message_of(std::string_view body) {
  boost::system::error_code failed;
  const json::value value = json::parse(json::string_view(body.data(), body.size()), failed);
  if (!failed && value.is_object()) {
    if (const std::string_view message = message_in(value.get_object()); !message.empty()) {
      return one_line(message);
    }
  }
  return one_line(body);
}

}  // namespace paternoster::api
