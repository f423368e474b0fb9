// A model file made ready to answer: weights in kernel format, tokenizer, chat template if it has one.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/packed_model.h"
#include "engine/thread_pool.h"
#include "model/model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace paternoster::engine {

// Immutable after load.
struct LoadedModel {
  std::unique_ptr<model::Model> file;  // where `packed` points
  PackedModel packed;
  text::Tokenizer tokenizer;
  std::optional<text::ChatTemplate> chat;
  std::string chat_refusal;  // why there is no template, for whoever wants to chat
};

// The tokenizer is built while the weights are packed. An empty `chat_template` means the file's own;
// a template that was given but does not compile is an error, a file's own only bars the chat.
Result<LoadedModel> load(const std::filesystem::path& path, ThreadPool& pool,
                         const std::optional<std::string>& chat_template = {});

// The text layer's view of what the file says about its tokens.
text::Vocabulary vocabulary_of(const model::TokenizerMetadata& metadata);

}  // namespace paternoster::engine
