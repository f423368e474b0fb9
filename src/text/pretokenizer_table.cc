#include "text/pretokenizer_table.h"

#include <map>
#include <string>

namespace paternoster::text {
namespace {

// English contractions, and the tail most later expressions share.
#define CONTRACTION R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define SPACE_TAIL R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define SYMBOLS R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)"
// Words that change from upper to lower case once at most. The second forms leave Han out; they are
// written as complements because PCRE2 cannot subtract from a class.
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define UPPER_NOT_HAN R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define LOWER_NOT_HAN R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define LEAD R"([^\r\n\p{L}\p{N}]?)"
#define CASED(upper, lower, end) LEAD upper "*" lower "+" end "|" LEAD upper "+" lower "*" end
#define ASCII_PUNCTUATION R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~])"
#define HAN_KANA R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 = CONTRACTION "|" LEAD R"(\p{L}+|\p{N}{1,3})" SYMBOLS SPACE_TAIL;
constexpr std::string_view kQwen2 = CONTRACTION "|" LEAD R"(\p{L}+|\p{N})" SYMBOLS SPACE_TAIL;
constexpr std::string_view kQwen35 =
    CONTRACTION "|" LEAD R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" SPACE_TAIL;
constexpr std::string_view kJais2 =
    CONTRACTION "|" LEAD R"(\p{L}+|\p{N}{1,3})" SYMBOLS
    R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S))"
    R"(|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view kGpt4o =
    CASED(UPPER, LOWER, CONTRACTION "?") R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" SPACE_TAIL;
constexpr std::string_view kTekken =
    CASED(UPPER, LOWER, "") R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" SPACE_TAIL;
constexpr std::string_view kYoutuScripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+)"
    R"(|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C})"
    R"(\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|)" HAN_KANA;
constexpr std::string_view kYoutu =
    CASED(UPPER, LOWER, CONTRACTION "?") R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" SPACE_TAIL;
constexpr std::string_view kKimi =
    R"(\p{sc:Han}+|)" CASED(UPPER_NOT_HAN, LOWER_NOT_HAN, CONTRACTION "?")
    R"(|\p{N}{1,3})" SYMBOLS SPACE_TAIL;
constexpr std::string_view kDeepSeek3 =
    ASCII_PUNCTUATION R"([A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)"
    SPACE_TAIL;
constexpr std::string_view kSpark =
    ASCII_PUNCTUATION R"([A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)"
    R"(|[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kHanKana = HAN_KANA;
constexpr std::string_view kHanHangul = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kBloom =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";
constexpr std::string_view kSeedCoder =
    CONTRACTION "|" LEAD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+)" SPACE_TAIL;
constexpr std::string_view kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
    R"(|\s*[\r\n]|\s+(?!\S)|\s+)";
// Words joined by single spaces; possessive so that a long run of them takes no memory.
constexpr std::string_view kExaoneMoe =
    CONTRACTION "|" LEAD R"(\p{L}[\p{L}\p{M}]*+(?: \p{L}[\p{L}\p{M}]*+)*+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kMiniCpm5 = CONTRACTION "|" LEAD R"(\p{L}+|\p{N}+)" SYMBOLS SPACE_TAIL;
constexpr std::string_view kTurkish = LEAD R"(\p{L}+|\p{N})" SYMBOLS SPACE_TAIL;
constexpr std::string_view kAfmoeScripts =
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF})"
    R"(\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF})"
    R"(\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)";
constexpr std::string_view kPunctuationFalcon = R"([\p{P}$+<=>^~|`]+)";
constexpr std::string_view kPunctuation = R"([\p{P}$+<=>^~|]+)";
// Cased letters, as the DeepSeek LLM tokenizer lists them.
constexpr std::string_view kDeepSeekLetters =
    R"(\s?[)"
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"
    R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F})"
    R"(\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"
    R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A})"
    R"(\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"
    R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"
    R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"
    R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"
    R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
    R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A})"
    R"(\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
    R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr std::string_view kDeepSeekPunctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kDigits = R"(\p{N}+)";
constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kThreeAsciiDigits = "[0-9][0-9][0-9]";
constexpr std::string_view kNewline = R"([\r\n])";
constexpr std::string_view kLines = R"([^\n]+|\n+)";
// `\s+$`, without trying every start inside a run.
constexpr std::string_view kTrailingSpaces = R"((?<!\s)\s++\z)";

using Table = std::map<std::string_view, WordRule>;

void add(Table& table, std::initializer_list<std::string_view> names, const WordRule& rule) {
  for (const std::string_view name : names) table.emplace(name, rule);
}

void add_early_families(Table& t) {
  add(t, {"", "default"}, {{kPunctuation, kGpt2, kDigits, kThreeAsciiDigits}});
  add(t, {"gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de", "a.x-4.0",
          "mellum", "modern-bert", "jina-v1-en", "jina-v2-code", "roberta-bpe", "exaone4", "mpt",
          "olmo", "jais", "trillion", "granite-docling"},
      {{kGpt2}});
  add(t, {"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b",
          "mellum2"},
      {{kDigit, kGpt2}});
  add(t, {"falcon"}, {{kPunctuationFalcon, kGpt2, kThreeAsciiDigits}});
  add(t, {"deepseek-llm"}, {{kNewline, kDeepSeekLetters, kDeepSeekPunctuation, kTrailingSpaces,
                             kHanHangul, kDigits}});
  add(t, {"deepseek-coder"}, {{kNewline, R"(\s?\p{L}+)", R"(\s?\p{P}+)", kHanHangul, kDigit}});
  add(t, {"poro-chat", "bloom", "gpt3-finnish"}, {{kBloom}});
  add(t, {"viking"}, {{kBloom, kDigit}});
  add(t, {"chameleon"}, {{"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
                          R"([\t\n]|    |  )", kDigit, R"([\p{P}!-/:-@\[-`{-~])", kGpt2},
                         false, true});
}

void add_later_families(Table& t) {
  add(t, {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
          "jina-v5-nano"},
      {{kLlama3}, true, true});
  add(t, {"dbrx", "smaug-bpe", "chatglm-bpe"}, {{kLlama3}});
  add(t, {"glm4", "glm5"}, {{kLlama3}, true});
  add(t, {"jais-2"}, {{kJais2}});
  add(t, {"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan",
          "solar-open", "grok-2"},
      {{kQwen2}});
  add(t, {"qwen35"}, {{kQwen35}});
  add(t, {"laguna"}, {{kLines, kQwen2}});
  add(t, {"ufakzeka"}, {{kTurkish}});
  add(t, {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
      {{kThreeDigits, kHanKana, kDeepSeek3}});
  add(t, {"spark2_5"}, {{kThreeDigits, kHanKana, kSpark, kDigit}});
  add(t, {"youtu"}, {{kYoutuScripts, kYoutu}, true});
  add(t, {"tekken"}, {{kTekken}, true, true});
  add(t, {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {{kGpt4o}});
  add(t, {"granite-embed-multi-97m"}, {{kGpt4o}, true});
  add(t, {"tiny_aya", "cohere2moe"}, {{kWholeDigitsFromRight, kGpt4o}});
  add(t, {"kimi-k2"}, {{kKimi}});
  add(t, {"superbpe"}, {{kDigits, kDigitsFromRight}});
  add(t, {"bailingmoe", "bailingmoe2", "llada-moe"}, {{kBailing}});
  add(t, {"seed-coder"}, {{kSeedCoder}});
  add(t, {"afmoe"}, {{kDigitsFromRight, kAfmoeScripts, kDeepSeek3}});
  add(t, {"exaone-moe"}, {{kExaoneMoe}});
  add(t, {"minicpm5"}, {{kThreeDigits, kMiniCpm5}, true});
}

const Table& table() {
  static const Table rules = [] {
    Table t;
    add_early_families(t);
    add_later_families(t);
    return t;
  }();
  return rules;
}

}  // namespace

Result<const WordRule*> word_rule(std::string_view name) {
  const auto found = table().find(name);
  if (found == table().end()) {
    return failure(ErrorCode::kUnsupported, "tokenizer.ggml.pre: \"" + std::string(name) +
                                                "\" is no pre-tokenizer known here; the text "
                                                "would be cut wrongly without its rule");
  }
  return &found->second;
}

std::vector<std::string_view> word_rule_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, rule] : table()) names.push_back(name);
  return names;
}

bool adds_bos_by_default(std::string_view name) {
  const auto found = table().find(name);
  return found != table().end() && found->second.adds_bos;
}

}  // namespace paternoster::text
