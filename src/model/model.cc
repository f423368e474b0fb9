#include "model/model.h"

#include <utility>

namespace paternoster::model {

Result<Model> load_model(GgufFile file) {
  Result<ModelConfig> config = config_of(file);
  if (!config) return std::unexpected(std::move(config.error()));
  Result<ModelWeights> weights = weights_of(file, *config);
  if (!weights) return std::unexpected(std::move(weights.error()));
  Result<TokenizerMetadata> tokenizer = tokenizer_metadata_of(file);
  if (!tokenizer) return std::unexpected(std::move(tokenizer.error()));
  return Model{std::move(file), std::move(*config), std::move(*weights), std::move(*tokenizer)};
}

Result<Model> load_model(const std::filesystem::path& path) {
  Result<GgufFile> file = GgufFile::open(path);
  if (!file) return std::unexpected(std::move(file.error()));
  Result<Model> model = load_model(std::move(*file));
  if (!model) model.error().message = quoted_path(path) + ": " + model.error().message;
  return model;
}

}  // namespace paternoster::model
