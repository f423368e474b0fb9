// Attention (attention.h) over sixteen lanes. A lane is a position while scores are computed (keys are
// stored transposed) and an element of the head while values are summed, so no sum runs across lanes
// but the softmax's own. Rows are pairs of a query and one of its heads; up to 48 of them pass over a
// split of 128 positions together, six at a time in registers, and share its loads.

constexpr std::size_t kSplit = 128;
constexpr std::size_t kMostRows = 48;
constexpr std::size_t kRowStep = 6;
constexpr std::size_t kMostHeadDim = 256;

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
  alignas(64) float block[16 * kMostHeadDim];  // one block's keys or values as floats
};

INLINE void widen(const std::uint16_t* in, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; i += 16) {
    store(out + i, load_half(in + i));
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
template <int R, int B>
INLINE void score_direct(const AttentionCall& call, const AttentionRow* rows,
                         const std::uint16_t* const (&keys)[B], float* scores) {
  F32 acc[B][R];
  UNROLL
  for (int b = 0; b < B; ++b) {
    UNROLL
    for (int r = 0; r < R; ++r) {
      acc[b][r] = zero_f32();
    }
  }
  for (std::size_t d = 0; d < call.head_dim; ++d) {
    UNROLL
    for (int b = 0; b < B; ++b) {
      const F32 key = load_half(keys[b] + 16 * d);
      UNROLL
      for (int r = 0; r < R; ++r) {
        acc[b][r] = fma(key, broadcast(rows[r].query[d]), acc[b][r]);
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

template <int R, int S>
INLINE void sum_direct(const AttentionCall& call, const float* weights, const std::uint16_t* values,
                       std::size_t begin, std::size_t end, float* partial) {
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
      const F32 value = load_half(values + p * call.head_dim + 16 * s);
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

#define PATERNOSTER_BY_ROWS(function, left, ...)          \
  switch (left) {                                         \
    case 1: function<1>(__VA_ARGS__); break;              \
    case 2: function<2>(__VA_ARGS__); break;              \
    case 3: function<3>(__VA_ARGS__); break;              \
    case 4: function<4>(__VA_ARGS__); break;              \
    case 5: function<5>(__VA_ARGS__); break;              \
    default: function<6>(__VA_ARGS__); break;             \
  }

INLINE const std::uint16_t* head_of(const AttentionCall& call, std::size_t position) {
  const std::size_t head = 2 * 16 * call.head_dim;
  const std::size_t block = call.blocks[position / 16];
  return call.pool + (block * call.kv_heads + call.kv_head) * head;
}

NOINLINE void score_split(const AttentionCall& call, const AttentionRow* rows, std::size_t count,
                          std::size_t begin, std::size_t end, AttentionScratch& scratch) {
  for (std::size_t p = begin / 16 * 16; p < end; p += 16) {
    widen(head_of(call, p), 16 * call.head_dim, scratch.block);
    for (std::size_t r = 0; r < count; r += kRowStep) {
      float* scores = &scratch.scores[r][p % kSplit];
      PATERNOSTER_BY_ROWS(score_rows, count - r, call, rows + r, scratch.block, scores)
    }
  }
}

NOINLINE void sum_split(const AttentionCall& call, std::size_t count, std::size_t begin,
                        std::size_t end, AttentionScratch& scratch) {
  for (std::size_t p = begin / 16 * 16; p < end; p += 16) {
    const std::size_t from = begin > p ? begin - p : 0;
    const std::size_t to = end - p < 16 ? end - p : 16;
    const std::uint16_t* values = head_of(call, p) + 16 * call.head_dim;
    widen(values + from * call.head_dim, (to - from) * call.head_dim,
          scratch.block + from * call.head_dim);
    for (std::size_t r = 0; r < count; r += kRowStep) {
      const float* weights = &scratch.scores[r][p % kSplit];
      float* partial = scratch.partial[r];
      PATERNOSTER_BY_ROWS(sum_rows, count - r, call, weights, scratch.block, from, to, partial)
    }
  }
}

template <int R>
NOINLINE void score_few(const AttentionCall& call, const AttentionRow* rows, std::size_t begin,
                        std::size_t end, AttentionScratch& scratch) {
  std::size_t p = begin / 16 * 16;
  if constexpr (R <= 3) {
    for (; p + 16 < end; p += 32) {
      const std::uint16_t* const keys[2] = {head_of(call, p), head_of(call, p + 16)};
      score_direct<R, 2>(call, rows, keys, &scratch.scores[0][p % kSplit]);
    }
  }
  for (; p < end; p += 16) {
    const std::uint16_t* const keys[1] = {head_of(call, p)};
    score_direct<R, 1>(call, rows, keys, &scratch.scores[0][p % kSplit]);
  }
}

template <int R>
NOINLINE void sum_few(const AttentionCall& call, std::size_t begin, std::size_t end,
                      AttentionScratch& scratch) {
  for (std::size_t p = begin / 16 * 16; p < end; p += 16) {
    const std::size_t from = begin > p ? begin - p : 0;
    const std::size_t to = end - p < 16 ? end - p : 16;
    const std::uint16_t* values = head_of(call, p) + 16 * call.head_dim;
    const float* weights = &scratch.scores[0][p % kSplit];
    std::size_t d = 0;
    if constexpr (R <= 3) {
      for (; d + 32 <= call.head_dim; d += 32) {
        sum_direct<R, 2>(call, weights, values + d, from, to, scratch.partial[0] + d);
      }
    }
    for (; d < call.head_dim; d += 16) {
      sum_direct<R, 1>(call, weights, values + d, from, to, scratch.partial[0] + d);
    }
  }
}

// Turns a row's scores in [begin, end) of its split into weights, zero where it may not look.
// Returns the largest score and the weights' sum.
struct SplitSum {
  float largest;
  float total;
};
INLINE SplitSum soften(float* scores, const AttentionRow& row, std::size_t begin, std::size_t end) {
  const F32 nothing = broadcast(-__builtin_inff());
  const std::size_t first = begin / 16 * 16;
  F32 most = nothing;
  for (std::size_t p = first; p < end; p += 16) {
    const int from = row.begin > p ? static_cast<int>(row.begin - p < 16 ? row.begin - p : 16) : 0;
    const int to = row.end > p ? static_cast<int>(row.end - p < 16 ? row.end - p : 16) : 0;
    const F32 seen = keep_lanes(load(scores + p % kSplit), nothing, from, to);
    store(scores + p % kSplit, seen);
    most = max(seen, most);
  }
  const float top = largest(most);
  F32 total = zero_f32();
  for (std::size_t p = first; p < end; p += 16) {
    const F32 weight = exponential(sub(load(scores + p % kSplit), broadcast(top)));
    store(scores + p % kSplit, weight);
    total = add(total, weight);
  }
  return {top, sum(total)};
}

INLINE float lane0(F32 a) {
  alignas(64) float lanes[16];
  store(lanes, a);
  return lanes[0];
}

// Joins a split's result to what the row has so far: from the first split to the last.
INLINE void merge(AttentionRow& row, SplitSum split, const float* partial, std::size_t head_dim) {
  if (!row.started) {
    row.started = true;
    row.largest = split.largest;
    row.total = split.total;
    for (std::size_t d = 0; d < head_dim; d += 16) {
      store(row.out + d, load(partial + d));
    }
    return;
  }
  const float top = split.largest > row.largest ? split.largest : row.largest;
  const F32 old_factor = exponential(broadcast(row.largest - top));
  const F32 new_factor = exponential(broadcast(split.largest - top));
  row.largest = top;
  row.total = __builtin_fmaf(row.total, lane0(old_factor), split.total * lane0(new_factor));
  for (std::size_t d = 0; d < head_dim; d += 16) {
    const F32 scaled = mul(load(partial + d), new_factor);
    store(row.out + d, fma(load(row.out + d), old_factor, scaled));
  }
}

// Rows together over all the splits that any of them sees.
NOINLINE void attend_rows(const AttentionCall& call, AttentionRow* rows, std::size_t count) {
  AttentionScratch scratch;
  std::size_t lowest = rows[0].begin, highest = rows[0].end;
  for (std::size_t r = 1; r < count; ++r) {
    lowest = rows[r].begin < lowest ? rows[r].begin : lowest;
    highest = rows[r].end > highest ? rows[r].end : highest;
  }
  for (std::size_t split = lowest / kSplit * kSplit; split < highest; split += kSplit) {
    const std::size_t begin = split > lowest ? split : lowest;
    const std::size_t end = split + kSplit < highest ? split + kSplit : highest;
    if (count <= kRowStep) {
      PATERNOSTER_BY_ROWS(score_few, count, call, rows, begin, end, scratch)
    } else {
      score_split(call, rows, count, begin, end, scratch);
    }
    SplitSum sums[kMostRows];
    for (std::size_t r = 0; r < count; ++r) {
      sums[r] = soften(scratch.scores[r], rows[r], begin, end);
      for (std::size_t d = 0; d < call.head_dim; d += 16) {
        store(scratch.partial[r] + d, zero_f32());
      }
    }
    if (count <= kRowStep) {
      PATERNOSTER_BY_ROWS(sum_few, count, call, begin, end, scratch)
    } else {
      sum_split(call, count, begin, end, scratch);
    }
    for (std::size_t r = 0; r < count; ++r) {
      if (rows[r].begin < end && rows[r].end > begin) {
        merge(rows[r], sums[r], scratch.partial[r], call.head_dim);
      }
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    const F32 inverse = broadcast(1.0f / rows[r].total);
    for (std::size_t d = 0; d < call.head_dim; d += 16) {
      store(rows[r].out + d, mul(load(rows[r].out + d), inverse));
    }
  }
}

void attention(const AttentionCall& call) {
  const std::size_t group = call.heads / call.kv_heads;
  AttentionRow rows[kMostRows];
  std::size_t count = 0;
  for (std::size_t i = 0; i < call.count; ++i) {
    const std::size_t end = call.first_position + i + 1;
    const std::size_t begin = call.window != 0 && end > call.window ? end - call.window : 0;
    for (std::size_t h = call.kv_head * group; h < (call.kv_head + 1) * group; ++h) {
      rows[count++] = AttentionRow{call.queries + i * call.query_stride + h * call.head_dim,
                                   call.out + i * call.out_stride + h * call.head_dim,
                                   begin, end, 0.0f, 0.0f, false};
      if (count == kMostRows) {
        attend_rows(call, rows, count);
        count = 0;
      }
    }
  }
  if (count > 0) {
    attend_rows(call, rows, count);
  }
}

#undef PATERNOSTER_BY_ROWS
