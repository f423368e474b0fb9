// Sixteen lanes in plain C++: the portable path, and what every other instruction set must equal.
// Included inside an instruction set's namespace, which keeps it from any other file.

struct F32 {
  float v[16];
};
struct I32 {
  std::int32_t v[16];
};
struct Bytes64 {
  std::uint8_t v[64];
};

#define PATERNOSTER_LANES(expression)   \
  for (int i = 0; i < 16; ++i) {        \
    r.v[i] = (expression);              \
  }                                     \
  return r

INLINE F32 zero_f32() { return F32{}; }
INLINE F32 broadcast(float x) { F32 r; PATERNOSTER_LANES(x); }
INLINE F32 load(const float* p) { F32 r; PATERNOSTER_LANES(p[i]); }
INLINE void store(float* p, F32 a) { __builtin_memcpy(p, a.v, sizeof a.v); }
INLINE F32 add(F32 a, F32 b) { F32 r; PATERNOSTER_LANES(a.v[i] + b.v[i]); }
INLINE F32 sub(F32 a, F32 b) { F32 r; PATERNOSTER_LANES(a.v[i] - b.v[i]); }
INLINE F32 mul(F32 a, F32 b) { F32 r; PATERNOSTER_LANES(a.v[i] * b.v[i]); }
INLINE F32 div(F32 a, F32 b) { F32 r; PATERNOSTER_LANES(a.v[i] / b.v[i]); }
INLINE F32 fma(F32 a, F32 b, F32 c) {
  F32 r;
  PATERNOSTER_LANES(__builtin_fmaf(a.v[i], b.v[i], c.v[i]));
}
// As x86 has it: the second operand when either is no number.
INLINE F32 max(F32 a, F32 b) { F32 r; PATERNOSTER_LANES(a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
INLINE F32 min(F32 a, F32 b) { F32 r; PATERNOSTER_LANES(a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
INLINE F32 abs(F32 a) { F32 r; PATERNOSTER_LANES(__builtin_fabsf(a.v[i])); }
// Eight floats, each in two neighbouring lanes.
INLINE F32 load_twice(const float* p) { F32 r; PATERNOSTER_LANES(p[i / 2]); }
INLINE F32 swap_pairs(F32 a) { F32 r; PATERNOSTER_LANES(a.v[i ^ 1]); }
// a - b in even lanes, a + b in odd ones.
INLINE F32 sub_add(F32 a, F32 b) {
  F32 r;
  PATERNOSTER_LANES(i % 2 == 0 ? a.v[i] - b.v[i] : a.v[i] + b.v[i]);
}
// a where x >= limit, else 0.
INLINE F32 keep_from(F32 a, F32 x, F32 limit) {
  F32 r;
  PATERNOSTER_LANES(x.v[i] >= limit.v[i] ? a.v[i] : 0.0f);
}
// Lanes [begin, end) of a, the others from b.
INLINE F32 keep_lanes(F32 a, F32 b, int begin, int end) {
  F32 r;
  PATERNOSTER_LANES(i >= begin && i < end ? a.v[i] : b.v[i]);
}
INLINE bool any_above(F32 a, F32 limit) {
  bool any = false;
  for (int i = 0; i < 16; ++i) {
    any |= a.v[i] > limit.v[i];
  }
  return any;
}

INLINE float half_bits_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 31u;
  const std::uint32_t fraction = half & 0x3FFu;
  std::uint32_t bits;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    __builtin_memcpy(&bits, &magnitude, 4);
  } else {
    bits = ((exponent == 31 ? 255u : exponent + 112u) << 23) | (fraction << 13);
  }
  bits |= sign;
  float out;
  __builtin_memcpy(&out, &bits, 4);
  return out;
}
INLINE std::uint16_t float_to_half_bits(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {
    return static_cast<std::uint16_t>(sign | 0x7E00u);
  }
  if (magnitude >= 0x477FF000u) {
    return static_cast<std::uint16_t>(sign | 0x7C00u);
  }
  if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 lets the adder round
    const float shifted = __builtin_fabsf(value) + 0.5f;
    std::uint32_t low;
    __builtin_memcpy(&low, &shifted, 4);
    return static_cast<std::uint16_t>(sign | (low - 0x3F000000u));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + odd) >> 13));
}
INLINE F32 load_half(const std::uint16_t* p) { F32 r; PATERNOSTER_LANES(half_bits_to_float(p[i])); }
INLINE float half_at(const std::uint16_t* p) { return half_bits_to_float(*p); }
INLINE void store_half(std::uint16_t* p, F32 a) {
  for (int i = 0; i < 16; ++i) {
    p[i] = float_to_half_bits(a.v[i]);
  }
}
INLINE F32 load_bfloat16(const std::uint16_t* p) {
  F32 r;
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t bits = std::uint32_t{p[i]} << 16;
    __builtin_memcpy(&r.v[i], &bits, 4);
  }
  return r;
}

INLINE I32 broadcast_i32(std::int32_t x) { I32 r; PATERNOSTER_LANES(x); }
INLINE I32 load_i8(const std::int8_t* p) { I32 r; PATERNOSTER_LANES(p[i]); }
INLINE void store_i8(std::int8_t* p, I32 a) {  // lanes are in -128..127
  for (int i = 0; i < 16; ++i) {
    p[i] = static_cast<std::int8_t>(a.v[i]);
  }
}
// Sixteen bytes as words, of every four the first, third, second, fourth (Activations::wides).
INLINE void widen_shuffled(const std::int8_t* in, std::int16_t* out) {
  for (int i = 0; i < 16; ++i) {
    const int within = i % 4;
    out[i] = in[i - within + (within == 1 ? 2 : within == 2 ? 1 : within)];
  }
}
INLINE I32 add(I32 a, I32 b) { I32 r; PATERNOSTER_LANES(a.v[i] + b.v[i]); }
INLINE I32 sub(I32 a, I32 b) { I32 r; PATERNOSTER_LANES(a.v[i] - b.v[i]); }
INLINE F32 to_float(I32 a) { F32 r; PATERNOSTER_LANES(static_cast<float>(a.v[i])); }
INLINE I32 round(F32 a) { I32 r; PATERNOSTER_LANES(static_cast<std::int32_t>(__builtin_rintf(a.v[i]))); }
// x * 2^n for a result that is a normal number.
INLINE F32 scale_exponent(F32 x, I32 n) {
  F32 r;
  for (int i = 0; i < 16; ++i) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &x.v[i], 4);
    bits += static_cast<std::uint32_t>(n.v[i]) << 23;
    __builtin_memcpy(&r.v[i], &bits, 4);
  }
  return r;
}

// The one tree in which sixteen floats are summed: halves, quarters, eighths, pairs.
INLINE float sum(F32 a) {
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) {
      a.v[i] += a.v[i + width];
    }
  }
  return a.v[0];
}
INLINE float largest(F32 a) {
  float r = a.v[0];
  for (int i = 1; i < 16; ++i) {
    r = a.v[i] > r ? a.v[i] : r;
  }
  return r;
}
INLINE std::int32_t sum(I32 a) {
  std::int32_t r = 0;
  for (int i = 0; i < 16; ++i) {
    r += a.v[i];
  }
  return r;
}

INLINE Bytes64 load_bytes(const std::uint8_t* p) {
  Bytes64 r;
  __builtin_memcpy(r.v, p, 64);
  return r;
}
INLINE void store_bytes(std::uint8_t* p, Bytes64 a) { __builtin_memcpy(p, a.v, 64); }
INLINE Bytes64 low_nibbles(Bytes64 a) {
  for (int i = 0; i < 64; ++i) {
    a.v[i] &= 15u;
  }
  return a;
}
INLINE Bytes64 high_nibbles(Bytes64 a) {
  for (int i = 0; i < 64; ++i) {
    a.v[i] = static_cast<std::uint8_t>(a.v[i] >> 4);
  }
  return a;
}

#undef PATERNOSTER_LANES

constexpr int kTokenStep = 4;  // tokens that share a load of weights

// out[t][row] = sum over the inputs of groups [First, First + Groups) of u[row][input] * act[t][input]
template <int Maximum, int First, int Groups, int T, typename Loader>
INLINE void dot(const Loader& weights, const Inputs& inputs, I32 (&out)[T]) {
  for (int t = 0; t < T; ++t) {
    out[t] = I32{};
  }
  for (int g = First; g < First + Groups; ++g) {
    const Bytes64 u = weights.group(g);
    for (int t = 0; t < T; ++t) {
      const std::int8_t* a = inputs.quants + static_cast<std::size_t>(t) * inputs.stride + 4 * g;
      for (int i = 0; i < 16; ++i) {
        out[t].v[i] += u.v[4 * i] * a[0] + u.v[4 * i + 1] * a[1] + u.v[4 * i + 2] * a[2] +
                       u.v[4 * i + 3] * a[3];
      }
    }
  }
}
