#include "model/tokenizer_metadata.h"

#include <cmath>
#include <string>

#include "model/gguf.h"
#include "model/metadata_reader.h"

namespace paternoster::model {
namespace {

constexpr std::size_t kMaximumTokens = 1u << 22;

std::string key_of(std::string_view name) { return "tokenizer.ggml." + std::string(name); }

std::vector<std::string_view> string_array(MetadataReader& reader, std::string_view name) {
  const std::string key = key_of(name);
  const auto array = reader.take(reader.file().strings(key));
  if (!array) return {};
  if (array->size() > kMaximumTokens) {
    reader.fail_key(key, std::to_string(array->size()) + " strings are too many");
    return {};
  }
  return array->views();
}

bool length_matches(MetadataReader& reader, const std::string& key, std::size_t length,
                    std::size_t tokens) {
  if (length == tokens) return true;
  reader.fail_key(key, "has " + std::to_string(length) + " entries for " + std::to_string(tokens) +
                           " tokens");
  return false;
}

std::vector<float> scores_of(MetadataReader& reader, std::size_t tokens) {
  const std::string key = key_of("scores");
  const auto array = reader.take(reader.file().floats(key));
  if (!array || !length_matches(reader, key, array->size(), tokens)) return {};
  std::vector<float> scores = array->copy();
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (!std::isfinite(scores[id])) {
      reader.fail_key(key, "the score of token " + std::to_string(id) + " is not finite");
      return {};
    }
  }
  return scores;
}

std::vector<TokenKind> kinds_of(MetadataReader& reader, std::size_t tokens) {
  const std::string key = key_of("token_type");
  const auto array = reader.take(reader.file().int32s(key));
  if (!array || !length_matches(reader, key, array->size(), tokens)) return {};
  std::vector<TokenKind> kinds(tokens);
  for (std::size_t id = 0; id < tokens; ++id) {
    const std::int32_t kind = (*array)[id];
    if (kind < 1 || kind > 6) {
      reader.fail_key(key, "token " + std::to_string(id) + " has type " + std::to_string(kind) +
                               "; 1 to 6 can be");
      return {};
    }
    kinds[id] = TokenKind{kind};
  }
  return kinds;
}

std::optional<TokenId> id_of(MetadataReader& reader, std::string_view name, std::size_t tokens) {
  const std::string key = key_of(name);
  const MetadataEntry* entry = reader.file().find(key);
  // -1 is how some converters write "none".
  if (entry != nullptr && entry->type == ValueType::kInt32 &&
      PackedArray<std::int32_t>(entry->payload)[0] == -1) {
    return std::nullopt;
  }
  const auto id = reader.take(reader.file().u32(key));
  if (!id) return std::nullopt;
  if (*id >= tokens) {
    reader.fail_key(key, "id " + std::to_string(*id) + " is outside the vocabulary of " +
                             std::to_string(tokens) + " tokens");
    return std::nullopt;
  }
  return static_cast<TokenId>(*id);
}

void check_merges(MetadataReader& reader, const std::vector<std::string_view>& merges) {
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    // A space separates the two; the first byte may itself be one.
    const std::size_t space = merges[rank].find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merges[rank].size()) {
      reader.fail_key(key_of("merges"), "merge " + std::to_string(rank) + " " +
                                            quoted_name(merges[rank]) + " is not two pieces");
      return;
    }
  }
}

}  // namespace

Result<TokenizerMetadata> tokenizer_metadata_of(const GgufFile& file) {
  MetadataReader reader(file);
  TokenizerMetadata tokenizer;
  tokenizer.model = reader.string(key_of("model"));
  tokenizer.pre = reader.string(key_of("pre"));
  tokenizer.chat_template = reader.string("tokenizer.chat_template");
  if (tokenizer.model.empty()) reader.fail_key(key_of("model"), "is missing");
  tokenizer.tokens = string_array(reader, "tokens");
  if (tokenizer.tokens.empty()) reader.fail_key(key_of("tokens"), "is missing or empty");
  const std::size_t tokens = tokenizer.tokens.size();
  tokenizer.scores = scores_of(reader, tokens);
  tokenizer.kinds = kinds_of(reader, tokens);
  tokenizer.merges = string_array(reader, "merges");
  check_merges(reader, tokenizer.merges);
  tokenizer.bos = id_of(reader, "bos_token_id", tokens);
  tokenizer.eos = id_of(reader, "eos_token_id", tokens);
  tokenizer.eot = id_of(reader, "eot_token_id", tokens);
  tokenizer.eom = id_of(reader, "eom_token_id", tokens);
  tokenizer.unknown = id_of(reader, "unknown_token_id", tokens);
  tokenizer.padding = id_of(reader, "padding_token_id", tokens);
  // The misspelling is the field's own; both occur.
  tokenizer.separator = id_of(reader, "seperator_token_id", tokens);
  if (!tokenizer.separator) tokenizer.separator = id_of(reader, "separator_token_id", tokens);
  tokenizer.mask = id_of(reader, "mask_token_id", tokens);
  tokenizer.add_bos = reader.boolean(key_of("add_bos_token"));
  tokenizer.add_eos = reader.boolean(key_of("add_eos_token"));
  tokenizer.add_space_prefix = reader.boolean(key_of("add_space_prefix"));
  tokenizer.remove_extra_whitespaces = reader.boolean(key_of("remove_extra_whitespaces"));
  if (reader.failed()) return std::unexpected(*reader.error());
  return tokenizer;
}

}  // namespace paternoster::model
