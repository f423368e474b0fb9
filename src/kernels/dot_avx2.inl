// The integer dot product without VNNI. maddubs multiplies unsigned by signed bytes and adds pairs
// into 16 bits; a pair is at most 2 * 127 * Maximum, so several groups can be added in 16 bits
// without overflow before they are widened: all eight for 4-bit weights, four for 5-bit, two for
// 6-bit ones. 8-bit weights are split into two nibbles. Hence every sum is exact.

constexpr int kTokenStep = 4;  // 8 of 16 registers are accumulators

// How many groups of integers up to Maximum can be added in 16 bits.
template <int Maximum>
constexpr int kNarrowGroups = 32767 / (254 * Maximum);

INLINE __m256i widen_pairs(__m256i x, short factor) {
  return _mm256_madd_epi16(x, _mm256_set1_epi16(factor));
}

template <int Maximum, int First, int Groups, int T, typename Loader>
INLINE void dot_small(const Loader& weights, const std::int8_t* activations, std::size_t stride,
                      I32 (&out)[T]) {
  constexpr int kRun = kNarrowGroups<Maximum> < Groups ? kNarrowGroups<Maximum> : Groups;
  Bytes64 narrow[T];
  UNROLL
  for (int g = 0; g < Groups; ++g) {
    const Bytes64 u = weights.group(First + g);
    UNROLL
    for (int t = 0; t < T; ++t) {
      const std::int8_t* p = activations + static_cast<std::size_t>(t) * stride + 4 * (First + g);
      const __m256i four = four_activations(p);
      const __m256i a = _mm256_maddubs_epi16(u.a, four), b = _mm256_maddubs_epi16(u.b, four);
      narrow[t].a = g % kRun == 0 ? a : _mm256_add_epi16(narrow[t].a, a);
      narrow[t].b = g % kRun == 0 ? b : _mm256_add_epi16(narrow[t].b, b);
    }
    if (g % kRun == kRun - 1 || g == Groups - 1) {
      UNROLL
      for (int t = 0; t < T; ++t) {
        const I32 wide = {widen_pairs(narrow[t].a, 1), widen_pairs(narrow[t].b, 1)};
        out[t] = g < kRun ? wide : add(out[t], wide);
      }
    }
  }
}

// Eight rows at a time, since low and high nibbles take two accumulators each.
template <int First, int Groups, int T, typename Loader>
INLINE void dot_split(const Loader& weights, const std::int8_t* activations, std::size_t stride,
                      I32 (&out)[T]) {
  UNROLL
  for (int half = 0; half < 2; ++half) {
    __m256i low[T], high[T];
    UNROLL
    for (int g = 0; g < Groups; ++g) {
      const Bytes64 both = weights.group(First + g);
      const __m256i u = half == 0 ? both.a : both.b;
      const __m256i u_low = low_nibbles(u), u_high = high_nibbles(u);
      UNROLL
      for (int t = 0; t < T; ++t) {
        const std::int8_t* p = activations + static_cast<std::size_t>(t) * stride + 4 * (First + g);
        const __m256i four = four_activations(p);
        const __m256i a = _mm256_maddubs_epi16(u_low, four);
        const __m256i b = _mm256_maddubs_epi16(u_high, four);
        low[t] = g == 0 ? a : _mm256_add_epi16(low[t], a);
        high[t] = g == 0 ? b : _mm256_add_epi16(high[t], b);
      }
    }
    UNROLL
    for (int t = 0; t < T; ++t) {
      const __m256i total = _mm256_add_epi32(widen_pairs(low[t], 1), widen_pairs(high[t], 16));
      (half == 0 ? out[t].a : out[t].b) = total;
    }
  }
}

template <int Maximum, int First, int Groups, int T, typename Loader>
INLINE void dot(const Loader& weights, const std::int8_t* activations, std::size_t stride,
                I32 (&out)[T]) {
  if constexpr (Maximum > 127) {
    dot_split<First, Groups, T>(weights, activations, stride, out);
  } else {
    dot_small<Maximum, First, Groups, T>(weights, activations, stride, out);
  }
}
