#include "api/model_reply.h"

#include <algorithm>

#include "api/reply_parts.h"
#include "base/json_writer.h"

namespace paternoster::api {
namespace {

void append_model(std::string& out, const ModelCard& card, const std::string& name) {
  JsonObject object(out);
  object.field("id", name)
      .field("object", "model")
      .field("created", card.created_s)
      .field("owned_by", "paternoster")
      .field("max_model_len", card.max_len)
      .field("context_length", card.max_len);
  JsonObject(object.key("meta"))
      .field("n_ctx", card.max_len)
      .field("n_ctx_train", card.trained_context)
      .field("n_vocab", card.vocabulary)
      .field("n_params", card.parameters)
      .field("size", card.file_bytes)
      .field("architecture", card.architecture)
      .field("weight_type", card.weight_type)
      .field("chat", card.chat_refusal.empty())
      .end();
  object.end();
}

const char* readiness_word(Readiness readiness) {
  switch (readiness) {
    case Readiness::kLoading: return "loading";
    case Readiness::kReady: return "ready";
    case Readiness::kDraining: return "draining";
    case Readiness::kFailed: return "failed";
    case Readiness::kStalled: return "stalled";
  }
  return "failed";
}

}  // namespace

bool is_served(const ModelCard& card, const std::string& name) {
  return name.empty() || name == card.id ||
         std::ranges::find(card.aliases, name) != card.aliases.end();
}

std::string models_body(const ModelCard& card) {
  std::string out;
  JsonObject object(out);
  object.field("object", "list");
  object.key("data") += '[';
  append_model(out, card, card.id);
  for (const std::string& alias : card.aliases) {
    out += ',';
    append_model(out, card, alias);
  }
  out += ']';
  object.end();
  return out;
}

std::string model_body(const ModelCard& card, const std::string& name) {
  std::string out;
  append_model(out, card, name);
  return out;
}

std::string props_body(const ModelCard& card, const Health& health, std::string_view version) {
  std::string out;
  JsonObject object(out);
  object.field("server", "paternoster")
      .field("version", version)
      .field("state", readiness_word(health.readiness))
      .field("model", card.id)
      .field("model_path", card.path)
      .field("architecture", card.architecture)
      .field("weight_type", card.weight_type)
      .field("parameters", card.parameters)
      .field("n_ctx", card.max_len)
      .field("n_ctx_train", card.trained_context)
      .field("vocabulary", card.vocabulary)
      .field("total_slots", card.max_seqs)
      .field("kv_tokens", card.kv_tokens)
      .field("kv_block_tokens", card.block_tokens)
      .field("engines", card.engines)
      .field("chat_template", card.chat_template);
  JsonObject scheduling(object.key("scheduling"));
  for (const auto& [name, choice] : card.scheduling) scheduling.field(name, choice);
  scheduling.end();
  if (card.chat_refusal.empty()) {
    object.null("chat_refusal");
  } else {
    object.field("chat_refusal", card.chat_refusal);
  }
  object.end();
  return out;
}

std::string tokenize_body(const TokenizeAsk& ask, const Tokenized& tokenized, const ModelCard& card) {
  std::string out;
  JsonObject object(out);
  object.field("count", tokenized.tokens.size()).field("max_model_len", card.max_len);
  if (ask.with_pieces) {
    object.key("tokens") += '[';
    for (std::size_t i = 0; i < tokenized.tokens.size(); ++i) {
      if (i > 0) out += ',';
      JsonObject(out).field("id", tokenized.tokens[i]).field("piece", tokenized.pieces[i]).end();
    }
    out += ']';
  } else {
    append_tokens(object.key("tokens"), tokenized.tokens);
  }
  if (ask.return_token_strs) {
    object.key("token_strs") += '[';
    for (std::size_t i = 0; i < tokenized.pieces.size(); ++i) {
      if (i > 0) out += ',';
      append_string(out, tokenized.pieces[i]);
    }
    out += ']';
  }
  object.end();
  return out;
}

std::string detokenize_body(const std::string& text) {
  std::string out;
  JsonObject(out).field("prompt", text).field("content", text).end();
  return out;
}

}  // namespace paternoster::api
