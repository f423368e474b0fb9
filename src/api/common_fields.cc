#include "api/common_fields.h"

#include <boost/json/array.hpp>
#include <charconv>
#include <limits>

namespace paternoster::api {

namespace json = boost::json;

namespace {

constexpr std::int64_t kMostTokens = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMostBiases = 1024;
constexpr std::size_t kMostSaltBytes = 256;

void read_stream(FieldReader& fields, Ask& ask) {
  fields.read("stream", ask.stream);
  const json::object* options = fields.read_object("stream_options");
  if (options == nullptr) return;
  if (!ask.stream) {
    fields.fail_value("stream_options", "is allowed only when `stream` is true");
    return;
  }
  FieldReader inner(*options, "stream_options.");
  inner.read("include_usage", ask.include_usage);
  inner.read("continuous_usage_stats", ask.continuous_usage);
  if (inner.failed()) fields.fail(inner.take_error());
}

// Two names of one thing: the second wins if both are given.
void read_repetition(FieldReader& fields, Sampling& sampling) {
  for (const char* name : {"repeat_penalty", "repetition_penalty"}) {
    if (fields.read(name, 0.0, 10.0, sampling.repetition_penalty) &&
        sampling.repetition_penalty == 0.0) {
      fields.fail_value(name, "must be above 0");
    }
  }
}

void read_bias(FieldReader& fields, Sampling& sampling) {
  const json::object* biases = fields.read_object("logit_bias");
  if (biases == nullptr) return;
  if (biases->size() > kMostBiases) {
    fields.fail_value("logit_bias", "has too many members (at most 1024)");
    return;
  }
  for (const auto& member : *biases) {
    TokenId token = -1;
    const char* begin = member.key().data();
    const char* end = begin + member.key().size();
    const auto [stopped, error] = std::from_chars(begin, end, token);
    const auto bias = as_number(member.value());
    if (error != std::errc() || stopped != end || token < 0) {
      fields.fail_value("logit_bias", "must have token ids as its keys");
    } else if (!bias || !(*bias >= -100.0 && *bias <= 100.0)) {
      fields.fail_value("logit_bias", "must have values between -100 and 100");
    } else {
      sampling.logit_bias.emplace_back(token, *bias);
    }
  }
}

void read_sampling(FieldReader& fields, Sampling& sampling) {
  fields.read("temperature", 0.0, 2.0, sampling.temperature);
  if (fields.read("top_p", 0.0, 1.0, sampling.top_p) && sampling.top_p == 0.0) {
    fields.fail_value("top_p", "must be above 0");
  }
  fields.read("top_k", -1, kMostTokens, sampling.top_k);
  if (sampling.top_k < 0) sampling.top_k = 0;  // both mean off
  fields.read("min_p", 0.0, 1.0, sampling.min_p);
  fields.read("presence_penalty", -2.0, 2.0, sampling.presence_penalty);
  fields.read("frequency_penalty", -2.0, 2.0, sampling.frequency_penalty);
  read_repetition(fields, sampling);
  std::int64_t seed = 0;
  if (fields.read("seed", std::numeric_limits<std::int64_t>::min(),
                  std::numeric_limits<std::int64_t>::max(), seed)) {
    sampling.seed = static_cast<std::uint64_t>(seed);
  }
  read_bias(fields, sampling);
}

void add_stop(FieldReader& fields, const json::value& value, std::vector<std::string>& stops) {
  if (!value.is_string()) {
    fields.fail_value("stop", "must be a string or a list of strings");
    return;
  }
  const auto& text = value.get_string();
  if (text.empty() || text.size() > kMostStopBytes) {
    fields.fail_value("stop", "must have strings of 1 to 1024 bytes");
    return;
  }
  stops.emplace_back(text.data(), text.size());
}

void read_stops(FieldReader& fields, Generation& shared) {
  if (const json::value* stop = fields.find("stop")) {
    if (!stop->is_array()) {
      add_stop(fields, *stop, shared.stop);
    } else if (stop->get_array().size() > kMostStops) {
      fields.fail_value("stop", "may have at most 16 strings");
    } else {
      for (const json::value& member : stop->get_array()) add_stop(fields, member, shared.stop);
    }
  }
  fields.read("stop_token_ids", 128, shared.stop_token_ids);
  fields.read("include_stop_str_in_output", shared.include_stop_string);
  fields.read("ignore_eos", shared.ignore_eos);
}

void read_lengths(FieldReader& fields, Ask& ask, Generation& shared) {
  fields.read("n", 1, kMostChoices, ask.choices);
  shared.choices = ask.choices;
  std::int32_t best_of = ask.choices;
  fields.read("best_of", 1, kMostTokens, best_of);
  if (best_of != ask.choices) {
    fields.fail(unsupported_parameter("best_of", "`best_of` is not supported unless it equals `n`."));
  }
  fields.read("min_tokens", 0, kMostTokens, shared.min_tokens);
  if (shared.max_tokens && shared.min_tokens > *shared.max_tokens) {
    fields.fail_value("min_tokens", "must not be above `max_tokens`");
  }
}

// Who asks and how much it matters. `safety_identifier` is OpenAI's newer name for `user`.
void read_wish(FieldReader& fields, Wish& wish) {
  std::int32_t priority = 0;
  if (fields.read("priority", -kMostPriority, kMostPriority, priority)) wish.priority = priority;
  std::string tier;
  if (fields.read("service_tier", tier)) {
    wish.service_class = find_class(tier);
    if (!wish.service_class) fields.fail_value("service_tier", "must be auto, default, priority or flex");
  }
  for (const char* name : {"safety_identifier", "user"}) {
    if (fields.read(name, wish.user) && wish.user.size() > kMostNameBytes) {
      fields.fail_value(name, "must have at most 128 bytes");
    }
  }
  std::int64_t timeout_ms = 0;
  if (fields.read("timeout_ms", 1, kMostTimeoutMs, timeout_ms)) wish.timeout_ms = timeout_ms;
  fields.read("expected_tokens", 1, kMostTokens, wish.expected_tokens);
}

}  // namespace

void read_common_fields(FieldReader& fields, Ask& ask, Generation& shared) {
  fields.read("model", ask.model);
  read_stream(fields, ask);
  read_lengths(fields, ask, shared);
  read_sampling(fields, shared.sampling);
  read_stops(fields, shared);
  fields.read("return_token_ids", ask.return_token_ids);
  if (fields.read("cache_salt", shared.cache_salt) && shared.cache_salt.size() > kMostSaltBytes) {
    fields.fail_value("cache_salt", "must have at most 256 bytes");
  }
  read_wish(fields, ask.wish);
  fields.ignore({"prompt_cache_key", "prompt_cache_retention", "metadata",
                 "store", "cache_prompt", "request_id"});
  fields.refuse({"structured_outputs", "guided_json", "guided_regex", "guided_choice",
                 "guided_grammar", "grammar", "json_schema", "bad_words", "allowed_token_ids",
                 "prompt_logprobs", "use_beam_search", "logits_processors", "lora",
                 "truncate_prompt_tokens", "return_tokens_as_token_ids"});
  if (const json::object* format = fields.read_object("response_format")) {
    FieldReader inner(*format, "response_format.");
    std::string type = "text";
    inner.read("type", type);
    if (inner.failed()) fields.fail(inner.take_error());
    if (type != "text") {
      fields.fail(unsupported_parameter("response_format",
                                        "`response_format` of type `" + type + "` is not supported."));
    }
  }
}

}  // namespace paternoster::api
