#include "cli/inspect.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "model/model_path.h"
#include "text/utf8.h"

namespace paternoster::cli {
namespace {

using model::Model;
using model::ModelConfig;
using model::RopeScaling;

constexpr std::uint32_t kHalfBytes = 2;

std::string text_of(const model::GgufFile& file, std::string_view key) {
  const auto value = file.string(key);
  return value && *value ? text::repair_utf8(**value) : std::string();
}

std::vector<TypeCount> count_types(const model::GgufFile& file) {
  std::vector<TypeCount> counts;
  for (const model::TensorInfo& tensor : file.tensors()) {
    const std::string_view type = model::name(tensor.type);
    auto found = std::ranges::find(counts, type, &TypeCount::type);
    if (found == counts.end()) found = counts.insert(counts.end(), TypeCount{type});
    ++found->tensors;
    found->parameters += tensor.elements();
    found->bytes += tensor.bytes.size();
  }
  std::ranges::sort(counts, std::ranges::greater(), &TypeCount::bytes);
  return counts;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

// 134515008 as 134,515,008.
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

// A file's text on one line of a terminal: no control bytes.
std::string plain(std::string text) {
  for (char& letter : text) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = '?';
  }
  return text.substr(0, 200);
}

std::string tokenizer_kind(const model::TokenizerMetadata& tokenizer) {
  if (tokenizer.model == "gpt2") return "byte-level BPE";
  if (tokenizer.model == "llama") return "SentencePiece BPE";
  return "unknown kind";
}

std::string_view scaling_name(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::kNone: return "none";
    case RopeScaling::kLinear: return "linear";
    case RopeScaling::kYarn: return "yarn";
  }
  return "none";
}

std::string rope_line(const Model& model) {
  const model::RopeConfig& rope = model.config.rope;
  std::string line = fmt::format("base {:g}", rope.base);
  if (model.config.sliding_window > 0 && rope.local_base != rope.base) {
    line += fmt::format(" (sliding layers {:g})", rope.local_base);
  }
  line += fmt::format(", {} of {} dimensions", rope.dimensions, model.config.head_dim_k);
  if (rope.scaling != RopeScaling::kNone) {
    line += fmt::format(", {} scaling by {:g}", scaling_name(rope.scaling), rope.factor);
  }
  if (model.weights.rope_factors.present()) line += ", factors by pair";
  return line;
}

std::string sliding_line(const ModelConfig& config) {
  const auto layers = std::ranges::count(config.layer_is_sliding, true);
  return fmt::format("{} tokens in {} of {} layers", config.sliding_window, layers, config.layers);
}

std::string_view yes_no(bool value) { return value ? "yes" : "no"; }

std::optional<std::string> token_text(const Model& model, std::optional<TokenId> id) {
  if (!id) return std::nullopt;
  const std::string text(model.tokenizer.tokens[static_cast<std::size_t>(*id)]);
  return fmt::format("{} {}", *id, plain(text));
}

std::string tables(const Inspection& inspection) {
  std::string text = "\nType      Tensors      Parameters           Bytes\n";
  for (const TypeCount& count : inspection.types) {
    text += fmt::format("{:<6} {:>10} {:>15} {:>15}\n", count.type, count.tensors,
                        grouped(count.parameters), grouped(count.bytes));
  }
  text += "\nContext       Keys and values   With the weights   (one sequence, f16)\n";
  for (const ContextNeed& need : inspection.contexts) {
    text += fmt::format("{:>7} {:>21} {:>18}\n", need.tokens, human_bytes(need.kv_bytes),
                        human_bytes(need.total_bytes));
  }
  return text;
}

boost::json::object json_config(const Model& model) {
  const ModelConfig& config = model.config;
  boost::json::object object = {
      {"layers", config.layers},
      {"embedding", config.embedding},
      {"heads", config.heads},
      {"kv_heads", config.kv_heads},
      {"head_dim_k", config.head_dim_k},
      {"head_dim_v", config.head_dim_v},
      {"feed_forward", config.feed_forward},
      {"vocabulary", config.vocabulary},
      {"context_length", config.context_length},
      {"tied_output", config.tied_output},
      {"sliding_window", config.sliding_window},
      {"sliding_layers", std::ranges::count(config.layer_is_sliding, true)},
  };
  object["rope"] = {{"base", config.rope.base},
                    {"local_base", config.rope.local_base},
                    {"dimensions", config.rope.dimensions},
                    {"scaling", scaling_name(config.rope.scaling)},
                    {"factor", config.rope.factor},
                    {"pair_factors", model.weights.rope_factors.present()}};
  return object;
}

boost::json::object json_tokenizer(const Model& model) {
  const model::TokenizerMetadata& tokenizer = model.tokenizer;
  const auto id = [](std::optional<TokenId> value) {
    return value ? boost::json::value(*value) : boost::json::value(nullptr);
  };
  return {{"model", text::repair_utf8(tokenizer.model)}, {"pre", text::repair_utf8(tokenizer.pre)},
          {"kind", tokenizer_kind(tokenizer)}, {"tokens", tokenizer.tokens.size()},
          {"merges", tokenizer.merges.size()}, {"bos", id(tokenizer.bos)},
          {"eos", id(tokenizer.eos)},       {"chat_template", !tokenizer.chat_template.empty()}};
}

}  // namespace

Inspection inspect_model(const Model& model) {
  Inspection inspection;
  inspection.name = text_of(model.file, "general.name");
  inspection.licence = text_of(model.file, "general.license");
  inspection.parameters = parameter_count(model.file);
  inspection.types = count_types(model.file);
  for (const TypeCount& count : inspection.types) inspection.tensor_bytes += count.bytes;
  inspection.kv_bytes_per_token = model.config.kv_bytes_per_token(kHalfBytes);
  const std::uint64_t trained = model.config.context_length;
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t tokens = 1024; tokens < trained; tokens *= 2) lengths.push_back(tokens);
  lengths.push_back(trained);
  for (const std::uint64_t tokens : lengths) {
    const std::uint64_t kv_bytes = tokens * inspection.kv_bytes_per_token;
    inspection.contexts.push_back({tokens, kv_bytes, kv_bytes + inspection.tensor_bytes});
  }
  return inspection;
}

std::string describe(const Model& model, const Inspection& inspection) {
  const ModelConfig& config = model.config;
  const model::TokenizerMetadata& tokenizer = model.tokenizer;
  std::string text;
  const auto line = [&text](std::string_view label, const std::string& value) {
    text += fmt::format("{:<16} {}\n", label, value);
  };
  line("Model", inspection.name.empty() ? "(no name)" : plain(inspection.name));
  line("Licence", inspection.licence.empty() ? "(not stated)" : plain(inspection.licence));
  line("File", fmt::format("GGUF v{}, {} bytes in {} file{}, {} tensors, {} keys",
                           model.file.version(), grouped(model.file.file_bytes()),
                           model.file.parts(), model.file.parts() == 1 ? "" : "s",
                           model.file.tensors().size(), model.file.metadata().size()));
  line("Architecture", std::string(model::name(config.architecture)));
  line("Parameters", grouped(inspection.parameters));
  line("Layers", fmt::format("{}, embedding {}, feed-forward {}", config.layers, config.embedding,
                             config.feed_forward));
  line("Attention", fmt::format("{} heads over {} key-value heads of {}", config.heads,
                                config.kv_heads, config.head_dim_k));
  if (config.sliding_window > 0) line("Sliding window", sliding_line(config));
  line("RoPE", rope_line(model));
  line("Output", config.tied_output ? "tied to the token embedding" : "its own matrix");
  line("Trained context", grouped(config.context_length));
  line("Tokenizer", fmt::format("{} ({}{}{}), {} tokens", tokenizer_kind(tokenizer),
                                plain(std::string(tokenizer.model)),
                                tokenizer.pre.empty() ? "" : ", ",
                                plain(std::string(tokenizer.pre)), grouped(config.vocabulary)));
  if (const auto bos = token_text(model, tokenizer.bos)) line("BOS", *bos);
  if (const auto eos = token_text(model, tokenizer.eos)) line("EOS", *eos);
  line("Chat template", std::string(yes_no(!tokenizer.chat_template.empty())));
  line("KV a token", fmt::format("{} bytes (f16)", grouped(inspection.kv_bytes_per_token)));
  return text + tables(inspection);
}

std::string describe_json(const Model& model, const Inspection& inspection) {
  boost::json::array types, contexts;
  for (const TypeCount& count : inspection.types) {
    types.push_back({{"type", count.type},
                     {"tensors", count.tensors},
                     {"parameters", count.parameters},
                     {"bytes", count.bytes}});
  }
  for (const ContextNeed& need : inspection.contexts) {
    contexts.push_back({{"tokens", need.tokens},
                        {"kv_bytes", need.kv_bytes},
                        {"total_bytes", need.total_bytes}});
  }
  boost::json::object object = {
      {"name", inspection.name},
      {"licence", inspection.licence},
      {"gguf_version", model.file.version()},
      {"file_bytes", model.file.file_bytes()},
      {"files", model.file.parts()},
      {"architecture", model::name(model.config.architecture)},
      {"parameters", inspection.parameters},
      {"tensor_bytes", inspection.tensor_bytes},
      {"kv_bytes_per_token_f16", inspection.kv_bytes_per_token},
  };
  object["config"] = json_config(model);
  object["tokenizer"] = json_tokenizer(model);
  object["types"] = std::move(types);
  object["contexts"] = std::move(contexts);
  return boost::json::serialize(object) + "\n";
}

int inspect(int argc, char** argv) {
  CLI::App app("Print what is in a GGUF model file, and the memory it needs.", argv[0]);
  std::string name;
  bool json = false;
  app.add_option("MODEL", name, "a GGUF file, any part of a split one, or the name of a fetched model")
      ->required();
  app.add_flag("--json", json, "print one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto path = model::resolve_model(name);
  const Result<Model> model = path ? model::load_model(*path) : std::unexpected(path.error());
  if (!model) {
    std::cerr << "paternoster inspect: " << model.error().message << '\n';
    return 1;
  }
  const Inspection inspection = inspect_model(*model);
  std::cout << (json ? describe_json(*model, inspection) : describe(*model, inspection));
  return 0;
}

}  // namespace paternoster::cli
