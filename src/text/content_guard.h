// Keeps control tokens out of messages: hides their spellings from the template engine and puts
// them back as text afterwards.
//
// Each spelling that occurs in a message becomes one private-use character that occurs nowhere
// else; so does the first character of an unfinished spelling at a message's end, which the next
// message could complete. One guard a rendering, one thread. Internal to text/.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace paternoster::text {

class ContentGuard {
 public:
  explicit ContentGuard(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  // Every text that will be part of the rendering goes through here first.
  void see(std::string_view text);

  std::string hide(std::string_view text);

  // The rendered text with what was hidden put back; those parts are its literal spans.
  RenderedPrompt reveal(std::string_view rendered) const;

 private:
  std::string placeholder_for(std::string_view hidden);

  const Tokenizer* tokenizer_;
  std::set<char32_t> taken_;
  char32_t next_ = 0xF0000;  // the private-use planes
  std::map<std::string, std::string, std::less<>> placeholder_of_;
  std::map<std::string, std::string, std::less<>> hidden_by_;
};

}  // namespace paternoster::text
