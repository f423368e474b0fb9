// Norms, gates, rope, quantising and reading logits (elementwise.h, rope.h, activations.h,
// vocabulary.h) over sixteen lanes. A tail shorter than sixteen is padded in a small buffer, so that
// every element goes through the same operations wherever it stands.

INLINE F32 load_some(const float* p, std::size_t count, float padding) {
  if (count >= 16) {
    return load(p);
  }
  alignas(64) float lanes[16];
  for (std::size_t i = 0; i < 16; ++i) {
    lanes[i] = i < count ? p[i] : padding;
  }
  return load(lanes);
}

INLINE void store_some(float* p, std::size_t count, F32 a) {
  if (count >= 16) {
    store(p, a);
    return;
  }
  alignas(64) float lanes[16];
  store(lanes, a);
  for (std::size_t i = 0; i < count; ++i) {
    p[i] = lanes[i];
  }
}

// exp(x) within 2 units in the last place; exactly 0 below -60, where a softmax no longer sees it
// (and so that what it multiplies never underflows); at most exp(88).
INLINE F32 exponential(F32 x) {
  const F32 lowest = broadcast(-60.0f);
  const F32 clamped = min(max(x, lowest), broadcast(88.0f));
  const I32 n = round(mul(clamped, broadcast(1.44269504f)));
  const F32 whole = to_float(n);
  // ln 2 in two parts: the first has few enough bits that n * ln2_high is exact
  F32 r = fma(whole, broadcast(-0.693359375f), clamped);
  r = fma(whole, broadcast(2.12194440e-4f), r);
  F32 p = broadcast(1.9875691500e-4f);
  p = fma(p, r, broadcast(1.3981999507e-3f));
  p = fma(p, r, broadcast(8.3334519073e-3f));
  p = fma(p, r, broadcast(4.1665795894e-2f));
  p = fma(p, r, broadcast(1.6666665459e-1f));
  p = fma(p, r, broadcast(5.0000001201e-1f));
  p = fma(mul(p, r), r, add(r, broadcast(1.0f)));
  return keep_from(scale_exponent(p, n), x, lowest);
}

// Below this a block's scale would not survive inversion; such a block counts as zeros.
constexpr float kLeastMaximum = 1e-30f;

void quantise_row(const float* values, std::size_t blocks, std::int8_t* quants,
                  std::int16_t* wides, ActivationBlock* infos) {
  for (std::size_t b = 0; b < blocks; ++b) {
    const F32 low = load(values + 32 * b);
    const F32 high = load(values + 32 * b + 16);
    const float most = largest(max(abs(low), abs(high)));
    const bool empty = !(most >= kLeastMaximum);
    const float scale = empty ? 0.0f : most / 127.0f;
    const F32 inverse = broadcast(empty ? 0.0f : 127.0f / most);
    const I32 q_low = round(mul(low, inverse));
    const I32 q_high = round(mul(high, inverse));
    store_i8(quants + 32 * b, q_low);
    store_i8(quants + 32 * b + 16, q_high);
    widen_shuffled(quants + 32 * b, wides + 32 * b);
    widen_shuffled(quants + 32 * b + 16, wides + 32 * b + 16);
    const std::int32_t sum_low = sum(q_low);
    const std::int32_t total = sum(add(q_low, q_high));
    infos[b] = ActivationBlock{scale, scale * static_cast<float>(total), total, sum_low};
  }
}

void store_half_row(const float* in, std::size_t count, std::uint16_t* out) {
  const F32 most = broadcast(65504.0f), least = broadcast(-65504.0f);
  for (std::size_t i = 0; i < count; i += 16) {
    store_half(out + i, max(min(load(in + i), most), least));
  }
}

void rms_norm(const float* in, const float* weight, float epsilon, std::size_t count, float* out) {
  F32 squares = zero_f32();
  for (std::size_t i = 0; i < count; i += 16) {
    const F32 x = load_some(in + i, count - i, 0.0f);
    squares = fma(x, x, squares);
  }
  const float mean = sum(squares) / static_cast<float>(count);
  const F32 factor = broadcast(1.0f / __builtin_sqrtf(mean + epsilon));
  for (std::size_t i = 0; i < count; i += 16) {
    const F32 x = load_some(in + i, count - i, 0.0f);
    store_some(out + i, count - i, mul(mul(x, factor), load_some(weight + i, count - i, 0.0f)));
  }
}

void add_row(const float* in, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; i += 16) {
    const F32 total = add(load_some(out + i, count - i, 0.0f), load_some(in + i, count - i, 0.0f));
    store_some(out + i, count - i, total);
  }
}

void scale_row(float factor, std::size_t count, float* values) {
  for (std::size_t i = 0; i < count; i += 16) {
    const F32 x = load_some(values + i, count - i, 0.0f);
    store_some(values + i, count - i, mul(x, broadcast(factor)));
  }
}

// x / (1 + exp(-z)) * up
INLINE F32 gate(F32 x, F32 z, F32 up) {
  const F32 one = broadcast(1.0f);
  return mul(div(x, add(one, exponential(sub(zero_f32(), z)))), up);
}

void silu_product(const float* gates, const float* ups, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; i += 16) {
    const F32 x = load_some(gates + i, count - i, 0.0f);
    store_some(out + i, count - i, gate(x, x, load_some(ups + i, count - i, 0.0f)));
  }
}

// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), and (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y)).
void gelu_product(const float* gates, const float* ups, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; i += 16) {
    const F32 x = load_some(gates + i, count - i, 0.0f);
    const F32 inner = fma(mul(mul(x, x), broadcast(0.044715f)), x, x);
    const F32 z = mul(inner, broadcast(1.5957691216f));
    store_some(out + i, count - i, gate(x, z, load_some(ups + i, count - i, 0.0f)));
  }
}

INLINE void rotate_halves(const RopeCall& call, float* head) {
  const std::size_t pairs = call.dims / 2;
  for (std::size_t i = 0; i < pairs; i += 16) {
    const std::size_t left = pairs - i;
    const F32 cosine = load_some(call.angles + i, left, 1.0f);
    const F32 sine = load_some(call.angles + pairs + i, left, 0.0f);
    const F32 a = load_some(head + i, left, 0.0f);
    const F32 b = load_some(head + pairs + i, left, 0.0f);
    store_some(head + i, left, sub(mul(a, cosine), mul(b, sine)));
    store_some(head + pairs + i, left, add(mul(a, sine), mul(b, cosine)));
  }
}

INLINE void rotate_adjacent(const RopeCall& call, float* head) {
  const std::size_t pairs = call.dims / 2;
  std::size_t i = 0;
  for (; i + 8 <= pairs; i += 8) {
    const F32 x = load(head + 2 * i);
    const F32 cosines = load_twice(call.angles + i), sines = load_twice(call.angles + pairs + i);
    store(head + 2 * i, sub_add(mul(x, cosines), mul(swap_pairs(x), sines)));
  }
  for (; i < pairs; ++i) {
    const float cosine = call.angles[i], sine = call.angles[pairs + i];
    const float a = head[2 * i], b = head[2 * i + 1];
    head[2 * i] = a * cosine - b * sine;
    head[2 * i + 1] = a * sine + b * cosine;
  }
}

void rope(const RopeCall& call) {
  for (std::size_t h = 0; h < call.heads; ++h) {
    float* head = call.values + h * call.head_dim;
    if (call.halves) {
      rotate_halves(call, head);
    } else {
      rotate_adjacent(call, head);
    }
  }
}

constexpr float kLowest = -3.402823466e+38f;

float maximum(const float* values, std::size_t count) {
  F32 most = broadcast(kLowest);
  for (std::size_t i = 0; i < count; i += 16) {
    most = max(load_some(values + i, count - i, kLowest), most);  // keeps `most` against a NaN
  }
  return largest(most);
}

std::size_t first_above(const float* values, std::size_t count, float limit) {
  const F32 limits = broadcast(limit);
  for (std::size_t i = 0; i < count; i += 16) {
    if (!any_above(load_some(values + i, count - i, limit), limits)) {
      continue;
    }
    for (std::size_t j = i; j < count; ++j) {
      if (values[j] > limit) {
        return j;
      }
    }
  }
  return count;
}

float exponentials(const float* values, std::size_t count, float most, float factor, float* out) {
  F32 total = zero_f32();
  for (std::size_t i = 0; i < count; i += 16) {
    const F32 x = sub(load_some(values + i, count - i, kLowest), broadcast(most));
    const F32 e = exponential(mul(x, broadcast(factor)));
    const F32 kept = count - i >= 16 ? e : keep_lanes(e, zero_f32(), 0, static_cast<int>(count - i));
    total = add(total, kept);
    if (out != nullptr) {
      store_some(out + i, count - i, kept);
    }
  }
  return sum(total);
}
