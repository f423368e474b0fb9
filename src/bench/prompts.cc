#include "bench/prompts.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <fstream>

#include "api/reply_reader.h"
#include "base/json_writer.h"
#include "client/ask.h"
#include "client/event_reader.h"

namespace paternoster::bench {

namespace json = boost::json;

namespace {

constexpr std::string_view kWords[] = {
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school",
    "state", "family", "student", "group", "country", "problem", "hand", "part", "place", "case", "week",
    "company", "system", "program", "question", "work", "government", "number", "night", "point", "home",
    "water", "room", "mother", "area", "money", "story", "fact", "month", "lot", "right", "study", "book",
    "eye", "job", "word", "business", "issue", "side", "kind", "head", "house", "service", "friend",
    "father", "power", "hour", "game", "line", "end", "member", "law", "car", "city", "name", "team",
    "minute", "idea", "body", "information", "back", "parent", "face", "others", "level", "office", "door",
    "health", "person", "art", "war", "history", "party", "result", "change", "morning", "reason",
    "research", "girl", "moment", "air", "force", "education", "food", "light", "voice", "market", "road"};
constexpr std::size_t kShort = 32;   // words of the two questions
constexpr std::size_t kLong = 160;

std::optional<std::int32_t> count_in(const json::object& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr) continue;
    boost::system::error_code failed;
    const auto number = value->to_number<std::int32_t>(failed);
    if (!failed && number > 0) return number;
  }
  return std::nullopt;
}

// The first turn of a ShareGPT conversation.
std::string first_turn(const json::object& object) {
  const json::value* turns = object.if_contains("conversations");
  if (turns == nullptr || !turns->is_array() || turns->get_array().empty()) return {};
  const json::object* turn = turns->get_array().front().if_object();
  const json::value* value = turn == nullptr ? nullptr : turn->if_contains("value");
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

Result<FilePrompt> parse_line(const std::string& line) {
  FilePrompt prompt;
  boost::system::error_code failed;
  const json::value value = json::parse(line, failed);
  const json::object* object = failed ? nullptr : value.if_object();
  if (object == nullptr) {
    if (failed && line.starts_with('{')) return failure(ErrorCode::kInvalidFile, "not valid JSON: " + failed.message());
    prompt.prompt.text = value.is_string() ? std::string(value.get_string()) : line;
    return prompt;
  }
  prompt.max_tokens = count_in(*object, {"max_tokens", "output_tokens", "output_length"});
  if (const json::value* messages = object->if_contains("messages"); messages != nullptr && messages->is_array()) {
    prompt.prompt.messages_json = json::serialize(*messages);
    return prompt;
  }
  for (const char* name : {"prompt", "text", "content"}) {
    const json::value* text = object->if_contains(name);
    if (text != nullptr && text->is_string()) prompt.prompt.text = text->get_string();
  }
  if (prompt.prompt.text.empty()) prompt.prompt.text = first_turn(*object);
  if (prompt.prompt.text.empty()) {
    return failure(ErrorCode::kInvalidFile, "it has neither \"messages\" nor \"prompt\", \"text\", \"content\"");
  }
  return prompt;
}

std::vector<TokenId> counting_keys(std::size_t words) {
  std::vector<TokenId> keys(words);
  for (std::size_t i = 0; i < words; ++i) keys[i] = static_cast<TokenId>(i * 7 + 3);
  return keys;
}

// The server's count of a prompt of so many words, by its tokenizer alone.
std::optional<double> tokenized(boost::asio::io_context& context, client::Caller& caller, const RequestBody& body,
                                std::size_t words) {
  client::Call call;
  call.path = "/tokenize";
  JsonObject object(call.body);
  if (!body.model.empty()) object.field("model", body.model);
  const std::string text = words_text(counting_keys(words), words);
  if (body.route == api::Route::kChat) {
    std::string& out = object.key("messages");
    out += "[{\"role\":\"user\",\"content\":";
    append_string(out, text);
    out += "}]";
  } else {
    object.field("prompt", text);
  }
  object.end();
  const auto answer = client::ask(context, caller, std::move(call));
  if (!answer || answer->status != 200) return std::nullopt;
  boost::system::error_code failed;
  const json::value value = json::parse(answer->body, failed);
  const json::object* root = failed ? nullptr : value.if_object();
  if (root == nullptr) return std::nullopt;
  if (const auto count = count_in(*root, {"count"})) return *count;
  const json::value* tokens = root->if_contains("tokens");
  if (tokens == nullptr || !tokens->is_array()) return std::nullopt;
  return static_cast<double>(tokens->get_array().size());
}

// The same from the usage of a request that wants one token.
Result<double> generated(boost::asio::io_context& context, client::Caller& caller, RequestBody body,
                         std::size_t words) {
  body.max_tokens = 1;
  Prompt prompt;
  prompt.text = words_text(counting_keys(words), words);
  client::Call call;
  call.path = path_of(body.route);
  call.body = write_body(body, prompt);
  const auto answer = client::ask(context, caller, std::move(call));
  if (!answer) return std::unexpected(answer.error());
  if (answer->status != 200) {
    return failure(ErrorCode::kUnavailable, "the first request got status " + std::to_string(answer->status) + ": " +
                                                api::error_message_of(answer->body));
  }
  std::int32_t count = 0;
  client::EventReader events;
  const auto take = [&](std::string_view data) {
    const auto piece = api::read_reply(data);
    if (piece && piece->usage) count = piece->usage->prompt_tokens;
  };
  events.push(answer->body, take);
  events.finish(take);
  return static_cast<double>(count);
}

WordScale scale_of(double few, double many, std::string source) {
  WordScale scale;
  scale.slope = (many - few) / static_cast<double>(kLong - kShort);
  scale.overhead = few - scale.slope * static_cast<double>(kShort);
  scale.source = std::move(source);
  return scale;
}

}  // namespace

Result<std::vector<FilePrompt>> read_prompts(const std::string& path) {
  std::ifstream in(path);
  if (!in) return failure(ErrorCode::kNotFound, "cannot read the prompts of " + path);
  std::vector<FilePrompt> prompts;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    auto prompt = parse_line(line);
    if (!prompt) {
      return failure(prompt.error().code, path + ":" + std::to_string(number) + ": " + prompt.error().message);
    }
    prompts.push_back(std::move(*prompt));
  }
  if (prompts.empty()) return failure(ErrorCode::kInvalidFile, path + " has no prompts");
  return prompts;
}

std::string words_text(const std::vector<TokenId>& keys, std::size_t words) {
  std::string text;
  for (std::size_t i = 0; i < words; ++i) {
    const auto key = static_cast<std::uint32_t>(i < keys.size() ? keys[i] : static_cast<TokenId>(i));
    if (i > 0) text += ' ';
    text += kWords[key % std::size(kWords)];
  }
  return text;
}

const FilePrompt* PromptMaker::line_of(const workload::Arrival& arrival) const {
  return file_.empty() ? nullptr : &file_[arrival.number % file_.size()];
}

Prompt PromptMaker::make(const workload::Source& source, const workload::Arrival& arrival) const {
  if (const FilePrompt* line = line_of(arrival)) return line->prompt;
  source.write_prompt(arrival, keys_);
  const double words = std::round((arrival.input_tokens - scale_.overhead) / scale_.slope);
  Prompt prompt;
  prompt.text = words_text(keys_, static_cast<std::size_t>(std::max(words, 1.0)));
  return prompt;
}

std::int32_t PromptMaker::max_tokens(const workload::Arrival& arrival) const {
  const FilePrompt* line = line_of(arrival);
  return line != nullptr && line->max_tokens ? *line->max_tokens : arrival.output_tokens;
}

std::int32_t PromptMaker::expected_tokens(const workload::Arrival& arrival) const {
  return file_.empty() ? arrival.input_tokens : 0;
}

Result<WordScale> ask_word_scale(boost::asio::io_context& context, client::Caller& caller, RequestBody body) {
  const auto few = tokenized(context, caller, body, kShort);
  const auto many = few ? tokenized(context, caller, body, kLong) : std::nullopt;
  if (few && many && *many > *few) return scale_of(*few, *many, "tokenize");
  const auto little = generated(context, caller, body, kShort);
  if (!little) return std::unexpected(little.error());
  const auto much = generated(context, caller, body, kLong);
  if (!much) return std::unexpected(much.error());
  // A server that counts nothing: a word is taken for a token.
  if (*much <= *little) return WordScale{0, 1, "assumed"};
  return scale_of(*little, *much, "usage");
}

}  // namespace paternoster::bench
