#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pretokenizer.h"

#include <pcre2.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "text/pretokenizer_table.h"
#include "text/utf8.h"

namespace paternoster::text {
namespace {

// PCRE2's own \s matches U+180E under UCP, which Unicode took out of White_Space long ago.
constexpr std::string_view kSpaces = R"(\t-\r\x{85}\p{Z})";

std::string spell_out_spaces(std::string_view expression) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char current = expression[i];
    if (current != '\\' || i + 1 == expression.size()) {
      if (current == '[') in_class = true;
      if (current == ']') in_class = false;
      out.push_back(current);
      continue;
    }
    const char escaped = expression[++i];
    if (escaped == 's' && in_class) {
      out.append(kSpaces);
    } else if (escaped == 's') {
      out.append("[").append(kSpaces).append("]");
    } else if (escaped == 'S') {
      out.append("[^").append(kSpaces).append("]");
    } else {
      out.push_back('\\');
      out.push_back(escaped);
    }
  }
  return out;
}

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

// What a thread needs to match; made on first use.
struct Scratch {
  static constexpr std::size_t kStackMin = 32 * 1024;
  static constexpr std::size_t kStackMax = 1024 * 1024;

  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kStackMin, kStackMax, nullptr);

  Scratch() {
    // Backtracking is bounded by the expressions themselves; the default limit is far below 1 MB.
    pcre2_set_match_limit(context, ~std::uint32_t{0});
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
};

// Threes of characters, the first of them shorter if need be.
void cut_in_threes(std::string_view text, ByteSpan run, std::vector<ByteSpan>& words) {
  std::vector<std::size_t> starts;
  for (std::size_t at = run.begin; at < run.end; at += utf8_step(text.substr(at, 4)).length) {
    starts.push_back(at);
  }
  std::size_t begin = 0;
  for (std::size_t end = (starts.size() + 2) % 3 + 1; begin < starts.size(); end += 3) {
    words.push_back({starts[begin], end < starts.size() ? starts[end] : run.end});
    begin = end;
  }
}

Scratch& match_scratch() {
  thread_local Scratch scratch;
  return scratch;
}

}  // namespace

struct Pretokenizer::Code {
  pcre2_code* code = nullptr;
  bool matches_in_threes = false;  // each match is cut once more, into threes from its right end
  bool jit = false;

  Code(pcre2_code* compiled, bool threes)
      : code(compiled),
        matches_in_threes(threes),
        jit(pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE) == 0) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }

  int match(std::string_view subject, std::size_t offset, Scratch& scratch) const {
    const auto* bytes = reinterpret_cast<PCRE2_SPTR>(subject.data());
    if (jit) {
      const int rc = pcre2_jit_match(code, bytes, subject.size(), offset, 0, scratch.data,
                                     scratch.context);
      if (rc != PCRE2_ERROR_JIT_STACKLIMIT) return rc;
    }
    return pcre2_match(code, bytes, subject.size(), offset, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       scratch.data, scratch.context);
  }

  // Appends the words of one piece of `text`.
  Result<void> cut(std::string_view text, ByteSpan piece, std::vector<ByteSpan>& words) const {
    Scratch& scratch = match_scratch();
    const std::string_view subject = text.substr(piece.begin, piece.end - piece.begin);
    std::size_t at = 0;  // words cover subject[0, at)
    while (at < subject.size()) {
      const int rc = match(subject, at, scratch);
      if (rc == PCRE2_ERROR_NOMATCH) break;
      if (rc < 0) {
        return failure(ErrorCode::kInternal, "cutting text into words: " + pcre2_message(rc));
      }
      const PCRE2_SIZE* found = pcre2_get_ovector_pointer(scratch.data);
      PATERNOSTER_CHECK(found[1] > found[0]);  // no expression of the table matches nothing
      const ByteSpan word{piece.begin + found[0], piece.begin + found[1]};
      if (found[0] > at) words.push_back({piece.begin + at, word.begin});
      if (matches_in_threes) {
        cut_in_threes(text, word, words);
      } else {
        words.push_back(word);
      }
      at = found[1];
    }
    if (at < subject.size()) words.push_back({piece.begin + at, piece.end});
    return {};
  }
};

Result<Pretokenizer> Pretokenizer::create(const std::vector<std::string_view>& expressions) {
  Pretokenizer result;
  for (const std::string_view expression : expressions) {
    const bool threes = expression == kDigitsFromRight || expression == kWholeDigitsFromRight;
    std::string pattern = spell_out_spaces(expression);
    if (expression == kDigitsFromRight) pattern = R"(\p{N}+)";
    // The look-behind keeps a run that a letter ends from being tried at each of its digits.
    if (expression == kWholeDigitsFromRight) pattern = R"((?<!\d)\d++(?!\w))";
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
    if (code == nullptr) {
      return failure(ErrorCode::kInternal, "word expression " + pattern + " at " +
                                               std::to_string(offset) + ": " +
                                               pcre2_message(error));
    }
    result.codes_.push_back(std::make_shared<const Code>(code, threes));
  }
  return result;
}

Result<void> Pretokenizer::cut(std::string_view text, std::vector<ByteSpan>& words) const {
  if (text.empty()) return {};
  std::vector<ByteSpan> pieces{{0, text.size()}};
  std::vector<ByteSpan> next;
  for (const auto& code : codes_) {
    next.clear();
    for (const ByteSpan piece : pieces) {
      if (auto cut = code->cut(text, piece, next); !cut) return cut;
    }
    std::swap(pieces, next);
  }
  words.insert(words.end(), pieces.begin(), pieces.end());
  return {};
}

}  // namespace paternoster::text
