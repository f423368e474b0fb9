#include "engine/text_stream.h"

namespace paternoster::engine {

bool TextStream::push(TokenId token, std::string& out) {
  piece_.clear();
  detokenizer_.push(token, piece_);
  if (++tokens_ < options_.min_tokens) {
    out += piece_;
    return false;
  }
  return matcher_.push(piece_, out, options_.include_stop).has_value();
}

void TextStream::finish(std::string& out) {
  if (matcher_.match()) return;
  matcher_.push(detokenizer_.flush(), out, options_.include_stop);
  if (!matcher_.match()) out += matcher_.flush();
}

std::optional<std::string> TextStream::stop() const {
  if (!matcher_.match()) return std::nullopt;
  return options_.stops[matcher_.match()->index];
}

}  // namespace paternoster::engine
