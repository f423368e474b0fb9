// Profiles that others have published, as data. DistServe's fits: prefill a + b len + c len^2, decode
// a + b context + c batch, in ms, with a second decode line for large batches.
#include "cost/profile.h"

namespace paternoster::cost {
namespace {

constexpr std::int64_t ms_to_ps(double ms) { return static_cast<std::int64_t>(ms * 1e9 + 0.5); }

struct Line {
  double fixed_ms;
  double context_ms;
  double token_ms;
};

// len^2 is twice the pairs of chunk and context that a whole prompt has.
StepModel distserve(double fixed_ms, double token_ms, double square_ms, Line small, Line large) {
  StepModel model;
  const auto terms = [&](const Line& line) {
    return StepTerms{ms_to_ps(line.fixed_ms), ms_to_ps(token_ms), ms_to_ps(line.token_ms),
                     ms_to_ps(line.context_ms), ms_to_ps(2 * square_ms)};
  };
  // A step with a prompt has the prompt's constant, and decodes ride at the small batches' price.
  model.terms = terms({fixed_ms, small.context_ms, small.token_ms});
  model.decode_regimes = {{1, terms(small)}, {96, terms(large)}};
  return model;
}

StepModel four(double fixed_s, double token_s, double context_s, double pair_s) {
  StepModel model;
  const std::int64_t token = ms_to_ps(token_s * 1e3);
  model.terms = {ms_to_ps(fixed_s * 1e3), token, token, ms_to_ps(context_s * 1e3), ms_to_ps(pair_s * 1e3)};
  return model;
}

std::vector<Profile> make_profiles() {
  std::vector<Profile> list;
  list.push_back({.name = "opt-13b-a100-80g",
                  .source = "DistServe (OSDI'24), simdistserve/estimators/profile_data at 82831f1, TP1",
                  .model = distserve(18.10254647, 0.10191226, 7.122264e-6, {19.93470262, 6.2693565e-4, 0.03850698},
                                     {7.16618895, 5.7980004e-4, 0.15831096}),
                  .kv_tokens = 66144,
                  .max_seqs = 256,
                  .step_tokens = 2048,
                  .max_len = 2048});
  list.push_back({.name = "opt-66b-a100-80g-tp4",
                  .source = "DistServe (OSDI'24), simdistserve/estimators/profile_data at 82831f1, TP4",
                  .model = distserve(29.441636, 0.151352181, 8.31745077e-06, {30.7602846, 0.000451947604, 0.0632841958},
                                     {27.4708214, 0.000404684554, 0.124806677}),
                  .kv_tokens = 78496,
                  .max_seqs = 256,
                  .step_tokens = 2048,
                  .max_len = 2048});
  list.push_back({.name = "opt-13b-a100-40g",
                  .source = "opt-13b-a100-80g with what memory bounds x 1.31 (2039 / 1555 GB/s); 12 GB of KV",
                  .model = distserve(18.10254647, 0.10191226, 7.122264e-6,
                                     {1.31 * 19.93470262, 1.31 * 6.2693565e-4, 0.03850698},
                                     {1.31 * 7.16618895, 1.31 * 5.7980004e-4, 0.15831096}),
                  .kv_tokens = 15728,
                  .max_seqs = 256,
                  .step_tokens = 2048,
                  .max_len = 2048});
  list.push_back({.name = "llama-3.1-8b-rtx4090",
                  .source = "fitted to the vLLM 0.19 run in LLMServingSim bench/examples at 5daddb2",
                  .model = four(0.017, 7.5e-5, 1.30e-7, 3.8e-9),
                  .kv_tokens = 41408,
                  .max_seqs = 256,
                  .step_tokens = 2048,
                  .max_len = 32768});
  list.push_back({.name = "llama-3.1-8b-rtxpro6000",
                  .source = "fitted to the vLLM 0.19 run in LLMServingSim bench/examples at 5daddb2",
                  .model = four(0.0099, 4.0e-5, 9.6e-8, 1.4e-10),
                  .kv_tokens = 600000,
                  .max_seqs = 128,
                  .step_tokens = 2048,
                  .max_len = 32768});
  list.push_back({.name = "qwen3-32b-rtxpro6000-tp2",
                  .source = "fitted to the vLLM 0.19 run in LLMServingSim bench/examples at 5daddb2",
                  .model = four(0.0325, 1.3e-4, 1.15e-7, 1.9e-8),
                  .kv_tokens = 400000,
                  .max_seqs = 128,
                  .step_tokens = 2048,
                  .max_len = 32768});
  return list;
}

}  // namespace

std::span<const Profile> published_profiles() {
  static const std::vector<Profile> kProfiles = make_profiles();
  return kProfiles;
}

}  // namespace paternoster::cost
