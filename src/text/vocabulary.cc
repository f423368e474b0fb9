#include "text/vocabulary.h"

#include <algorithm>
#include <array>

namespace paternoster::text {
namespace {

constexpr std::array<std::string_view, 22> kEndSpellings = {
    "<|eot_id|>",      "<|eom_id|>",        "<|end_of_text|>", "<|im_end|>",
    "<|endoftext|>",   "<|end|>",           "<|return|>",      "<|call|>",
    "<end_of_turn>",   "<turn|>",           "<eos>",           "</s>",
    "<|eos|>",         "<|EOT|>",           "<EOT>",           "<|END_OF_TURN_TOKEN|>",
    "<|end_of_turn|>", "<|endofturn|>",     "<|eot|>",         "<end_of_utterance>",
    "<EOD>",           "<｜end▁of▁sentence｜>",
};

}  // namespace

std::vector<TokenId> end_of_generation_ids(const Vocabulary& vocabulary) {
  std::vector<TokenId> ids;
  for (const auto& id : {vocabulary.eos, vocabulary.eot, vocabulary.eom}) {
    if (id && *id >= 0 && static_cast<std::size_t>(*id) < vocabulary.tokens.size()) {
      ids.push_back(*id);
    }
  }
  const std::size_t known = std::min(vocabulary.kinds.size(), vocabulary.tokens.size());
  for (std::size_t i = 0; i < known; ++i) {
    // Only control tokens: in Gemma "</s>" is an HTML tag.
    if (vocabulary.kinds[i] != TokenKind::kControl) continue;
    if (std::ranges::find(kEndSpellings, vocabulary.tokens[i]) != kEndSpellings.end()) {
      ids.push_back(static_cast<TokenId>(i));
    }
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

}  // namespace paternoster::text
