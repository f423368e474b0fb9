// Draws in a row from one counter-based stream (base/random.h): equal for equal (seed, stream), and
// independent of every other stream, so that changing one part of a workload changes no other. The
// distributions are written out here because the standard library's differ between libraries.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/random.h"

namespace paternoster::workload {

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::uint64_t word() { return random_u64(seed_, stream_, counter_++); }
  // In (0, 1).
  double uniform() { return (static_cast<double>(word() >> 11) + 0.5) * 0x1p-53; }
  // In 0..count-1.
  std::uint64_t below(std::uint64_t count) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(count));
  }
  double exponential() { return -std::log(uniform()); }
  double normal() {
    const double radius = std::sqrt(2 * exponential());
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  // Gamma of this shape, scale 1 (Marsaglia and Tsang, "A simple method for generating gamma
  // variables", 2000).
  double gamma(double shape) {
    if (shape < 1) return gamma(shape + 1) * std::pow(uniform(), 1 / shape);
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    while (true) {
      const double x = normal();
      const double root = 1 + c * x;
      if (root <= 0) continue;
      const double v = root * root * root;
      if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
};

}  // namespace paternoster::workload
