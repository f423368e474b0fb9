// Where models live on disk, and what a model's short name means.
//
// The cache directory is $PATERNOSTER_CACHE, else $XDG_CACHE_HOME/paternoster, else
// ~/.cache/paternoster; models lie in its models/ folder. Nothing here downloads (cli/pull.h does).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/result.h"

namespace paternoster::model {

// A model that can be fetched by name.
struct KnownModel {
  std::string_view name;       // as people type it: "smollm2"
  std::string_view file_name;  // inside models/
  std::uint64_t bytes;
  std::string_view sha256;     // of the file, lower-case hexadecimal
  std::string_view licence;
  std::string_view description;
};

std::span<const KnownModel> known_models() noexcept;
const KnownModel* find_known_model(std::string_view name) noexcept;

// The model when nobody names one.
inline constexpr std::string_view kDefaultModel = "smollm2";

Result<std::filesystem::path> models_directory();

// Where a known model's file is, or will be once fetched.
Result<std::filesystem::path> known_model_path(const KnownModel& known);

// A known name, or a path to a file. kNotFound when neither a file nor a fetched model: the message says
// how to get it.
Result<std::filesystem::path> resolve_model(std::string_view name_or_path);

}  // namespace paternoster::model
