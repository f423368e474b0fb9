// A model file opened, understood and checked: everything a driver needs, in one call.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/config.h"
#include "model/gguf.h"
#include "model/tokenizer_metadata.h"
#include "model/weights.h"

namespace paternoster::model {

// The views in `weights` and `tokenizer` point into `file`; moving a Model keeps them valid.
struct Model {
  GgufFile file;
  ModelConfig config;
  ModelWeights weights;
  TokenizerMetadata tokenizer;
};

// Opens, validates and gathers; errors name the file.
Result<Model> load_model(const std::filesystem::path& path);

// The same for a file that is already open.
Result<Model> load_model(GgufFile file);

}  // namespace paternoster::model
