#include "text/detokenizer.h"

#include "text/utf8.h"

namespace paternoster::text {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, DecodeOptions options)
    : tokenizer_(&tokenizer), options_(options) {}

void Detokenizer::push(TokenId id, std::string& out) {
  const bool control = tokenizer_->is_control(id);
  if (control && !options_.keep_control) return;
  std::string_view bytes = tokenizer_->token_bytes(id);
  if (!control && at_start_) {
    at_start_ = false;
    const bool has_prefix = options_.strip_space_prefix && tokenizer_->adds_space_prefix();
    if (has_prefix && bytes.starts_with(' ')) bytes.remove_prefix(1);
  }
  held_.append(bytes);
  std::string_view rest = held_;
  while (!rest.empty()) {
    const std::size_t valid = utf8_valid_prefix(rest);
    out.append(rest.substr(0, valid));
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    const Utf8Step step = utf8_step(rest);
    if (step.kind == Utf8Step::Kind::kUnfinished) break;
    out.append(kReplacementCharacter);
    rest.remove_prefix(step.length);
  }
  held_.erase(0, held_.size() - rest.size());
}

std::string Detokenizer::push(TokenId id) {
  std::string out;
  push(id, out);
  return out;
}

std::string Detokenizer::flush() {
  std::string out(held_.empty() ? "" : kReplacementCharacter);
  held_.clear();
  at_start_ = true;
  return out;
}

}  // namespace paternoster::text
