// What `paternoster inspect` knows of a model file, and its two ways of saying it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace paternoster::cli {

// The memory one sequence of `tokens` needs beside the weights, with 16-bit keys and values.
struct ContextNeed {
  std::uint64_t tokens;
  std::uint64_t kv_bytes;
  std::uint64_t total_bytes;  // with the file's tensors
};

struct TypeCount {
  std::string_view type;
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
};

struct Inspection {
  std::string name;      // general.name
  std::string licence;   // general.license
  std::uint64_t parameters = 0;
  std::uint64_t tensor_bytes = 0;
  std::uint64_t kv_bytes_per_token = 0;
  std::vector<TypeCount> types;        // largest first
  std::vector<ContextNeed> contexts;   // 1024, 2048, ... and the trained length last
};

Inspection inspect_model(const model::Model& model);

// For people, ending in a newline.
std::string describe(const model::Model& model, const Inspection& inspection);

// The same for programs: one JSON object.
std::string describe_json(const model::Model& model, const Inspection& inspection);

}  // namespace paternoster::cli
