// An engine on a machine, as a simulation needs it: a step model, the size of its KV cache, its usual
// limits, and where the numbers are from. Published ones are a table here; `calibrate` writes one as a
// JSON file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cost/step_model.h"

namespace paternoster::cost {

struct Profile {
  std::string name;
  std::string source;  // where the numbers are from, or how they were fitted
  StepModel model;
  std::int64_t kv_tokens = 0;
  std::int32_t max_seqs = 0;
  std::int32_t step_tokens = 0;
  std::int32_t max_len = 0;
  std::int32_t block_size = 16;
  std::string serve = {};  // what a recommended command line begins with: "paternoster serve smollm2:135m"
};

std::span<const Profile> published_profiles();

// A published name, or a calibration file.
Result<Profile> obtain_profile(const std::string& name_or_path);

std::string profile_json(const Profile& profile);
// `name` stands in messages where a path would.
Result<Profile> parse_profile(std::string_view json, const std::string& name);

}  // namespace paternoster::cost
