#include "model/model_path.h"

#include <array>
#include <cstdlib>
#include <string>
#include <system_error>

#include "model/gguf.h"

namespace paternoster::model {
namespace {

constexpr std::array kKnownModels = {
    KnownModel{"smollm2", "smollm2-135m-instruct-q4_1.gguf", 98'362'432,
               "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", "Apache-2.0",
               "SmolLM2 135M Instruct, Q4_1"},
    KnownModel{"gemma3-270m", "gemma3-270m-q4_k_m.gguf", 253'113'024,
               "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
               "Gemma Terms of Use", "Gemma 3 270M base, Q4_K_M (no chat template)"},
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string names() {
  std::string list;
  for (const KnownModel& known : kKnownModels) {
    list += (list.empty() ? "" : ", ") + std::string(known.name);
  }
  return list;
}

}  // namespace

std::span<const KnownModel> known_models() noexcept { return kKnownModels; }

const KnownModel* find_known_model(std::string_view name) noexcept {
  for (const KnownModel& known : kKnownModels) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

Result<std::filesystem::path> models_directory() {
  if (const std::string own = environment("PATERNOSTER_CACHE"); !own.empty()) {
    return std::filesystem::path(own) / "models";
  }
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) {
    return std::filesystem::path(cache) / "paternoster" / "models";
  }
  if (const std::string home = environment("HOME"); !home.empty()) {
    return std::filesystem::path(home) / ".cache" / "paternoster" / "models";
  }
  return failure(ErrorCode::kInvalidArgument,
                 "no place for models: set PATERNOSTER_CACHE to a directory (HOME is not set)");
}

Result<std::filesystem::path> known_model_path(const KnownModel& known) {
  Result<std::filesystem::path> directory = models_directory();
  if (directory) *directory /= known.file_name;
  return directory;
}

Result<std::filesystem::path> resolve_model(std::string_view name_or_path) {
  std::error_code ignored;
  if (const KnownModel* known = find_known_model(name_or_path)) {
    const auto path = known_model_path(*known);
    if (!path || std::filesystem::exists(*path, ignored)) return path;
    return failure(ErrorCode::kNotFound, "model " + quoted_name(name_or_path) +
                                             " is not here yet; fetch it with: paternoster pull " +
                                             std::string(name_or_path));
  }
  const std::filesystem::path path(name_or_path);
  if (std::filesystem::exists(path, ignored)) return path;
  return failure(ErrorCode::kNotFound, "no file " + quoted_name(name_or_path) +
                                           ", and no model of that name (known: " + names() + ")");
}

}  // namespace paternoster::model
