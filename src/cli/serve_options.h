// What `paternoster serve` can be told: by flags, PATERNOSTER_* variables and a TOML file, in this order
// of precedence. Every flag has the same name in all three (--max-seqs, PATERNOSTER_MAX_SEQS, max-seqs).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/choices.h"
#include "scheduler/choice_names.h"
#include "scheduler/choices.h"
#include "kernels/kv_type.h"

namespace paternoster::cli {

struct ServeOptions {
  std::string model;
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::int32_t max_seqs = 32;
  std::optional<std::int32_t> max_len;
  std::optional<std::int64_t> kv_tokens;
  std::optional<std::uint64_t> kv_memory_bytes;
  kernels::KvType kv_type = kernels::KvType::kF16;
  std::int32_t step_tokens = 512;
  std::int32_t max_queue = 256;
  std::int32_t threads = 0;
  std::int32_t instances = 1;
  std::string fleet;  // empty: what goes with the preset
  std::optional<fleet::Placement> placement;
  std::int64_t fleet_interval_ns = 100'000'000;
  std::string preset;
  scheduler::ChoiceNames choices;
  scheduler::Tuning tuning{};
  std::uint64_t swap_bytes = 0;
  std::string swap_file;
  std::string api_key_file;
  bool log_json = false;
  std::string chat_template;  // a file
  std::vector<std::string> served_model_names;
  std::vector<std::string> allowed_hosts;
  std::string journal;
  std::string step_log;
  std::string trace;
  std::int32_t drain_timeout_s = 0;  // 0: no limit
  double stall_timeout_s = 60;
  bool share_prefixes = false;
  bool metrics_tenants = false;
  bool check_invariants = false;
};

// Either options, or the exit code with which the command ends at once (help was asked for: 0; called
// wrongly: 2, and one line on standard error has said why).
struct ParsedServe {
  ServeOptions options;
  std::optional<int> exit_code;
};
ParsedServe parse_serve(int argc, const char* const* argv);

// "512M", "2GiB", "1000000": bytes, units of 1024.
Result<std::uint64_t> parse_bytes(const std::string& text);

}  // namespace paternoster::cli
