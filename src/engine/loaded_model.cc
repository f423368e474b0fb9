#include "engine/loaded_model.h"

#include <future>

namespace paternoster::engine {
namespace {

Result<std::optional<text::ChatTemplate>> chat_of(std::string_view own,
                                                  const std::optional<std::string>& given,
                                                  const text::Tokenizer& tokenizer, std::string& refusal) {
  if (given) {
    auto made = text::ChatTemplate::create(*given, tokenizer);
    if (!made) return std::unexpected(made.error());
    return std::optional(std::move(*made));
  }
  auto made = text::ChatTemplate::create(own, tokenizer);
  if (made) return std::optional(std::move(*made));
  refusal = made.error().message;
  return std::optional<text::ChatTemplate>();
}

}  // namespace

text::Vocabulary vocabulary_of(const model::TokenizerMetadata& metadata) {
  text::Vocabulary vocabulary;
  vocabulary.model = metadata.model;
  vocabulary.pre = metadata.pre;
  vocabulary.tokens = metadata.tokens;
  vocabulary.kinds.reserve(metadata.kinds.size());
  for (const model::TokenKind kind : metadata.kinds) {
    vocabulary.kinds.push_back(static_cast<text::TokenKind>(kind));  // the same numbers: GGUF's
  }
  vocabulary.scores = metadata.scores;
  vocabulary.merges = metadata.merges;
  vocabulary.bos = metadata.bos;
  vocabulary.eos = metadata.eos;
  vocabulary.eot = metadata.eot;
  vocabulary.eom = metadata.eom;
  vocabulary.unknown = metadata.unknown;
  vocabulary.padding = metadata.padding;
  vocabulary.add_bos = metadata.add_bos;
  vocabulary.add_eos = metadata.add_eos;
  vocabulary.add_space_prefix = metadata.add_space_prefix;
  return vocabulary;
}

Result<LoadedModel> load(const std::filesystem::path& path, ThreadPool& pool,
                         const std::optional<std::string>& chat_template) {
  auto file = model::load_model(path);
  if (!file) return std::unexpected(file.error());
  auto shell = std::make_unique<model::Model>(std::move(*file));
  auto tokenizer_made = std::async(std::launch::async, [&shell] {
    return text::Tokenizer::create(vocabulary_of(shell->tokenizer));
  });
  auto packed = PackedModel::pack(*shell, pool);
  auto tokenizer = tokenizer_made.get();
  const auto named = [&](const Error& error) {
    return failure(error.code, path.string() + ": " + error.message);
  };
  if (!packed) return named(packed.error());
  if (!tokenizer) return named(tokenizer.error());
  std::string refusal;
  auto chat = chat_of(shell->tokenizer.chat_template, chat_template, *tokenizer, refusal);
  if (!chat) return named(chat.error());
  shell->file.release_pages();
  return LoadedModel{std::move(shell), std::move(*packed), std::move(*tokenizer),
                                       std::move(*chat), std::move(refusal)};
}

}  // namespace paternoster::engine
