// The linear layers (matmul.h), written once over sixteen lanes of rows.
//
// Few tokens: weights are unpacked in registers as they come from memory, which is the limit, and met
// by up to four tokens at a time. Many tokens: 18 blocks (576 inputs) of a tile are unpacked once into
// 9 KB that stay in the first-level cache, and all tokens pass over them, kTokenStep at a time;
// arithmetic is the limit. Both run the same chain per output: for each block (or half block, where 16
// inputs share a scale) acc = fma(float(sum), d * scale, acc), acc = fma(m, scaled sum, acc).

constexpr std::size_t kTokenBatch = 128;  // tokens that pass over one unpacked piece
constexpr std::size_t kPieceBlocks = 18;  // blocks unpacked at once
constexpr std::size_t kFewTokens = 16;    // up to here unpacking again costs less than storing

struct Nibbles {
  const std::uint8_t* quants;
  INLINE Bytes64 group(int g) const {
    const Bytes64 both = load_bytes(quants + g / 2 * 64);
    return g % 2 == 0 ? low_nibbles(both) : high_nibbles(both);
  }
};

struct Bytes {
  const std::uint8_t* quants;
  INLINE Bytes64 group(int g) const { return load_bytes(quants + g * 64); }
};

template <bool Packed>
struct LoaderOf {
  using Type = Nibbles;
};
template <>
struct LoaderOf<false> {
  using Type = Bytes;
};

// Blocks of a packed tile, from block `first` on. The zero point becomes part of the minimum, exactly,
// since it is a power of two: d * (u - zero) + m = d * u + (m - zero * d), and no type has both.
template <typename F>
struct PackedBlocks {
  using Loader = typename LoaderOf<F::kNibbles>::Type;
  const std::uint8_t* tile;
  const std::uint8_t* blocks;
  std::size_t first;

  INLINE Loader quants(std::size_t b) const { return {blocks + b * F::kBlockBytes}; }
  INLINE F32 d(std::size_t b, int set) const {
    return value(b, F::kQuantBytes + static_cast<std::size_t>(set) * F::kSetBytes, 0);
  }
  INLINE F32 m(std::size_t b, int set) const {
    if constexpr (F::kMinimum) {
      return value(b, F::kQuantBytes + static_cast<std::size_t>(F::kSets + set) * F::kSetBytes, 32);
    } else {
      return mul(d(b, set), broadcast(static_cast<float>(-F::kZero)));
    }
  }
  INLINE F32 value(std::size_t b, std::size_t at, std::size_t super_at) const {
    const std::uint8_t* p = blocks + b * F::kBlockBytes + at;
    if constexpr (F::kSuper) {
      const std::uint8_t* super = tile + (first + b) / 8 * F::kSuperBytes + super_at;
      return mul(load_half(reinterpret_cast<const std::uint16_t*>(super)),
                 to_float(load_i8(reinterpret_cast<const std::int8_t*>(p))));
    } else {
      return load_half(reinterpret_cast<const std::uint16_t*>(p));
    }
  }
};

// Blocks that were unpacked into the cache. Quants of byte formats stay where they were. What is left
// of a format is how large its integers are and how many sets a block has.
template <int Maximum, int Sets>
struct UnpackedPiece {
  using Loader = Bytes;
  const std::uint8_t* bytes;
  std::size_t stride;
  alignas(64) float scales[kPieceBlocks][2 * Sets][16];  // d of each set, then m
  alignas(64) std::uint8_t storage[Maximum < 16 ? kPieceBlocks * 512 : 64];

  INLINE Loader quants(std::size_t b) const { return {bytes + b * stride}; }
  INLINE F32 d(std::size_t b, int set) const { return load(scales[b][set]); }
  INLINE F32 m(std::size_t b, int set) const { return load(scales[b][Sets + set]); }
};

// Nibble types share their instances whatever their largest integer is.
template <typename F>
constexpr int kMaximumOf = F::kNibbles ? 15 : F::kMaximum;

template <typename F>
using PieceOf = UnpackedPiece<kMaximumOf<F>, F::kSets>;

template <typename F>
NOINLINE void fill(PieceOf<F>& piece, const PackedBlocks<F>& source, std::size_t count) {
  piece.bytes = F::kNibbles ? piece.storage : source.blocks;
  piece.stride = F::kNibbles ? 512 : F::kBlockBytes;
  for (std::size_t b = 0; b < count; ++b) {
    UNROLL
    for (int set = 0; set < F::kSets; ++set) {
      store(piece.scales[b][set], source.d(b, set));
      store(piece.scales[b][F::kSets + set], source.m(b, set));
    }
    if constexpr (F::kNibbles) {
      UNROLL
      for (int c = 0; c < 4; ++c) {
        const Bytes64 both = load_bytes(source.blocks + b * F::kBlockBytes + c * 64);
        store_bytes(piece.storage + b * 512 + c * 128, low_nibbles(both));
        store_bytes(piece.storage + b * 512 + c * 128 + 64, high_nibbles(both));
      }
    }
  }
}

// T tokens' activations, from some block on.
struct TokenView {
  const std::int8_t* quants;
  const std::int16_t* wides;
  const ActivationBlock* infos;
  std::size_t quant_stride;
  std::size_t info_stride;
};

template <int Sets, int T>
INLINE void add_set(const I32 (&sums)[T], F32 d, F32 m, const ActivationBlock* infos,
                    std::size_t info_stride, int set, F32 (&acc)[T]) {
  UNROLL
  for (int t = 0; t < T; ++t) {
    const ActivationBlock& info = infos[static_cast<std::size_t>(t) * info_stride];
    acc[t] = fma(to_float(sums[t]), mul(d, broadcast(info.scale)), acc[t]);
    if constexpr (Sets == 1) {
      acc[t] = fma(m, broadcast(info.scaled_sum), acc[t]);
    } else {
      const std::int32_t half = set == 0 ? info.sum_low : info.sum - info.sum_low;
      acc[t] = fma(m, broadcast(info.scale * static_cast<float>(half)), acc[t]);
    }
  }
}

// Adds blocks [0, count) of the source to the accumulators of T tokens.
template <int Maximum, int Sets, int T, typename Source>
INLINE void accumulate(const Source& source, std::size_t count, const TokenView& view,
                       F32 (&acc)[T]) {
  for (std::size_t b = 0; b < count; ++b) {
    const auto weights = source.quants(b);
    const Inputs inputs{view.quants + b * 32, view.wides + b * 32, view.quant_stride};
    const ActivationBlock* infos = view.infos + b;
    I32 sums[T];
    if constexpr (Sets == 1) {
      dot<Maximum, 0, 8>(weights, inputs, sums);
      add_set<1>(sums, source.d(b, 0), source.m(b, 0), infos, view.info_stride, 0, acc);
    } else {
      dot<Maximum, 0, 4>(weights, inputs, sums);
      add_set<2>(sums, source.d(b, 0), source.m(b, 0), infos, view.info_stride, 0, acc);
      dot<Maximum, 4, 4>(weights, inputs, sums);
      add_set<2>(sums, source.d(b, 1), source.m(b, 1), infos, view.info_stride, 1, acc);
    }
  }
}

INLINE void write_rows(const MatmulCall& call, std::size_t token, std::size_t tile, F32 result) {
  float* out = call.out + token * call.out_stride + tile * 16;
  const std::size_t left = call.rows - tile * 16;
  if (left >= 16) {
    store(out, call.add ? add(load(out), result) : result);
    return;
  }
  alignas(64) float rows[16];
  store(rows, result);
  for (std::size_t i = 0; i < left; ++i) {
    out[i] = call.add ? out[i] + rows[i] : rows[i];
  }
}

INLINE TokenView view_at(const MatmulCall& call, std::size_t token, std::size_t block) {
  const std::size_t blocks = call.padded_cols / 32;
  const std::size_t at = token * call.padded_cols + block * 32;
  return {call.quants + at, call.wides + at, call.infos + token * blocks + block, call.padded_cols,
          blocks};
}

template <typename F>
INLINE PackedBlocks<F> blocks_at(const MatmulCall& call, std::size_t tile, std::size_t first) {
  const std::uint8_t* begin = call.tiles + tile * call.tile_bytes;
  return {begin, begin + call.cols / 256 * F::kSuperBytes + first * F::kBlockBytes, first};
}

// T tokens of one tile, straight from the packed weights.
template <typename F, int T>
NOINLINE void direct_tile(const MatmulCall& call, std::size_t tile, std::size_t token) {
  const TokenView view = view_at(call, token, 0);
  F32 acc[T];
  UNROLL
  for (int t = 0; t < T; ++t) {
    acc[t] = zero_f32();
  }
  accumulate<kMaximumOf<F>, F::kSets>(blocks_at<F>(call, tile, 0), call.cols / 32, view, acc);
  UNROLL
  for (int t = 0; t < T; ++t) {
    write_rows(call, token + static_cast<std::size_t>(t), tile, acc[t]);
  }
}

// Asks for [begin, begin + bytes) to be brought near while something else is computed.
INLINE void prefetch(const std::uint8_t* begin, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 64) {
    __builtin_prefetch(begin + i, 0, 2);
  }
}

// A few tokens: a tile's packed weights come from memory once, and from a near cache for the second
// four tokens and later. (Fetching the next tile meanwhile, in one go, was slower.)
template <typename F>
NOINLINE void few_tokens(const MatmulCall& call) {
  for (std::size_t tile = call.tile_begin; tile < call.tile_end; ++tile) {
    std::size_t token = call.token_begin;
    for (; token + 4 <= call.token_end; token += 4) {
      direct_tile<F, 4>(call, tile, token);
    }
    if (token + 2 <= call.token_end) {
      direct_tile<F, 2>(call, tile, token);
      token += 2;
    }
    if (token < call.token_end) {
      direct_tile<F, 1>(call, tile, token);
    }
  }
}

// T tokens over one unpacked piece; their accumulators live in memory between pieces.
template <int T, int Maximum, int Sets>
NOINLINE void pass_over(const UnpackedPiece<Maximum, Sets>& piece, std::size_t count,
                        const TokenView& view, float* accumulators) {
  F32 acc[T];
  UNROLL
  for (int t = 0; t < T; ++t) {
    acc[t] = load(accumulators + 16 * t);
  }
  accumulate<Maximum, Sets>(piece, count, view, acc);
  UNROLL
  for (int t = 0; t < T; ++t) {
    store(accumulators + 16 * t, acc[t]);
  }
}

// The largest of 1, 2, 4 and kTokenStep tokens that are left. Few sizes keep the code small.
template <int Maximum, int Sets>
INLINE std::size_t pass_over_some(const UnpackedPiece<Maximum, Sets>& piece, std::size_t count,
                                  const TokenView& view, std::size_t left, float* accumulators) {
  if constexpr (kTokenStep > 4) {
    if (left >= kTokenStep) {
      pass_over<kTokenStep>(piece, count, view, accumulators);
      return kTokenStep;
    }
  }
  if (left >= 4) {
    pass_over<4>(piece, count, view, accumulators);
    return 4;
  }
  if (left >= 2) {
    pass_over<2>(piece, count, view, accumulators);
    return 2;
  }
  pass_over<1>(piece, count, view, accumulators);
  return 1;
}

template <typename F>
NOINLINE void batch_over_tile(const MatmulCall& call, std::size_t tile, std::size_t token_begin,
                              std::size_t token_end) {
  alignas(64) float accumulators[kTokenBatch * 16];
  for (std::size_t i = 0; i < (token_end - token_begin) * 16; i += 16) {
    store(accumulators + i, zero_f32());
  }
  PieceOf<F> piece;
  const std::size_t blocks = call.cols / 32;
  for (std::size_t first = 0; first < blocks; first += kPieceBlocks) {
    const std::size_t count = blocks - first < kPieceBlocks ? blocks - first : kPieceBlocks;
    fill<F>(piece, blocks_at<F>(call, tile, first), count);
    // each step of tokens also fetches its share of the weights that come next
    const std::uint8_t* next = blocks_at<F>(call, tile, first + count).blocks;
    const std::uint8_t* last = call.tiles + call.tile_end * call.tile_bytes;
    const std::size_t steps = (token_end - token_begin + kTokenStep - 1) / kTokenStep;
    const std::size_t share = (kPieceBlocks * F::kBlockBytes / steps + 63) / 64 * 64;
    for (std::size_t token = token_begin; token < token_end;) {
      if (next + share <= last) {
        prefetch(next, share);
        next += share;
      }
      token += pass_over_some(piece, count, view_at(call, token, first), token_end - token,
                              accumulators + (token - token_begin) * 16);
    }
  }
  for (std::size_t token = token_begin; token < token_end; ++token) {
    write_rows(call, token, tile, load(accumulators + (token - token_begin) * 16));
  }
}

template <typename F>
NOINLINE void many_tokens(const MatmulCall& call) {
  for (std::size_t begin = call.token_begin; begin < call.token_end; begin += kTokenBatch) {
    const std::size_t left = call.token_end - begin;
    const std::size_t end = begin + (left < kTokenBatch ? left : kTokenBatch);
    for (std::size_t tile = call.tile_begin; tile < call.tile_end; ++tile) {
      batch_over_tile<F>(call, tile, begin, end);
    }
  }
}

// The types that common files are made of read their weights strictly in order when tokens are few,
// because memory is then the limit; for the others one path has to do, to keep the code small.
template <typename F>
void matmul_common(const MatmulCall& call) {
  if (call.token_end - call.token_begin <= kFewTokens) {
    return few_tokens<F>(call);
  }
  many_tokens<F>(call);
}

struct ElementF32 {
  static constexpr std::size_t kBytes = 4;
  static INLINE F32 get(const std::uint8_t* p) { return load(reinterpret_cast<const float*>(p)); }
};
struct ElementF16 {
  static constexpr std::size_t kBytes = 2;
  static INLINE F32 get(const std::uint8_t* p) {
    return load_half(reinterpret_cast<const std::uint16_t*>(p));
  }
};
struct ElementBF16 {
  static constexpr std::size_t kBytes = 2;
  static INLINE F32 get(const std::uint8_t* p) {
    return load_bfloat16(reinterpret_cast<const std::uint16_t*>(p));
  }
};

// Float matrices: one chain of fused multiply-adds over the inputs.
template <typename E, int T>
NOINLINE void float_tile(const MatmulCall& call, std::size_t tile, std::size_t token) {
  const std::uint8_t* weights = call.tiles + tile * call.tile_bytes;
  const float* in = call.values + token * call.padded_cols;
  F32 acc[T];
  UNROLL
  for (int t = 0; t < T; ++t) {
    acc[t] = zero_f32();
  }
  for (std::size_t col = 0; col < call.cols; ++col) {
    const F32 w = E::get(weights + col * 16 * E::kBytes);
    UNROLL
    for (int t = 0; t < T; ++t) {
      acc[t] = fma(w, broadcast(in[static_cast<std::size_t>(t) * call.padded_cols + col]), acc[t]);
    }
  }
  UNROLL
  for (int t = 0; t < T; ++t) {
    write_rows(call, token + static_cast<std::size_t>(t), tile, acc[t]);
  }
}

template <typename E>
void matmul_float(const MatmulCall& call) {
  for (std::size_t tile = call.tile_begin; tile < call.tile_end; ++tile) {
    std::size_t token = call.token_begin;
    for (; token + 4 <= call.token_end; token += 4) {
      float_tile<E, 4>(call, tile, token);
    }
    for (; token < call.token_end; ++token) {
      float_tile<E, 1>(call, tile, token);
    }
  }
}

void matmul(const MatmulCall& call) {
  switch (static_cast<TensorType>(call.type)) {
    case TensorType::kF32: return matmul_float<ElementF32>(call);
    case TensorType::kF16: return matmul_float<ElementF16>(call);
    case TensorType::kBF16: return matmul_float<ElementBF16>(call);
    case TensorType::kQ4_0: return matmul_common<FormatQ4_0>(call);
    case TensorType::kQ4_1: return matmul_common<FormatQ4_1>(call);
    case TensorType::kQ5_0: return matmul_common<FormatQ5_0>(call);
    case TensorType::kQ5_1: return many_tokens<FormatQ5_1>(call);
    case TensorType::kQ8_0: return matmul_common<FormatQ8_0>(call);
    case TensorType::kQ2_K: return many_tokens<FormatQ2_K>(call);
    case TensorType::kQ3_K: return many_tokens<FormatQ3_K>(call);
    case TensorType::kQ4_K: return matmul_common<FormatQ4_K>(call);
    case TensorType::kQ5_K: return many_tokens<FormatQ5_K>(call);
    case TensorType::kQ6_K: return matmul_common<FormatQ6_K>(call);
  }
}
