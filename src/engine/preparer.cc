#include "engine/preparer.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <random>

namespace paternoster::engine {
namespace {

api::ApiError error_of(const Error& error, const char* param) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
    case ErrorCode::kNotFound:
      return api::invalid_value(param, error.message);
    default:
      return api::server_error(error.message);
  }
}

std::uint64_t entropy() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

api::ApiResult<text::RenderedPrompt> Preparer::render(const api::ChatPrompt& prompt) const {
  if (!model_.chat) return std::unexpected(api::chat_template_error(model_.chat_refusal));
  text::ChatPrompt chat;
  for (const api::Message& message : prompt.messages) {
    chat.messages.push_back({message.role, message.content, message.extra_json});
  }
  chat.add_generation_prompt = prompt.add_generation_prompt;
  chat.extra_json = prompt.template_json;
  auto rendered = model_.chat->render(chat, model_.tokenizer);
  if (!rendered) return std::unexpected(api::chat_template_error(rendered.error().message));
  return std::move(*rendered);
}

api::ApiResult<std::vector<TokenId>> Preparer::tokenize(const api::Prompt& prompt,
                                                        bool add_special) const {
  if (const auto* tokens = std::get_if<api::TokenPrompt>(&prompt)) {
    for (const TokenId token : tokens->tokens) {
      if (!model_.tokenizer.is_valid(token)) {
        return std::unexpected(api::invalid_value(
            "prompt", fmt::format("token id {} is outside the vocabulary of {} tokens", token,
                                  model_.tokenizer.size())));
      }
    }
    return tokens->tokens;
  }
  Result<std::vector<TokenId>> ids;
  if (const auto* chat = std::get_if<api::ChatPrompt>(&prompt)) {
    auto rendered = render(*chat);
    if (!rendered) return std::unexpected(rendered.error());
    ids = text::encode_chat(model_.tokenizer, *rendered);
  } else {
    ids = model_.tokenizer.encode(std::get<api::TextPrompt>(prompt).text, {.add_special = add_special});
  }
  if (!ids) return std::unexpected(error_of(ids.error(), "prompt"));
  return std::move(*ids);
}

std::optional<api::ApiError> Preparer::find_fault(const api::Generation& generation) const {
  const auto outside = [&](const char* field, TokenId token) {
    return api::invalid_value(field, fmt::format("token id {} in {} is outside the vocabulary of {} tokens",
                                                 token, field, model_.tokenizer.size()));
  };
  for (const TokenId token : generation.stop_token_ids) {
    if (!model_.tokenizer.is_valid(token)) return outside("stop_token_ids", token);
  }
  for (const auto& [token, bias] : generation.sampling.logit_bias) {
    if (!model_.tokenizer.is_valid(token)) return outside("logit_bias", token);
  }
  return std::nullopt;
}

void Preparer::fill_sampling(const api::Generation& generation, SamplingParams& params) const {
  const api::Sampling& from = generation.sampling;
  params.temperature = static_cast<float>(from.temperature);
  params.top_p = static_cast<float>(from.top_p);
  params.top_k = std::max(from.top_k, 0);
  params.min_p = static_cast<float>(from.min_p);
  params.repetition_penalty = static_cast<float>(from.repetition_penalty);
  params.presence_penalty = static_cast<float>(from.presence_penalty);
  params.frequency_penalty = static_cast<float>(from.frequency_penalty);
  for (const auto& [token, bias] : from.logit_bias) {
    params.logit_bias.emplace_back(token, static_cast<float>(bias));
  }
  params.min_tokens = generation.min_tokens;
  params.ends = generation.stop_token_ids;
  if (!generation.ignore_eos) {
    const auto ends = model_.tokenizer.end_of_generation_ids();
    params.ends.insert(params.ends.end(), ends.begin(), ends.end());
  }
  params.seed = from.seed ? *from.seed : entropy();
  params.logprobs = generation.logprobs;
  params.top_logprobs = generation.top_logprobs;
}

// Who shares cached prefixes: timing would tell a stranger that somebody has asked the same before.
std::uint64_t Preparer::namespace_of(const api::Generation& generation) const {
  std::string both = share_prefixes_ ? std::string() : generation.standing.owner;
  if (both.empty() && generation.cache_salt.empty()) return 0;
  both += '\0';
  both += generation.cache_salt;
  return XXH3_64bits(both.data(), both.size());
}

api::ApiResult<PreparedCall> Preparer::prepare(api::Generation&& generation) const {
  if (auto fault = find_fault(generation)) return std::unexpected(std::move(*fault));
  auto tokens = tokenize(generation.prompt, generation.add_special_tokens);
  if (!tokens) return std::unexpected(std::move(tokens.error()));
  if (tokens->empty()) {
    return std::unexpected(api::invalid_value("prompt", "the prompt is empty: it needs at least one token"));
  }
  const auto prompt = static_cast<std::int64_t>(tokens->size());
  const std::int64_t asked = generation.max_tokens.value_or(0);
  if (prompt + std::max<std::int64_t>(asked, 1) > max_len_) {
    return std::unexpected(api::context_length_exceeded(prompt, asked, max_len_));
  }
  PreparedCall call;
  call.numbers = std::make_shared<RequestNumbers>();
  fill_sampling(generation, call.numbers->params);
  call.numbers->score_prompt = generation.echo && generation.logprobs;
  call.numbers->prompt_top = generation.top_logprobs;
  if (generation.echo) {
    if (const auto* text = std::get_if<api::TextPrompt>(&generation.prompt)) {
      call.echo = text->text;
    } else {
      auto decoded = model_.tokenizer.decode(*tokens);
      if (!decoded) return std::unexpected(error_of(decoded.error(), "prompt"));
      call.echo = std::move(*decoded);
    }
  }
  call.numbers->prompt = std::move(*tokens);
  call.request_id = std::move(generation.request_id);
  call.choices = generation.choices;
  call.max_tokens = generation.max_tokens.value_or(max_len_ - static_cast<std::int32_t>(prompt));
  call.text = {std::move(generation.stop), generation.include_stop_string, generation.min_tokens};
  call.stop_token_ids = std::move(generation.stop_token_ids);
  call.cache_namespace = namespace_of(generation);
  call.standing = std::move(generation.standing);
  call.standing.expected_tokens = std::min(call.standing.expected_tokens, call.max_tokens);
  return call;
}

}  // namespace paternoster::engine
