// For this layer's tests alone: the two test models, or a skip where they have not been fetched.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "engine/loaded_model.h"
#include "engine/thread_pool.h"
#include "model/model_path.h"

namespace paternoster::engine::models_for_tests {

inline std::filesystem::path path_of(const char* name) {
  const auto path = model::resolve_model(name);
  return path ? *path : std::filesystem::path();
}

// One copy a process: loading costs more than most tests.
inline ThreadPool& pool() {
  static ThreadPool two(2);
  return two;
}

inline const LoadedModel* loaded(const char* name) {
  static std::map<std::string, LoadedModel> models;
  const auto known = models.find(name);
  if (known != models.end()) return &known->second;
  const std::filesystem::path path = path_of(name);
  if (path.empty()) return nullptr;
  auto model = load(path, pool());
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().message);
  if (!model) return nullptr;
  return &models.emplace(name, std::move(*model)).first->second;
}

}  // namespace paternoster::engine::models_for_tests

#define PATERNOSTER_NEEDS_MODEL(variable, name)                                            \
  const ::paternoster::engine::LoadedModel* variable =                                     \
      ::paternoster::engine::models_for_tests::loaded(name);                                 \
  if (variable == nullptr) GTEST_SKIP() << name << " is not in the cache: `make test` fetches it"
