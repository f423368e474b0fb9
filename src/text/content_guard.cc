#include "text/content_guard.h"

#include <algorithm>

#include "text/utf8.h"

namespace paternoster::text {
namespace {

// Characters from U+F0000 on: their lead byte, and not below the first of them.
constexpr std::string_view kFirstPlaceholder = "\xF3\xB0\x80\x80";

bool is_private(std::string_view character) {
  return character.size() == 4 && character >= kFirstPlaceholder;
}

std::string_view trimmed_end(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n\v\f");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

void ContentGuard::see(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    at = std::min(text.find_first_of("\xF3\xF4", at), text.size());
    if (at == text.size()) break;
    const Utf8Step step = utf8_step(text.substr(at, 4));
    const std::string_view character = text.substr(at, step.length);
    if (step.kind == Utf8Step::Kind::kCharacter && is_private(character)) {
      taken_.insert(utf8_code_point(character));
    }
    at += step.length;
  }
}

std::string ContentGuard::placeholder_for(std::string_view hidden) {
  const auto found = placeholder_of_.find(hidden);
  if (found != placeholder_of_.end()) return found->second;
  while (taken_.contains(next_)) ++next_;
  std::string placeholder;
  append_utf8(placeholder, next_++);
  placeholder_of_.emplace(hidden, placeholder);
  hidden_by_.emplace(placeholder, hidden);
  return placeholder;
}

std::string ContentGuard::hide(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  const std::string_view trimmed = trimmed_end(text);
  // Where an unfinished spelling begins, for the text as it is and as templates trim it.
  const std::size_t open = text.size() - tokenizer_->open_control_suffix(text);
  const std::size_t open_trimmed = trimmed.size() - tokenizer_->open_control_suffix(trimmed);
  for (std::size_t at = 0; at < text.size();) {
    if (const auto control = tokenizer_->control_at(text, at)) {
      const std::size_t length = tokenizer_->piece(*control).size();
      out += placeholder_for(text.substr(at, length));
      at += length;
      continue;
    }
    const std::size_t length = utf8_step(text.substr(at, 4)).length;
    const std::string_view character = text.substr(at, length);
    if (at == open || (at == open_trimmed && at < trimmed.size())) {
      out += placeholder_for(character);
    } else {
      out += character;
    }
    at += length;
  }
  return out;
}

RenderedPrompt ContentGuard::reveal(std::string_view rendered) const {
  RenderedPrompt prompt;
  prompt.text.reserve(rendered.size());
  while (!rendered.empty()) {
    const std::size_t plain = std::min(rendered.find_first_of("\xF3\xF4"), rendered.size());
    prompt.text += rendered.substr(0, plain);
    rendered.remove_prefix(plain);
    if (rendered.empty()) break;
    const std::string_view character = rendered.substr(0, utf8_step(rendered.substr(0, 4)).length);
    const auto found = hidden_by_.find(character);
    if (found != hidden_by_.end()) {
      const std::size_t begin = prompt.text.size();
      prompt.text += found->second;
      prompt.literal.push_back({begin, prompt.text.size()});
    } else {
      prompt.text += character;
    }
    rendered.remove_prefix(character.size());
  }
  return prompt;
}

}  // namespace paternoster::text
