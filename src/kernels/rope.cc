#include "kernels/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace paternoster::kernels {
namespace {

// YaRN (Peng et al., "YaRN: Efficient Context Window Extension of Large Language Models"): the pair
// at which a frequency turns `rotations` times within the original context.
double yarn_pair(double rotations, std::size_t dims, double base, double original_context) {
  const double wavelengths = original_context / (rotations * 2.0 * std::numbers::pi);
  return static_cast<double>(dims) * std::log(wavelengths) / (2.0 * std::log(base));
}

// 1 where a pair keeps its own frequency, 0 where it is slowed by the full factor.
double yarn_share(double pair, double low, double high) {
  return 1.0 - std::clamp((pair - low) / std::max(0.001, high - low), 0.0, 1.0);
}

}  // namespace

RopeFrequencies rope_frequencies(std::size_t dims, double base, const RopeScaling& scaling) {
  const std::size_t pairs = dims / 2;
  PATERNOSTER_CHECK(dims % 2 == 0);
  PATERNOSTER_CHECK(scaling.factors.empty() || scaling.factors.size() == pairs);
  RopeFrequencies out;
  out.magnitude = scaling.attention_factor;
  const double slowed = 1.0 / scaling.linear_factor;
  double low = 0.0, high = 0.0;
  if (scaling.yarn) {
    const double context = scaling.yarn_original_context;
    const double last = static_cast<double>(dims) - 1.0;
    low = std::max(0.0, std::floor(yarn_pair(scaling.yarn_beta_fast, dims, base, context)));
    high = std::min(last, std::ceil(yarn_pair(scaling.yarn_beta_slow, dims, base, context)));
    if (scaling.yarn_extrapolation != 0.0) out.magnitude *= 1.0 + 0.1 * std::log(scaling.linear_factor);
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    double own = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dims));
    if (!scaling.factors.empty()) {
      own /= static_cast<double>(scaling.factors[i]);
    }
    const double share = scaling.yarn ? yarn_share(static_cast<double>(i), low, high) : 0.0;
    const double kept = share * scaling.yarn_extrapolation;
    out.per_position.push_back(own * slowed * (1.0 - kept) + own * kept);
  }
  return out;
}

void rope_angles(const RopeFrequencies& frequencies, std::size_t position, float* angles) {
  const std::size_t pairs = frequencies.per_position.size();
  for (std::size_t i = 0; i < pairs; ++i) {
    const double angle = static_cast<double>(position) * frequencies.per_position[i];
    angles[i] = static_cast<float>(std::cos(angle) * frequencies.magnitude);
    angles[pairs + i] = static_cast<float>(std::sin(angle) * frequencies.magnitude);
  }
}

void rope(RopePairs pairs, const float* angles, std::size_t dims, std::size_t heads,
          std::size_t head_dim, float* values) {
  PATERNOSTER_CHECK(dims % 2 == 0 && dims <= head_dim);
  kernels().rope(RopeCall{pairs == RopePairs::kHalves, angles, dims, heads, head_dim, values});
}

}  // namespace paternoster::kernels
