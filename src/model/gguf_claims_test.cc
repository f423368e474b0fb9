// What a file may claim and what we answer: one row a lie, each refused with a line that names the
// place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "model/gguf_builder.h"
#include "model/model.h"

namespace paternoster::model {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Result<Model> load(const std::string& bytes) {
  Result<GgufFile> file = GgufFile::from_memory(std::as_bytes(std::span(bytes)));
  if (!file) return std::unexpected(file.error());
  return load_model(std::move(*file));
}

struct Lie {
  std::string claim;  // letters only: it names the test
  std::string answer;  // a part of the error's line
  std::function<void(GgufBuilder&)> tell;
};

void PrintTo(const Lie& lie, std::ostream* out) { *out << lie.claim; }

using B = GgufBuilder;
using enum ValueType;

const std::vector<Lie>& lies() {
  static const std::vector<Lie> all = {
      // The preamble.
      {"WrongMagic", "is not a GGUF file", [](B& f) { f.magic = 0x12345678; }},
      {"VersionOne", "is GGUF version 1", [](B& f) { f.version = 1; }},
      {"VersionFour", "is GGUF version 4", [](B& f) { f.version = 4; }},
      {"BigEndian", "big-endian", [](B& f) { f.version = 0x03000000; }},
      {"HugeTensorCount", "tensor count 18446744073709551615",
       [](B& f) { f.tensor_count = ~std::uint64_t{0}; }},
      {"TensorCountBeyondFile", "tensor count 40000", [](B& f) { f.tensor_count = 40000; }},
      {"HugeKeyCount", "key count 9223372036854775808",
       [](B& f) { f.key_count = std::uint64_t{1} << 63; }},
      {"OneKeyMoreThanThereIs", "", [](B& f) { f.key_count = f.keys.size() + 1; }},
      {"OneTensorMoreThanThereIs", "tensor", [](B& f) { f.tensor_count = f.tensors.size() + 1; }},
      // Keys.
      {"EmptyKey", "a key has 1 to 65535 bytes", [](B& f) { f.u32("", 1); }},
      {"LongKey", "a key has 1 to 65535 bytes", [](B& f) { f.u32(std::string(70000, 'k'), 1); }},
      {"ControlBytesInKeyAreEscaped", "key 'a\\x0a\\x1bb'",
       [](B& f) { f.set("a\n\x1b" "b", ValueType{99}, ""); }},
      {"UnknownValueType", "key 'x': unknown value type 13",
       [](B& f) { f.set("x", ValueType{13}, "abcd"); }},
      {"DuplicateKey", "key 'llama.block_count': stands twice",
       [](B& f) { f.keys.push_back({"llama.block_count", kUint32, B::packed(1u)}); }},
      {"StringBeyondFile", "key 'x': string: the file ends",
       [](B& f) { f.keys.insert(f.keys.begin(), {"x", kString, B::packed(std::uint64_t{1} << 40)}); }},
      {"StringLengthWraps", "key 'x': string: the file ends",
       [](B& f) { f.keys.insert(f.keys.begin(), {"x", kString, B::packed(~std::uint64_t{0} - 7)}); }},
      {"ArrayBeyondFile", "key 'x': array of 1099511627776 values",
       [](B& f) {
         f.set("x", kArray, B::packed(4u) + B::packed(std::uint64_t{1} << 40));
       }},
      {"ArrayBytesWrap", "key 'x': array of 4611686018427387905 values",
       [](B& f) {
         f.set("x", kArray, B::packed(4u) + B::packed((std::uint64_t{1} << 62) + 1));
       }},
      {"StringsBeyondFile", "key 'x': array of 1073741824 strings",
       [](B& f) {
         f.set("x", kArray, B::packed(8u) + B::packed(std::uint64_t{1} << 30));
       }},
      {"NestedArray", "key 'x': array of unsupported type 9",
       [](B& f) { f.set("x", kArray, B::packed(9u) + B::packed(std::uint64_t{1})); }},
      {"BooleanThatIsTwo", "key 'x': a boolean is neither 0 nor 1",
       [](B& f) { f.boolean("x", 2); }},
      {"BooleanInArrayThatIsTwo", "key 'x': a boolean is neither",
       [](B& f) { f.array<std::uint8_t>("x", kBool, {0, 1, 7}); }},
      {"AlignmentZero", "key 'general.alignment': 0", [](B& f) { f.u32("general.alignment", 0); }},
      {"AlignmentNoPowerOfTwo", "key 'general.alignment': 48",
       [](B& f) { f.u32("general.alignment", 48); }},
      {"AlignmentHuge", "key 'general.alignment': 2147483648",
       [](B& f) { f.u32("general.alignment", 1u << 31); }},
      {"AlignmentOfOtherType", "key 'general.alignment': must be a u32",
       [](B& f) { f.string("general.alignment", "32"); }},
      // Tensors.
      {"TensorWithoutName", "a tensor's name has 1 to 255 bytes",
       [](B& f) { f.tensors[0].name = ""; }},
      {"TensorWithLongName", "a tensor's name has 1 to 255 bytes",
       [](B& f) { f.tensors[0].name = std::string(300, 't'); }},
      {"DuplicateTensor", "tensor 'output_norm.weight': stands twice",
       [](B& f) { f.tensor("output_norm.weight", {8}); }},
      {"TensorWithoutDimensions", "0 dimensions", [](B& f) { f.tensors[0].shape = {}; }},
      {"TensorOfFiveDimensions", "5 dimensions",
       [](B& f) { f.tensors[0].shape = {1, 1, 1, 1, 1}; }},
      {"DimensionZero", "tensor 'token_embd.weight': a dimension is 0",
       [](B& f) { f.tensors[0].shape = {8, 0}; }},
      {"ShapeThatWraps", "more elements than the file",
       [](B& f) { f.tensors[0].shape = {std::uint64_t{1} << 32, std::uint64_t{1} << 32}; }},
      {"ShapeThatWrapsToLittle", "more elements than the file",
       [](B& f) { f.tensors[0].shape = {8, std::uint64_t{1} << 61}; }},
      {"UnsupportedTensorType", "type IQ4_XS (23) is not supported",
       [](B& f) { f.tensors[0].type = 23; }},
      {"TensorTypeNobodyGave", "type unknown (4000000000) is not supported",
       [](B& f) { f.tensors[0].type = 4000000000u; }},
      {"RowsOfBrokenBlocks", "rows of 8 elements are no whole number of Q8_0 blocks",
       [](B& f) { f.tensors[0].type = 8; }},
      {"OffsetNotAligned", "offset 4 is not aligned to 32", [](B& f) { f.tensors[0].offset = 4; }},
      {"OffsetBeyondFile", "lie outside the file's data",
       [](B& f) { f.tensors[0].offset = std::uint64_t{1} << 40; }},
      {"OffsetThatWraps", "lie outside the file's data",
       [](B& f) { f.tensors[0].offset = ~std::uint64_t{31}; }},
      {"TensorsThatOverlap", "overlaps tensor",
       [](B& f) { f.at("blk.0.attn_q.weight").offset = 0; }},
      // The configuration.
      {"NoArchitecture", "key 'general.architecture': is missing",
       [](B& f) { f.remove("general.architecture"); }},
      {"UnknownArchitecture", "'mamba' is not supported",
       [](B& f) { f.string("general.architecture", "mamba"); }},
      {"ArchitectureThatIsANumber", "key 'general.architecture': is u32, expected a string",
       [](B& f) { f.u32("general.architecture", 1); }},
      {"NoLayers", "key 'llama.block_count': 0 is not", [](B& f) { f.u32("llama.block_count", 0); }},
      {"FourBillionLayers", "key 'llama.block_count': 4294967295",
       [](B& f) { f.u32("llama.block_count", 0xffffffff); }},
      {"LayersMissing", "key 'llama.block_count': is missing",
       [](B& f) { f.remove("llama.block_count"); }},
      {"LayersThatAreText", "key 'llama.block_count': is string, expected an integer",
       [](B& f) { f.string("llama.block_count", "one"); }},
      {"NegativeCount", "key 'llama.embedding_length': value out of range",
       [](B& f) { f.set("llama.embedding_length", kInt32, B::packed(-8)); }},
      {"ZeroHeads", "key 'llama.attention.head_count': 0 is not",
       [](B& f) { f.u32("llama.attention.head_count", 0); }},
      {"ZeroKeyValueHeads", "key 'llama.attention.head_count_kv': 0 is not",
       [](B& f) { f.u32("llama.attention.head_count_kv", 0); }},
      {"HeadsThatDoNotDivide", "2 heads do not divide among 3",
       [](B& f) { f.u32("llama.attention.head_count_kv", 3); }},
      {"EmbeddingThatDoesNotDivide", "8 embedding elements do not divide into 3 heads",
       [](B& f) { f.u32("llama.attention.head_count", 3); }},
      {"HeadsThatDifferByLayer", "has 2 entries for 1 layers",
       [](B& f) { f.array<std::int32_t>("llama.attention.head_count_kv", kInt32, {1, 1}); }},
      {"EpsilonMissing", "epsilon': is missing",
       [](B& f) { f.remove("llama.attention.layer_norm_rms_epsilon"); }},
      {"EpsilonNan", "epsilon': nan is not a number",
       [](B& f) { f.f32("llama.attention.layer_norm_rms_epsilon", kNan); }},
      {"EpsilonNegative", "epsilon': -1",
       [](B& f) { f.f32("llama.attention.layer_norm_rms_epsilon", -1); }},
      {"EpsilonZero", "epsilon': 0",
       [](B& f) { f.f32("llama.attention.layer_norm_rms_epsilon", 0); }},
      {"RopeBaseInfinite", "key 'llama.rope.freq_base': inf",
       [](B& f) { f.f32("llama.rope.freq_base", kInfinity); }},
      {"RopeBaseTooLargeForFloat", "key 'llama.rope.freq_base': value out of range",
       [](B& f) { f.set("llama.rope.freq_base", kFloat64, B::packed(1e300)); }},
      {"RopeDimensionsOdd", "3 is odd", [](B& f) { f.u32("llama.rope.dimension_count", 3); }},
      {"RopeDimensionsBeyondHead", "key 'llama.rope.dimension_count': 6",
       [](B& f) { f.u32("llama.rope.dimension_count", 6); }},
      {"RopeScalingUnknown", "'longrope' is not supported",
       [](B& f) { f.string("llama.rope.scaling.type", "longrope"); }},
      {"RopeFactorNan", "key 'llama.rope.scaling.factor': nan",
       [](B& f) { f.f32("llama.rope.scaling.factor", kNan); }},
      {"Experts", "mixtures of experts", [](B& f) { f.u32("llama.expert_count", 8); }},
      {"SoftCapping", "key 'llama.attn_logit_softcapping'",
       [](B& f) { f.f32("llama.attn_logit_softcapping", 30); }},
      // The weights.
      {"TensorMissing", "tensor 'blk.0.attn_k.weight': is missing",
       [](B& f) { f.remove_tensor("blk.0.attn_k.weight"); }},
      {"LayerMissing", "tensor 'blk.1.attn_norm.weight': is missing",
       [](B& f) { f.u32("llama.block_count", 2); }},
      {"TensorTransposed", "its shape is 8x16, the model needs 16x8",
       [](B& f) { f.at("blk.0.ffn_down.weight").shape = {8, 16}; }},
      {"TensorOfThreeDimensions", "its shape is 8x4x2, the model needs 8x8",
       [](B& f) { f.at("blk.0.attn_q.weight").shape = {8, 4, 2}; }},
      {"EmbeddingOfOtherVocabulary", "tensor 'token_embd.weight': its shape is 8x6",
       [](B& f) { f.at("token_embd.weight").shape = {8, 6}; }},
      {"TensorOfNoUse", "tensor 'blk.0.secret.weight': has no place",
       [](B& f) { f.tensor("blk.0.secret.weight", {8}); }},
      {"RopeFactorsOfWrongLength", "tensor 'rope_freqs.weight': its shape is 3",
       [](B& f) { f.tensor("rope_freqs.weight", {3}); }},
      {"RopeFactorsOfZero", "tensor 'rope_freqs.weight': entry 0 is not a positive",
       [](B& f) { f.tensor("rope_freqs.weight", {2}); }},
      // The tokenizer.
      {"NoTokenizer", "key 'tokenizer.ggml.model': is missing",
       [](B& f) { f.remove("tokenizer.ggml.model"); }},
      {"NoTokens", "key 'tokenizer.ggml.tokens': 0 tokens",
       [](B& f) { f.strings("tokenizer.ggml.tokens", {}); }},
      {"ScoresShort", "key 'tokenizer.ggml.scores': has 2 entries for 5 tokens",
       [](B& f) { f.array<float>("tokenizer.ggml.scores", kFloat32, {0, 0}); }},
      {"ScoreNan", "the score of token 3 is not finite",
       [](B& f) { f.array<float>("tokenizer.ggml.scores", kFloat32, {0, 0, 0, kNan, 0}); }},
      {"TypesLong", "key 'tokenizer.ggml.token_type': has 6 entries",
       [](B& f) {
         f.array<std::int32_t>("tokenizer.ggml.token_type", kInt32, {3, 1, 1, 1, 1, 1});
       }},
      {"TypeSeven", "token 4 has type 7",
       [](B& f) { f.array<std::int32_t>("tokenizer.ggml.token_type", kInt32, {3, 1, 1, 1, 7}); }},
      {"TypesOfFloats", "is array of f32, expected an array of i32",
       [](B& f) { f.array<float>("tokenizer.ggml.token_type", kFloat32, {3, 1, 1, 1, 1}); }},
      {"BosOutsideVocabulary", "id 5 is outside the vocabulary of 5",
       [](B& f) { f.u32("tokenizer.ggml.bos_token_id", 5); }},
      {"EosOutsideVocabulary", "key 'tokenizer.ggml.eos_token_id'",
       [](B& f) { f.u32("tokenizer.ggml.eos_token_id", 0xfffffffe); }},
      {"MergeOfOnePiece", "merge 0 'ab' is not two pieces",
       [](B& f) { f.strings("tokenizer.ggml.merges", {"ab"}); }},
      {"TemplateThatIsANumber", "key 'tokenizer.chat_template': is u32, expected a string",
       [](B& f) { f.u32("tokenizer.chat_template", 1); }},
      {"PartOfASplit", "key 'split.count': is one part", [](B& f) { f.u32("split.count", 3); }},
  };
  return all;
}

class GgufClaims : public testing::TestWithParam<Lie> {};

TEST_P(GgufClaims, IsRefusedWithALineThatNamesThePlace) {
  GgufBuilder file = tiny_llama();
  GetParam().tell(file);
  const Result<Model> model = load(file.bytes());
  ASSERT_FALSE(model.has_value());
  EXPECT_THAT(model.error().message, testing::HasSubstr(GetParam().answer));
  EXPECT_THAT(model.error().message, testing::Not(testing::HasSubstr("\n")));
  EXPECT_LT(model.error().message.size(), 300u);
}

INSTANTIATE_TEST_SUITE_P(Every, GgufClaims, testing::ValuesIn(lies()),
                         [](const auto& row) { return row.param.claim; });

TEST(Gguf, TheUnchangedFileIsAccepted) {
  const std::string bytes = tiny_llama().bytes();
  const Result<Model> model = load(bytes);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(model->config.vocabulary, 5u);
  EXPECT_EQ(model->tokenizer.tokens[3], "ab");
}

TEST(Gguf, VersionTwoReadsAlike) {
  GgufBuilder file = tiny_llama();
  file.version = 2;
  const std::string bytes = file.bytes();
  EXPECT_TRUE(load(bytes).has_value());
}

TEST(Gguf, EveryTruncationIsRefused) {
  const std::string bytes = tiny_llama().bytes();
  for (std::size_t length = 0; length < bytes.size() - 32; ++length) {
    const std::string shorter = bytes.substr(0, length);
    const Result<Model> model = load(shorter);
    ASSERT_FALSE(model.has_value()) << length;
    ASSERT_FALSE(model.error().message.empty());
  }
}

TEST(Gguf, NoSingleByteChangedCrashes) {
  const std::string bytes = tiny_llama().bytes();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      (void)load(changed);
    }
  }
}

TEST(Gguf, AnAlignmentOfSixtyFourMovesTheData) {
  GgufBuilder file = tiny_llama();
  file.alignment = 64;
  file.u32("general.alignment", 64);
  const std::string bytes = file.bytes();
  const Result<Model> model = load(bytes);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(model->file.alignment(), 64u);
}

TEST(Gguf, IntegersOfEveryWidthAreCounts) {
  GgufBuilder file = tiny_llama();
  file.set("llama.block_count", kUint8, B::packed(std::uint8_t{1}));
  file.set("llama.embedding_length", kInt64, B::packed(std::int64_t{8}));
  file.set("llama.attention.layer_norm_rms_epsilon", kFloat64, B::packed(1e-5));
  const std::string bytes = file.bytes();
  const Result<Model> model = load(bytes);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(model->config.norm_epsilon, 1e-5f);
}

}  // namespace
}  // namespace paternoster::model
