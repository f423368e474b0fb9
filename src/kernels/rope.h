// Rotary position embedding. The angles of one position are the same for all heads and all layers
// with equal frequencies, so compute them once a token and step (rope_angles), then rotate.
// Frequencies and angles are computed in double precision; one machine always gives the same bits.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace paternoster::kernels {

enum class RopePairs {
  kAdjacent,  // (0,1), (2,3), ...: GGUF's llama
  kHalves,    // (0,n/2), (1,n/2+1), ...: gemma3, qwen2, qwen3
};

// How a model's positions are stretched beyond what it was trained on.
struct RopeScaling {
  double linear_factor = 1.0;      // positions are divided by it (linear and yarn)
  std::span<const float> factors{};// rope_freqs (Llama 3): each frequency is divided by its factor
  bool yarn = false;
  double yarn_original_context = 0.0;
  double yarn_beta_fast = 32.0;
  double yarn_beta_slow = 1.0;
  // How much of yarn's mix is applied: 1 all of it; 0 none, then every frequency is slowed by the factor.
  double yarn_extrapolation = 1.0;
  double attention_factor = 1.0;   // multiplies cosines and sines; yarn's own factor comes on top, unless
                                   // yarn_extrapolation is 0
};

struct RopeFrequencies {
  std::vector<double> per_position;  // radians a position, one a pair
  double magnitude = 1.0;
};

// dims: how many values of a head are rotated (even). factors is empty or dims / 2 long.
RopeFrequencies rope_frequencies(std::size_t dims, double base, const RopeScaling& scaling = {});

// Fills cosines then sines: angles has dims floats.
void rope_angles(const RopeFrequencies& frequencies, std::size_t position, float* angles);

// Rotates the first dims values of each of `heads` heads of head_dim values, in place.
void rope(RopePairs pairs, const float* angles, std::size_t dims, std::size_t heads,
          std::size_t head_dim, float* values);

}  // namespace paternoster::kernels
