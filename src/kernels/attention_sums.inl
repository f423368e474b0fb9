// The two products of attention (attention.inl): queries with keys, weights with values. Rows are pairs of
// a query and one of its heads.

constexpr std::size_t kSplit = 128;
constexpr std::size_t kPart = 1024;
constexpr std::size_t kMostRows = 48;
constexpr std::size_t kRowStep = 6;
constexpr std::size_t kMostHeadDim = 256;
constexpr std::size_t kScratchFloats = 16 * kMostHeadDim;  // 16 KB: half of a first-level cache

struct AttentionRow {
  const float* query;
  float* out;
  std::size_t begin;  // positions it may see: [begin, end)
  std::size_t end;
  float largest;      // over the splits merged so far
  float total;
  bool started;
};

struct AttentionScratch {
  alignas(64) float scores[kMostRows][kSplit];
  alignas(64) float partial[kMostRows][kMostHeadDim];
  alignas(64) float block[kScratchFloats];  // some positions' keys or values as floats
};

// The cache's element types. A scale is what 32 elements of a key or value share; only q8_0 has one, and
// its product with an int8 is exact, so that it does not matter where elements are widened.
struct NoScale {};
struct Half {
  static INLINE NoScale key_scale(const std::uint8_t*, std::size_t, std::size_t) { return {}; }
  static INLINE NoScale value_scale(const std::uint8_t*, std::size_t, std::size_t, std::size_t) {
    return {};
  }
  static INLINE F32 get(const std::uint8_t* base, std::size_t at, NoScale) {
    return load_half(reinterpret_cast<const std::uint16_t*>(base) + at);
  }
};
struct Brain {
  static INLINE NoScale key_scale(const std::uint8_t*, std::size_t, std::size_t) { return {}; }
  static INLINE NoScale value_scale(const std::uint8_t*, std::size_t, std::size_t, std::size_t) {
    return {};
  }
  static INLINE F32 get(const std::uint8_t* base, std::size_t at, NoScale) {
    return load_bfloat16(reinterpret_cast<const std::uint16_t*>(base) + at);
  }
};
struct Scaled {
  static INLINE F32 key_scale(const std::uint8_t* keys, std::size_t dim, std::size_t d) {
    return load_half(reinterpret_cast<const std::uint16_t*>(keys + 16 * dim) + d / 32 * 16);
  }
  static INLINE F32 value_scale(const std::uint8_t* values, std::size_t dim, std::size_t position,
                                std::size_t d) {
    const std::size_t groups = (dim + 31) / 32;
    return broadcast(half_at(reinterpret_cast<const std::uint16_t*>(values + 16 * dim) +
                             position * groups + d / 32));
  }
  static INLINE F32 get(const std::uint8_t* base, std::size_t at, F32 scale) {
    return mul(to_float(load_i8(reinterpret_cast<const std::int8_t*>(base) + at)), scale);
  }
};

// One block's keys as floats, [head_dim][16].
template <typename E>
NOINLINE void widen_keys(const std::uint8_t* keys, std::size_t dim, float* out) {
  for (std::size_t first = 0; first < dim; first += 32) {
    const auto scale = E::key_scale(keys, dim, first);
    const std::size_t end = first + 32 < dim ? first + 32 : dim;
    for (std::size_t d = first; d < end; ++d) {
      store(out + 16 * d, E::get(keys, 16 * d, scale));
    }
  }
}

// Values of positions [from, to) of a block as floats, [position][head_dim].
template <typename E>
NOINLINE void widen_values(const std::uint8_t* values, std::size_t dim, std::size_t from,
                           std::size_t to, float* out) {
  for (std::size_t p = from; p < to; ++p) {
    for (std::size_t d = 0; d < dim; d += 16) {
      store(out + p * dim + d, E::get(values, p * dim + d, E::value_scale(values, dim, p, d)));
    }
  }
}

// scores[r][0..16) = scale * (query r . key of each of the block's positions)
template <int R>
INLINE void score_rows(const AttentionCall& call, const AttentionRow* rows, const float* keys,
                       float* scores) {
  F32 acc[R];
  UNROLL
  for (int r = 0; r < R; ++r) {
    acc[r] = zero_f32();
  }
  for (std::size_t d = 0; d < call.head_dim; ++d) {
    const F32 key = load(keys + 16 * d);
    UNROLL
    for (int r = 0; r < R; ++r) {
      acc[r] = fma(key, broadcast(rows[r].query[d]), acc[r]);
    }
  }
  UNROLL
  for (int r = 0; r < R; ++r) {
    store(scores + static_cast<std::size_t>(r) * kSplit, mul(acc[r], broadcast(call.scale)));
  }
}

// partial[r] += sum over the block's positions [begin, end) of weight[r][position] * value
template <int R>
INLINE void sum_rows(const AttentionCall& call, const float* weights, const float* values,
                     std::size_t begin, std::size_t end, float* partial) {
  for (std::size_t d = 0; d < call.head_dim; d += 16) {
    F32 acc[R];
    UNROLL
    for (int r = 0; r < R; ++r) {
      acc[r] = load(partial + static_cast<std::size_t>(r) * kMostHeadDim + d);
    }
    for (std::size_t p = begin; p < end; ++p) {
      const F32 value = load(values + p * call.head_dim + d);
      UNROLL
      for (int r = 0; r < R; ++r) {
        acc[r] = fma(value, broadcast(weights[static_cast<std::size_t>(r) * kSplit + p]), acc[r]);
      }
    }
    UNROLL
    for (int r = 0; r < R; ++r) {
      store(partial + static_cast<std::size_t>(r) * kMostHeadDim + d, acc[r]);
    }
  }
}

// The same for up to six rows in all, as in decoding: elements are widened in registers, since nobody
// else needs them. Two blocks (or two slices of values) at a time keep enough chains in flight.
template <typename E, int R, int B>
INLINE void score_direct(const AttentionCall& call, const AttentionRow* rows,
                         const std::uint8_t* const (&keys)[B], float* scores) {
  F32 acc[B][R];
  UNROLL
  for (int b = 0; b < B; ++b) {
    UNROLL
    for (int r = 0; r < R; ++r) {
      acc[b][r] = zero_f32();
    }
  }
  for (std::size_t first = 0; first < call.head_dim; first += 32) {
    decltype(E::key_scale(keys[0], 0, 0)) scales[B];
    UNROLL
    for (int b = 0; b < B; ++b) {
      scales[b] = E::key_scale(keys[b], call.head_dim, first);
    }
    const std::size_t end = first + 32 < call.head_dim ? first + 32 : call.head_dim;
    for (std::size_t d = first; d < end; ++d) {
      UNROLL
      for (int b = 0; b < B; ++b) {
        const F32 key = E::get(keys[b], 16 * d, scales[b]);
        UNROLL
        for (int r = 0; r < R; ++r) {
          acc[b][r] = fma(key, broadcast(rows[r].query[d]), acc[b][r]);
        }
      }
    }
  }
  UNROLL
  for (int b = 0; b < B; ++b) {
    UNROLL
    for (int r = 0; r < R; ++r) {
      store(scores + static_cast<std::size_t>(r) * kSplit + 16 * b,
            mul(acc[b][r], broadcast(call.scale)));
    }
  }
}

template <typename E, int R, int S>
INLINE void sum_direct(const AttentionCall& call, const float* weights, const std::uint8_t* values,
                       std::size_t first, std::size_t begin, std::size_t end, float* partial) {
  F32 acc[S][R];
  UNROLL
  for (int s = 0; s < S; ++s) {
    UNROLL
    for (int r = 0; r < R; ++r) {
      acc[s][r] = load(partial + static_cast<std::size_t>(r) * kMostHeadDim + 16 * s);
    }
  }
  for (std::size_t p = begin; p < end; ++p) {
    UNROLL
    for (int s = 0; s < S; ++s) {
      const std::size_t d = first + 16 * static_cast<std::size_t>(s);
      const F32 value = E::get(values, p * call.head_dim + d,
                               E::value_scale(values, call.head_dim, p, d));
      UNROLL
      for (int r = 0; r < R; ++r) {
        acc[s][r] =
            fma(value, broadcast(weights[static_cast<std::size_t>(r) * kSplit + p]), acc[s][r]);
      }
    }
  }
  UNROLL
  for (int s = 0; s < S; ++s) {
    UNROLL
    for (int r = 0; r < R; ++r) {
      store(partial + static_cast<std::size_t>(r) * kMostHeadDim + 16 * s, acc[s][r]);
    }
  }
}
