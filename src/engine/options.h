// What the native engine can be told, and the one way to make it: for the commands serve, chat, run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "api/backend.h"
#include "base/result.h"
#include "kernels/kv_type.h"
#include "measure/serving.h"
#include "scheduler/choices.h"
#include "scheduler/presets.h"

namespace paternoster::engine {

struct EngineOptions {
  std::filesystem::path model;            // a file: names are resolved by model/model_path.h
  std::string model_id;                   // the name clients use; empty: the file's own name
  std::int32_t max_seqs = 32;
  std::optional<std::int32_t> max_len;    // none: what the model was trained for, or what fits
  std::optional<std::int64_t> kv_tokens;  // at most one of these two
  std::optional<std::uint64_t> kv_memory_bytes;
  kernels::KvType kv_type = kernels::KvType::kF16;
  std::int32_t step_tokens = 512;
  std::int32_t max_queue = 256;
  std::int32_t threads = 0;               // 0: what affinity and cgroup quota allow
  std::string preset{scheduler::kDefaultPreset};
  bool prefix_cache = true;
  std::optional<std::string> chat_template;  // Jinja source, instead of the file's own
  std::filesystem::path journal;          // every decision is written here; empty: nowhere
  std::filesystem::path step_log;         // every step's load and time (cost/step_log.h); empty: nowhere
  bool check_invariants = false;          // after every step; aborts on the first that is broken
  measure::ServingMetrics* metrics = nullptr;  // must outlive the backend
};

// Loads the model, sizes the cache and starts the engine's threads; logs (spdlog) what it decided and
// why. Ready to answer when it returns. Errors are one line for a person.
Result<std::unique_ptr<api::Backend>> create_native_backend(EngineOptions options);

}  // namespace paternoster::engine
