// Sixteen lanes as two 256-bit registers (AVX2, FMA, F16C). The same vocabulary as lanes_scalar.inl.

struct F32 {
  __m256 a, b;
};
struct I32 {
  __m256i a, b;
};
struct Bytes64 {
  __m256i a, b;
};

INLINE F32 zero_f32() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
INLINE F32 broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
INLINE F32 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
INLINE void store(float* p, F32 x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
INLINE F32 add(F32 x, F32 y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
INLINE F32 sub(F32 x, F32 y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
INLINE F32 mul(F32 x, F32 y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
INLINE F32 div(F32 x, F32 y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
INLINE F32 fma(F32 x, F32 y, F32 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
INLINE F32 max(F32 x, F32 y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
INLINE F32 min(F32 x, F32 y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
INLINE F32 abs(F32 x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
INLINE F32 load_twice(const float* p) {
  const __m256 eight = _mm256_loadu_ps(p);
  return {_mm256_permutevar8x32_ps(eight, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)),
          _mm256_permutevar8x32_ps(eight, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7))};
}
INLINE F32 swap_pairs(F32 x) { return {_mm256_permute_ps(x.a, 0xB1), _mm256_permute_ps(x.b, 0xB1)}; }
INLINE F32 sub_add(F32 x, F32 y) { return {_mm256_addsub_ps(x.a, y.a), _mm256_addsub_ps(x.b, y.b)}; }
INLINE F32 keep_from(F32 a, F32 x, F32 limit) {
  return {_mm256_and_ps(a.a, _mm256_cmp_ps(x.a, limit.a, _CMP_GE_OQ)),
          _mm256_and_ps(a.b, _mm256_cmp_ps(x.b, limit.b, _CMP_GE_OQ))};
}
INLINE __m256 lanes_within(__m256i lane, int begin, int end) {
  const __m256i from = _mm256_cmpgt_epi32(lane, _mm256_set1_epi32(begin - 1));
  const __m256i to = _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane);
  return _mm256_castsi256_ps(_mm256_and_si256(from, to));
}
INLINE F32 keep_lanes(F32 x, F32 y, int begin, int end) {
  const __m256i low = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i high = _mm256_add_epi32(low, _mm256_set1_epi32(8));
  return {_mm256_blendv_ps(y.a, x.a, lanes_within(low, begin, end)),
          _mm256_blendv_ps(y.b, x.b, lanes_within(high, begin, end))};
}
INLINE bool any_above(F32 x, F32 limit) {
  const __m256 a = _mm256_cmp_ps(x.a, limit.a, _CMP_GT_OQ);
  const __m256 b = _mm256_cmp_ps(x.b, limit.b, _CMP_GT_OQ);
  return _mm256_movemask_ps(_mm256_or_ps(a, b)) != 0;
}

INLINE F32 load_half(const std::uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
INLINE float half_at(const std::uint16_t* p) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(*p)));
}
INLINE void store_half(std::uint16_t* p, F32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8),
                   _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
INLINE __m256 widen_bfloat16(const std::uint16_t* p) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
INLINE F32 load_bfloat16(const std::uint16_t* p) {
  return {widen_bfloat16(p), widen_bfloat16(p + 8)};
}

INLINE I32 broadcast_i32(std::int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
INLINE I32 load_i8(const std::int8_t* p) {
  return {_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8)))};
}
INLINE void store_i8(std::int8_t* p, I32 x) {
  // packs works within 128-bit halves: put the quarters back in order before the last pack
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xD8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words),
                                        _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
INLINE void widen_shuffled(const std::int8_t* in, std::int16_t* out) {
  const __m256i words =
      _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(words, 0xD8), 0xD8));
}
INLINE I32 add(I32 x, I32 y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
INLINE I32 sub(I32 x, I32 y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
INLINE F32 to_float(I32 x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
INLINE I32 round(F32 x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
INLINE F32 scale_exponent(F32 x, I32 n) {
  return {_mm256_castsi256_ps(
              _mm256_add_epi32(_mm256_castps_si256(x.a), _mm256_slli_epi32(n.a, 23))),
          _mm256_castsi256_ps(
              _mm256_add_epi32(_mm256_castps_si256(x.b), _mm256_slli_epi32(n.b, 23)))};
}

INLINE float sum(F32 x) {
  const __m256 eight = _mm256_add_ps(x.a, x.b);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INLINE float largest(F32 x) {
  const __m256 eight = _mm256_max_ps(x.a, x.b);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
INLINE std::int32_t sum(I32 x) {
  const __m256i eight = _mm256_add_epi32(x.a, x.b);
  const __m128i four =
      _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xEE));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0x55)));
}

INLINE Bytes64 load_bytes(const std::uint8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
INLINE void store_bytes(std::uint8_t* p, Bytes64 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), x.b);
}
INLINE __m256i low_nibbles(__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
INLINE __m256i high_nibbles(__m256i x) { return low_nibbles(_mm256_srli_epi16(x, 4)); }
INLINE Bytes64 low_nibbles(Bytes64 x) { return {low_nibbles(x.a), low_nibbles(x.b)}; }
INLINE Bytes64 high_nibbles(Bytes64 x) { return {high_nibbles(x.a), high_nibbles(x.b)}; }

// Four activations in every 32-bit lane.
INLINE __m256i four_activations(const std::int8_t* p) {
  std::int32_t four;
  __builtin_memcpy(&four, p, 4);
  return _mm256_set1_epi32(four);
}
