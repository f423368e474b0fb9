// Whatever the bytes: a model or one line, no crash, no memory beyond a multiple of the input.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "model/dequantize.h"
#include "model/model.h"

namespace {

using namespace paternoster;
using namespace paternoster::model;

// Touches what a driver would read, so that a span that lies is found out.
void read_everything(const Model& loaded) {
  std::vector<float> row;
  for (const TensorInfo& tensor : loaded.file.tensors()) {
    row.resize(tensor.columns());
    const std::size_t row_bytes = tensor.bytes.size() / tensor.rows();
    dequantize(tensor.type, tensor.bytes.first(row_bytes), row);
    dequantize(tensor.type, tensor.bytes.last(row_bytes), row);
  }
  std::size_t letters = loaded.tokenizer.chat_template.size();
  for (const std::string_view token : loaded.tokenizer.tokens) letters += token.size();
  for (const std::string_view merge : loaded.tokenizer.merges) letters += merge.size();
  if (letters == ~std::size_t{0}) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Result<GgufFile> file = GgufFile::from_memory(std::as_bytes(std::span(data, size)));
  if (!file) {
    if (file.error().message.empty() || file.error().message.find('\n') != std::string::npos) {
      std::abort();
    }
    return 0;
  }
  const Result<Model> loaded = load_model(std::move(*file));
  if (loaded) {
    read_everything(*loaded);
  } else if (loaded.error().message.find('\n') != std::string::npos) {
    std::abort();
  }
  return 0;
}
