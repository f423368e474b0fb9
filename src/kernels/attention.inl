// Attention (attention.h) over sixteen lanes. A lane is a position while scores are computed (keys are
// stored transposed) and an element of the head while values are summed, so no sum runs across lanes
// but the softmax's own. Up to 48 rows pass over a split of 128 positions together, six at a time in
// registers, and share its loads.

// Calls what follows with R = 1..6, whichever is left.
#define PATERNOSTER_BY_ROWS(left, ...)                             \
  switch (left) {                                                  \
    case 1: { constexpr int R = 1; __VA_ARGS__; break; }           \
    case 2: { constexpr int R = 2; __VA_ARGS__; break; }           \
    case 3: { constexpr int R = 3; __VA_ARGS__; break; }           \
    case 4: { constexpr int R = 4; __VA_ARGS__; break; }           \
    case 5: { constexpr int R = 5; __VA_ARGS__; break; }           \
    default: { constexpr int R = 6; __VA_ARGS__; break; }          \
  }

INLINE const std::uint8_t* head_of(const AttentionCall& call, std::size_t position) {
  const std::size_t block = call.blocks[position / 16];
  return call.pool + (block * call.kv_heads + call.kv_head) * 2 * call.half_bytes;
}

template <typename E>
NOINLINE void score_split(const AttentionCall& call, const AttentionRow* rows, std::size_t count,
                          std::size_t begin, std::size_t end, AttentionScratch& scratch) {
  for (std::size_t p = begin / 16 * 16; p < end; p += 16) {
    widen_keys<E>(head_of(call, p), call.head_dim, scratch.block);
    for (std::size_t r = 0; r < count; r += kRowStep) {
      float* scores = &scratch.scores[r][p % kSplit];
      PATERNOSTER_BY_ROWS(count - r, score_rows<R>(call, rows + r, scratch.block, scores))
    }
  }
}

// As many positions at once as the scratch holds, so that a row's sums are loaded and stored less often.
template <typename E>
NOINLINE void sum_split(const AttentionCall& call, std::size_t count, std::size_t begin,
                        std::size_t end, AttentionScratch& scratch) {
  const std::size_t dim = call.head_dim;
  const std::size_t most = kScratchFloats / dim / 16 * 16;
  for (std::size_t first = begin / 16 * 16; first < end; first += most) {
    const std::size_t from = begin > first ? begin - first : 0;
    const std::size_t to = end - first < most ? end - first : most;
    for (std::size_t p = 0; p < to; p += 16) {
      widen_values<E>(head_of(call, first + p) + call.half_bytes, dim, from > p ? from - p : 0,
                      to - p < 16 ? to - p : 16, scratch.block + p * dim);
    }
    for (std::size_t r = 0; r < count; r += kRowStep) {
      const float* weights = &scratch.scores[r][first % kSplit];
      float* partial = scratch.partial[r];
      PATERNOSTER_BY_ROWS(count - r, sum_rows<R>(call, weights, scratch.block, from, to, partial))
    }
  }
}

// A block is too short for the processor to fetch ahead by itself, and with few queries memory is the limit:
// asks for this block's values, which are summed after all scores, and for the keys of a later block, beyond
// this split too (the last row sees most).
INLINE void fetch_ahead(const AttentionCall& call, const AttentionRow& last, std::size_t position,
                        std::size_t distance) {
  prefetch(head_of(call, position) + call.half_bytes, call.half_bytes);
  if (position + distance < last.end) {
    prefetch(head_of(call, position + distance), call.half_bytes);
  }
}

template <typename E, int R>
NOINLINE void score_few(const AttentionCall& call, const AttentionRow* rows, std::size_t begin,
                        std::size_t end, AttentionScratch& scratch) {
  std::size_t p = begin / 16 * 16;
  if constexpr (R <= 3) {
    for (; p + 16 < end; p += 32) {
      fetch_ahead(call, rows[R - 1], p, 32);
      fetch_ahead(call, rows[R - 1], p + 16, 32);
      const std::uint8_t* const keys[2] = {head_of(call, p), head_of(call, p + 16)};
      score_direct<E, R, 2>(call, rows, keys, &scratch.scores[0][p % kSplit]);
    }
  }
  for (; p < end; p += 16) {
    fetch_ahead(call, rows[R - 1], p, 16);
    const std::uint8_t* const keys[1] = {head_of(call, p)};
    score_direct<E, R, 1>(call, rows, keys, &scratch.scores[0][p % kSplit]);
  }
}

template <typename E, int R>
NOINLINE void sum_few(const AttentionCall& call, std::size_t begin, std::size_t end,
                      AttentionScratch& scratch) {
  for (std::size_t p = begin / 16 * 16; p < end; p += 16) {
    const std::size_t from = begin > p ? begin - p : 0;
    const std::size_t to = end - p < 16 ? end - p : 16;
    const std::uint8_t* values = head_of(call, p) + call.half_bytes;
    const float* weights = &scratch.scores[0][p % kSplit];
    std::size_t d = 0;
    if constexpr (R <= 3) {
      for (; d + 32 <= call.head_dim; d += 32) {
        sum_direct<E, R, 2>(call, weights, values, d, from, to, scratch.partial[0] + d);
      }
    }
    for (; d < call.head_dim; d += 16) {
      sum_direct<E, R, 1>(call, weights, values, d, from, to, scratch.partial[0] + d);
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

// Rows together over one split.
template <typename E>
NOINLINE void attend_split(const AttentionCall& call, AttentionRow* rows, std::size_t count,
                           std::size_t begin, std::size_t end, AttentionScratch& scratch) {
  const bool few = count <= kRowStep;
  if (few) {
    PATERNOSTER_BY_ROWS(count, score_few<E, R>(call, rows, begin, end, scratch))
  } else {
    score_split<E>(call, rows, count, begin, end, scratch);
  }
  SplitSum sums[kMostRows];
  for (std::size_t r = 0; r < count; ++r) {
    sums[r] = soften(scratch.scores[r], rows[r], begin, end);
    for (std::size_t d = 0; d < call.head_dim; d += 16) {
      store(scratch.partial[r] + d, zero_f32());
    }
  }
  if (few) {
    PATERNOSTER_BY_ROWS(count, sum_few<E, R>(call, begin, end, scratch))
  } else {
    sum_split<E>(call, count, begin, end, scratch);
  }
  for (std::size_t r = 0; r < count; ++r) {
    if (rows[r].begin < end && rows[r].end > begin) {
      merge(rows[r], sums[r], scratch.partial[r], call.head_dim);
    }
  }
}

struct Seen {
  std::size_t begin, end;
};
INLINE Seen seen_by(const AttentionRow* rows, std::size_t count) {
  Seen seen = {rows[0].begin, rows[0].end};
  for (std::size_t r = 1; r < count; ++r) {
    seen.begin = rows[r].begin < seen.begin ? rows[r].begin : seen.begin;
    seen.end = rows[r].end > seen.end ? rows[r].end : seen.end;
  }
  return seen;
}

// Rows together over all the splits of a part that any of them sees. Results are not divided yet.
template <typename E>
NOINLINE void attend_part(const AttentionCall& call, AttentionRow* rows, std::size_t count,
                          std::size_t part, AttentionScratch& scratch) {
  Seen seen = seen_by(rows, count);
  seen.begin = seen.begin > part * kPart ? seen.begin : part * kPart;
  seen.end = seen.end < (part + 1) * kPart ? seen.end : (part + 1) * kPart;
  for (std::size_t split = seen.begin / kSplit * kSplit; split < seen.end; split += kSplit) {
    const std::size_t begin = split > seen.begin ? split : seen.begin;
    const std::size_t end = split + kSplit < seen.end ? split + kSplit : seen.end;
    attend_split<E>(call, rows, count, begin, end, scratch);
  }
}

INLINE void attend_part_of(const AttentionCall& call, AttentionRow* rows, std::size_t count,
                           std::size_t part, AttentionScratch& scratch) {
  switch (static_cast<KvType>(call.type)) {
    case KvType::kF16: return attend_part<Half>(call, rows, count, part, scratch);
    case KvType::kBF16: return attend_part<Brain>(call, rows, count, part, scratch);
    case KvType::kQ8_0: return attend_part<Scaled>(call, rows, count, part, scratch);
  }
}

INLINE void divide(const AttentionRow& row, std::size_t head_dim) {
  const F32 inverse = broadcast(1.0f / row.total);
  for (std::size_t d = 0; d < head_dim; d += 16) {
    store(row.out + d, mul(load(row.out + d), inverse));
  }
}

// Rows together: the first part they see straight into their outputs, later ones aside and then merged.
NOINLINE void attend_rows(const AttentionCall& call, AttentionRow* rows, std::size_t count) {
  AttentionScratch scratch;
  alignas(64) float aside[kMostRows][kMostHeadDim];
  const Seen seen = seen_by(rows, count);
  for (std::size_t part = seen.begin / kPart; part * kPart < seen.end; ++part) {
    if (part == seen.begin / kPart) {
      attend_part_of(call, rows, count, part, scratch);
      continue;
    }
    AttentionRow later[kMostRows];
    for (std::size_t r = 0; r < count; ++r) {
      later[r] = rows[r];
      later[r].out = aside[r];
      later[r].started = false;
    }
    attend_part_of(call, later, count, part, scratch);
    for (std::size_t r = 0; r < count; ++r) {
      if (later[r].started) {
        merge(rows[r], {later[r].largest, later[r].total}, aside[r], call.head_dim);
      }
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    divide(rows[r], call.head_dim);
  }
}

// Calls body(rows, count, first) for all rows of the call, kMostRows at a time.
template <typename Body>
INLINE void for_rows(const AttentionCall& call, const Body& body) {
  const std::size_t group = call.heads / call.kv_heads;
  AttentionRow rows[kMostRows];
  std::size_t count = 0, first = 0;
  for (std::size_t i = 0; i < call.count; ++i) {
    const std::size_t end = call.first_position + i + 1;
    const std::size_t begin = call.window != 0 && end > call.window ? end - call.window : 0;
    for (std::size_t h = call.kv_head * group; h < (call.kv_head + 1) * group; ++h) {
      rows[count++] = AttentionRow{call.queries + i * call.query_stride + h * call.head_dim,
                                   call.out + i * call.out_stride + h * call.head_dim,
                                   begin, end, 0.0f, 0.0f, false};
      if (count == kMostRows) {
        body(rows, count, first);
        first += count;
        count = 0;
      }
    }
  }
  if (count > 0) {
    body(rows, count, first);
  }
}

void attention(const AttentionCall& call) {
  for_rows(call, [&](AttentionRow* rows, std::size_t count, std::size_t) {
    attend_rows(call, rows, count);
  });
}

// A row's result of one part: its sums, then largest, total and whether it saw anything.
void attention_part(const AttentionCall& call, std::size_t part, float* results) {
  const std::size_t stride = call.head_dim + 16;
  for_rows(call, [&](AttentionRow* rows, std::size_t count, std::size_t first) {
    AttentionScratch scratch;
    for (std::size_t r = 0; r < count; ++r) {
      rows[r].out = results + (first + r) * stride;
    }
    attend_part_of(call, rows, count, part, scratch);
    for (std::size_t r = 0; r < count; ++r) {
      float* state = rows[r].out + call.head_dim;
      state[0] = rows[r].largest;
      state[1] = rows[r].total;
      state[2] = rows[r].started ? 1.0f : 0.0f;
    }
  });
}

void attention_merge(const AttentionCall& call, std::size_t parts, const float* results) {
  const std::size_t stride = call.head_dim + 16;
  const std::size_t all = call.count * (call.heads / call.kv_heads) * stride;
  for_rows(call, [&](AttentionRow* rows, std::size_t count, std::size_t first) {
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t part = 0; part < parts; ++part) {
        const float* result = results + part * all + (first + r) * stride;
        const float* state = result + call.head_dim;
        if (state[2] != 0.0f) {
          merge(rows[r], {state[0], state[1]}, result, call.head_dim);
        }
      }
      divide(rows[r], call.head_dim);
    }
  });
}

// One head's key or value: per 32 elements an f16 scale that covers the largest, then bytes.
void quantise_kv(const float* in, std::size_t count, std::int8_t* out, std::uint16_t* scales) {
  const F32 most_half = broadcast(65504.0f);
  for (std::size_t d = 0; d < count; d += 32) {
    const bool both = d + 16 < count;
    const F32 low = load(in + d);
    const F32 high = both ? load(in + d + 16) : zero_f32();
    const float most = largest(max(abs(low), abs(high)));
    alignas(64) std::uint16_t half[16];
    store_half(half, min(broadcast(most / 127.0f), most_half));
    scales[d / 32] = half[0];
    const float scale = half_at(half);
    const F32 inverse = broadcast(scale > 0.0f ? 1.0f / scale : 0.0f);
    const F32 top = broadcast(127.0f), bottom = broadcast(-127.0f);
    store_i8(out + d, round(max(min(mul(low, inverse), top), bottom)));
    if (both) {
      store_i8(out + d + 16, round(max(min(mul(high, inverse), top), bottom)));
    }
  }
}

#undef PATERNOSTER_BY_ROWS
