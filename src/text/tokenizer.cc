#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>

#include "text/byte_level_bpe.h"
#include "text/detokenizer.h"
#include "text/pretokenizer_table.h"
#include "text/sentencepiece_bpe.h"
#include "text/spelling_matcher.h"
#include "text/utf8.h"

namespace paternoster::text {

struct Tokenizer::Core {
  std::variant<std::monostate, ByteLevelBpe, SentencePieceBpe> model;
  std::vector<TokenKind> kinds;
  StringTable pieces;  // as the file spells them
  StringTable bytes;   // what they stand for
  std::optional<TokenId> bos, eos;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  std::vector<TokenId> end_of_generation;
  std::vector<TokenId> controls;
  std::vector<bool> is_control;
  std::vector<bool> is_end;
  SpellingMatcher specials;  // control tokens; for byte-level BPE also user-defined ones
  bool user_defined_in_specials = false;

  Result<void> load(const Vocabulary& vocabulary);
  Result<void> encode_plain(std::string_view text, bool after_control,
                            std::vector<TokenId>& out) const;
};

namespace {

// Offsets inside a word are 32 bits wide, and U+2581 takes three bytes for a space.
constexpr std::size_t kLongestText = std::size_t{512} << 20;

Result<void> check_id(const std::optional<TokenId>& id, const char* name, std::size_t size) {
  if (!id || (*id >= 0 && static_cast<std::size_t>(*id) < size)) return {};
  return failure(ErrorCode::kInvalidFile, std::string("tokenizer.ggml.") + name +
                                              "_token_id: " + std::to_string(*id) +
                                              " is outside the vocabulary");
}

Result<void> check(const Vocabulary& vocabulary) {
  const std::size_t size = vocabulary.tokens.size();
  if (size == 0 || size > std::size_t{std::numeric_limits<TokenId>::max()}) {
    return failure(ErrorCode::kInvalidFile, "tokenizer.ggml.tokens: no usable vocabulary");
  }
  if (!vocabulary.kinds.empty() && vocabulary.kinds.size() != size) {
    return failure(ErrorCode::kInvalidFile,
                   "tokenizer.ggml.token_type must be as long as tokenizer.ggml.tokens");
  }
  const std::pair<const std::optional<TokenId>&, const char*> ids[] = {
      {vocabulary.bos, "bos"}, {vocabulary.eos, "eos"},         {vocabulary.eot, "eot"},
      {vocabulary.eom, "eom"}, {vocabulary.unknown, "unknown"}, {vocabulary.padding, "padding"}};
  for (const auto& [id, name] : ids) {
    if (auto checked = check_id(id, name, size); !checked) return checked;
  }
  return {};
}

bool overlaps(std::span<const ByteSpan> spans, std::size_t begin, std::size_t end) {
  const auto after = std::ranges::partition_point(
      spans, [&](const ByteSpan& span) { return span.end <= begin; });
  return after != spans.end() && after->begin < end;
}

}  // namespace

Result<void> Tokenizer::Core::load(const Vocabulary& vocabulary) {
  const bool byte_level = vocabulary.model == "gpt2";
  kinds = vocabulary.kinds;
  kinds.resize(vocabulary.tokens.size(), TokenKind::kNormal);
  is_control.resize(kinds.size());
  is_end.resize(kinds.size());
  std::size_t total = 0;
  for (const std::string_view token : vocabulary.tokens) total += token.size();
  pieces.reserve(kinds.size(), total);
  bytes.reserve(kinds.size(), total);
  std::vector<TokenId> special;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string_view piece = vocabulary.tokens[i];
    const auto id = static_cast<TokenId>(i);
    pieces.add(piece);
    bytes.add(byte_level ? byte_level_bytes(piece, kinds[i])
                         : sentencepiece_bytes(piece, kinds[i]));
    is_control[i] = kinds[i] == TokenKind::kControl || kinds[i] == TokenKind::kUnknown;
    if (is_control[i]) controls.push_back(id);
    if (is_control[i] || (byte_level && kinds[i] == TokenKind::kUserDefined)) special.push_back(id);
  }
  user_defined_in_specials = byte_level;
  specials = SpellingMatcher(special, pieces);
  end_of_generation = text::end_of_generation_ids(vocabulary);
  for (const TokenId id : end_of_generation) is_end[static_cast<std::size_t>(id)] = true;
  bos = vocabulary.bos;
  eos = vocabulary.eos;
  const bool family_adds_bos = byte_level ? adds_bos_by_default(vocabulary.pre) : true;
  add_bos = vocabulary.add_bos.value_or(family_adds_bos) && bos.has_value();
  add_eos = vocabulary.add_eos.value_or(false) && eos.has_value();
  add_space_prefix = !byte_level && vocabulary.add_space_prefix.value_or(true);
  if (byte_level) {
    auto made = ByteLevelBpe::create(vocabulary, bytes);
    if (!made) return std::unexpected(made.error());
    model = *std::move(made);
  } else {
    auto made = SentencePieceBpe::create(vocabulary);
    if (!made) return std::unexpected(made.error());
    model = *std::move(made);
  }
  return {};
}

Result<void> Tokenizer::Core::encode_plain(std::string_view text, bool after_control,
                                           std::vector<TokenId>& out) const {
  if (const auto* byte_level = std::get_if<ByteLevelBpe>(&model)) {
    return byte_level->encode(text, out);
  }
  std::get<SentencePieceBpe>(model).encode(text, add_space_prefix && after_control, out);
  return {};
}

Result<Tokenizer> Tokenizer::create(const Vocabulary& vocabulary) {
  if (vocabulary.model != "gpt2" && vocabulary.model != "llama") {
    return failure(ErrorCode::kUnsupported,
                   "tokenizer.ggml.model: \"" + std::string(vocabulary.model) +
                       "\" is not supported; supported are gpt2 (byte-level BPE) and llama "
                       "(SentencePiece BPE)");
  }
  if (auto checked = check(vocabulary); !checked) return std::unexpected(checked.error());
  auto core = std::make_unique<Core>();
  if (auto loaded = core->load(vocabulary); !loaded) return std::unexpected(loaded.error());
  return Tokenizer(std::move(core));
}

Tokenizer::Tokenizer(std::unique_ptr<const Core> core) : core_(std::move(core)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (utf8_valid_prefix(text) == text.size()) return encode_around(text, {}, options);
  return encode_around(repair_utf8(text), {}, options);
}

Result<std::vector<TokenId>> Tokenizer::encode_around(std::string_view text,
                                                      std::span<const ByteSpan> literal,
                                                      EncodeOptions options) const {
  if (text.size() > kLongestText || utf8_valid_prefix(text) != text.size()) {
    return failure(ErrorCode::kInvalidArgument, "the text is too long or not well-formed UTF-8");
  }
  const auto accept_at = [&](std::size_t at) {
    return [this, at, literal, options](TokenId id, std::size_t length) {
      if (!is_control(id)) return true;
      return options.parse_special && !overlaps(literal, at, at + length);
    };
  };
  std::vector<TokenId> out;
  out.reserve(text.size() / 3 + 2);
  const bool has_bos = core_->add_bos && !text.empty() &&
                       core_->specials.longest_at(text, 0, accept_at(0)).id == *core_->bos;
  if (options.add_special && core_->add_bos && !has_bos) out.push_back(*core_->bos);

  const bool search = options.parse_special || core_->user_defined_in_specials;
  bool after_control = true;  // the start counts as one
  std::size_t begin = 0;
  for (std::size_t at = 0; search && at < text.size();) {
    const auto match = core_->specials.longest_at(text, at, accept_at(at));
    if (match.id < 0) {
      ++at;
      continue;
    }
    auto plain = core_->encode_plain(text.substr(begin, at - begin), after_control, out);
    if (!plain) return std::unexpected(plain.error());
    out.push_back(match.id);
    after_control = is_control(match.id);
    at += match.length;
    begin = at;
  }
  auto plain = core_->encode_plain(text.substr(begin), after_control, out);
  if (!plain) return std::unexpected(plain.error());
  if (options.add_special && core_->add_eos) out.push_back(*core_->eos);
  return out;
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  Detokenizer detokenizer(*this, options);
  std::string out;
  for (const TokenId id : ids) {
    if (!is_valid(id)) {
      return failure(ErrorCode::kInvalidArgument, "token id " + std::to_string(id) +
                                                      " is outside the vocabulary of " +
                                                      std::to_string(size()) + " tokens");
    }
    detokenizer.push(id, out);
  }
  out += detokenizer.flush();
  return out;
}

std::size_t Tokenizer::size() const { return core_->kinds.size(); }
bool Tokenizer::is_valid(TokenId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < size();
}
bool Tokenizer::is_control(TokenId id) const {
  return core_->is_control[static_cast<std::size_t>(id)];
}
std::string_view Tokenizer::token_bytes(TokenId id) const { return core_->bytes(id); }
std::string_view Tokenizer::piece(TokenId id) const { return core_->pieces(id); }
bool Tokenizer::is_end_of_generation(TokenId id) const {
  return core_->is_end[static_cast<std::size_t>(id)];
}
std::span<const TokenId> Tokenizer::end_of_generation_ids() const {
  return core_->end_of_generation;
}
std::optional<TokenId> Tokenizer::bos() const { return core_->bos; }
std::optional<TokenId> Tokenizer::eos() const { return core_->eos; }
bool Tokenizer::adds_bos() const { return core_->add_bos; }
bool Tokenizer::adds_eos() const { return core_->add_eos; }
bool Tokenizer::adds_space_prefix() const { return core_->add_space_prefix; }
std::span<const TokenId> Tokenizer::control_ids() const { return core_->controls; }

std::optional<TokenId> Tokenizer::control_at(std::string_view text, std::size_t offset) const {
  const auto match = core_->specials.longest_at(
      text, offset, [this](TokenId id, std::size_t) { return is_control(id); });
  if (match.id < 0) return std::nullopt;
  return match.id;
}

std::size_t Tokenizer::open_control_suffix(std::string_view text) const {
  return core_->specials.open_suffix(text);
}

}  // namespace paternoster::text
