// The integer dot product without VNNI. maddubs multiplies unsigned by signed bytes and adds pairs
// into 16 bits; a pair is at most 2 * 127 * Maximum, so several groups can be added in 16 bits
// without overflow before they are widened: all eight for 4-bit weights, four for 5-bit, two for
// 6-bit ones. 8-bit weights are multiplied as 16-bit integers, which maddwd adds in 32 bits: half as many
// products an instruction, but nothing to widen. Hence every sum is exact.

constexpr int kTokenStep = 4;  // 8 of 16 registers are accumulators

// How many groups of integers up to Maximum can be added in 16 bits.
template <int Maximum>
constexpr int kNarrowGroups = 32767 / (254 * Maximum);

INLINE __m256i widen_pairs(__m256i x) { return _mm256_madd_epi16(x, _mm256_set1_epi16(1)); }

// Two activations in every 32-bit lane.
INLINE __m256i two_activations(const std::int16_t* p) {
  std::int32_t two;
  __builtin_memcpy(&two, p, 4);
  return _mm256_set1_epi32(two);
}

template <int Maximum, int First, int Groups, int T, typename Loader>
INLINE void dot_small(const Loader& weights, const Inputs& inputs, I32 (&out)[T]) {
  constexpr int kRun = kNarrowGroups<Maximum> < Groups ? kNarrowGroups<Maximum> : Groups;
  Bytes64 narrow[T];
  UNROLL
  for (int g = 0; g < Groups; ++g) {
    const Bytes64 u = weights.group(First + g);
    UNROLL
    for (int t = 0; t < T; ++t) {
      const std::int8_t* p =
          inputs.quants + static_cast<std::size_t>(t) * inputs.stride + 4 * (First + g);
      const __m256i four = four_activations(p);
      const __m256i a = _mm256_maddubs_epi16(u.a, four), b = _mm256_maddubs_epi16(u.b, four);
      narrow[t].a = g % kRun == 0 ? a : _mm256_add_epi16(narrow[t].a, a);
      narrow[t].b = g % kRun == 0 ? b : _mm256_add_epi16(narrow[t].b, b);
    }
    if (g % kRun == kRun - 1 || g == Groups - 1) {
      UNROLL
      for (int t = 0; t < T; ++t) {
        const I32 wide = {widen_pairs(narrow[t].a), widen_pairs(narrow[t].b)};
        out[t] = g < kRun ? wide : add(out[t], wide);
      }
    }
  }
}

// Even and odd bytes of the weights become words of their own; Activations::wides has their partners
// next to each other.
template <int First, int Groups, int T, typename Loader>
INLINE void dot_wide(const Loader& weights, const Inputs& inputs, I32 (&out)[T]) {
  const __m256i even = _mm256_set1_epi16(0x00FF);
  UNROLL
  for (int g = 0; g < Groups; ++g) {
    const Bytes64 u = weights.group(First + g);
    const __m256i even_a = _mm256_and_si256(u.a, even), even_b = _mm256_and_si256(u.b, even);
    const __m256i odd_a = _mm256_srli_epi16(u.a, 8), odd_b = _mm256_srli_epi16(u.b, 8);
    UNROLL
    for (int t = 0; t < T; ++t) {
      const std::int16_t* p =
          inputs.wides + static_cast<std::size_t>(t) * inputs.stride + 4 * (First + g);
      const __m256i with_even = two_activations(p), with_odd = two_activations(p + 2);
      const __m256i a = _mm256_madd_epi16(even_a, with_even);
      const __m256i b = _mm256_madd_epi16(even_b, with_even);
      out[t].a = g == 0 ? a : _mm256_add_epi32(out[t].a, a);
      out[t].b = g == 0 ? b : _mm256_add_epi32(out[t].b, b);
      out[t].a = _mm256_add_epi32(out[t].a, _mm256_madd_epi16(odd_a, with_odd));
      out[t].b = _mm256_add_epi32(out[t].b, _mm256_madd_epi16(odd_b, with_odd));
    }
  }
}

template <int Maximum, int First, int Groups, int T, typename Loader>
INLINE void dot(const Loader& weights, const Inputs& inputs, I32 (&out)[T]) {
  if constexpr (Maximum > 127) {
    dot_wide<First, Groups, T>(weights, inputs, out);
  } else {
    dot_small<Maximum, First, Groups, T>(weights, inputs, out);
  }
}
