#include "kernels/vocabulary.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace paternoster::kernels {
namespace {

constexpr std::size_t kStretch = 1024;  // logits that are scanned for one maximum

bool better(const ScoredToken& a, const ScoredToken& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

}  // namespace

std::int32_t argmax(std::span<const float> logits) {
  PATERNOSTER_CHECK(!logits.empty());
  float best = -INFINITY;
  std::size_t stretch = 0;
  for (std::size_t i = 0; i < logits.size(); i += kStretch) {
    const std::size_t count = std::min(kStretch, logits.size() - i);
    const float most = kernels().maximum(logits.data() + i, count);
    if (most > best) {
      best = most;
      stretch = i;
    }
  }
  for (std::size_t i = stretch; i < logits.size(); ++i) {
    if (logits[i] == best) {
      return static_cast<std::int32_t>(i);
    }
  }
  return 0;
}

void top_k(std::span<const float> logits, std::size_t k, std::vector<ScoredToken>& best) {
  best.clear();
  k = std::min(k, logits.size());
  if (k == 0) {
    return;
  }
  // A heap whose front is the worst of the best. Only a strictly larger logit can enter once it is
  // full, because tokens come in rising order, and of equals the lower is better.
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (best.size() == k) {
      i += kernels().first_above(logits.data() + i, logits.size() - i, best.front().logit);
      if (i == logits.size()) {
        break;
      }
      std::pop_heap(best.begin(), best.end(), better);
      best.pop_back();
    } else if (std::isnan(logits[i])) {
      continue;
    }
    best.push_back({static_cast<std::int32_t>(i), logits[i]});
    std::push_heap(best.begin(), best.end(), better);
  }
  std::sort_heap(best.begin(), best.end(), better);
}

float log_sum_exp(std::span<const float> logits) {
  PATERNOSTER_CHECK(!logits.empty());
  const float most = kernels().maximum(logits.data(), logits.size());
  const float total = kernels().exponentials(logits.data(), logits.size(), most, 1.0f, nullptr);
  return most + static_cast<float>(std::log(static_cast<double>(total)));
}

float exponentials(std::span<const float> logits, float largest, float inverse_temperature,
                   float* out) {
  return kernels().exponentials(logits.data(), logits.size(), largest, inverse_temperature, out);
}

}  // namespace paternoster::kernels
