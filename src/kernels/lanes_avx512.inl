// Sixteen lanes as one 512-bit register (AVX-512 F, BW, DQ, VL and VNNI). The same vocabulary as
// lanes_scalar.inl. The including file says what WIDE(name) is: _mm512_name, or its emulation in a
// test, since not every machine that builds this can run it.

struct F32 {
  WideF32 v;
};
struct I32 {
  WideI32 v;
};
struct Bytes64 {
  WideI32 v;
};

INLINE F32 zero_f32() { return {WIDE(setzero_ps)()}; }
INLINE F32 broadcast(float x) { return {WIDE(set1_ps)(x)}; }
INLINE F32 load(const float* p) { return {WIDE(loadu_ps)(p)}; }
INLINE void store(float* p, F32 x) { WIDE(storeu_ps)(p, x.v); }
INLINE F32 add(F32 x, F32 y) { return {WIDE(add_ps)(x.v, y.v)}; }
INLINE F32 sub(F32 x, F32 y) { return {WIDE(sub_ps)(x.v, y.v)}; }
INLINE F32 mul(F32 x, F32 y) { return {WIDE(mul_ps)(x.v, y.v)}; }
INLINE F32 div(F32 x, F32 y) { return {WIDE(div_ps)(x.v, y.v)}; }
INLINE F32 fma(F32 x, F32 y, F32 z) { return {WIDE(fmadd_ps)(x.v, y.v, z.v)}; }
INLINE F32 max(F32 x, F32 y) { return {WIDE(max_ps)(x.v, y.v)}; }
INLINE F32 min(F32 x, F32 y) { return {WIDE(min_ps)(x.v, y.v)}; }
INLINE F32 abs(F32 x) { return {WIDE(abs_ps)(x.v)}; }
INLINE F32 load_twice(const float* p) {
  const __m256 eight = _mm256_loadu_ps(p);
  const __m256 low = _mm256_permutevar8x32_ps(eight, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  const __m256 high = _mm256_permutevar8x32_ps(eight, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7));
  return {WIDE(insertf32x8)(WIDE(castps256_ps512)(low), high, 1)};
}
INLINE F32 swap_pairs(F32 x) { return {WIDE(permute_ps)(x.v, 0xB1)}; }
INLINE F32 sub_add(F32 x, F32 y) {
  return {WIDE(mask_sub_ps)(WIDE(add_ps)(x.v, y.v), 0x5555, x.v, y.v)};
}
INLINE F32 keep_from(F32 a, F32 x, F32 limit) {
  return {WIDE(maskz_mov_ps)(WIDE(cmp_ps_mask)(x.v, limit.v, _CMP_GE_OQ), a.v)};
}
INLINE F32 keep_lanes(F32 x, F32 y, int begin, int end) {
  const unsigned within = end > begin ? (1u << end) - (1u << begin) : 0u;
  return {WIDE(mask_mov_ps)(y.v, static_cast<__mmask16>(within), x.v)};
}
INLINE bool any_above(F32 x, F32 limit) {
  return WIDE(cmp_ps_mask)(x.v, limit.v, _CMP_GT_OQ) != 0;
}

INLINE F32 load_half(const std::uint16_t* p) {
  return {WIDE(cvtph_ps)(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
INLINE float half_at(const std::uint16_t* p) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(*p)));
}
INLINE void store_half(std::uint16_t* p, F32 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      WIDE(cvtps_ph)(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
INLINE F32 load_bfloat16(const std::uint16_t* p) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {WIDE(castsi512_ps)(WIDE(slli_epi32)(WIDE(cvtepu16_epi32)(bits), 16))};
}

INLINE I32 broadcast_i32(std::int32_t x) { return {WIDE(set1_epi32)(x)}; }
INLINE I32 load_i8(const std::int8_t* p) {
  return {WIDE(cvtepi8_epi32)(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
INLINE void store_i8(std::int8_t* p, I32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), WIDE(cvtsepi32_epi8)(x.v));
}
INLINE void widen_shuffled(const std::int8_t* in, std::int16_t* out) {
  const __m256i words =
      _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(words, 0xD8), 0xD8));
}
INLINE I32 add(I32 x, I32 y) { return {WIDE(add_epi32)(x.v, y.v)}; }
INLINE I32 sub(I32 x, I32 y) { return {WIDE(sub_epi32)(x.v, y.v)}; }
INLINE F32 to_float(I32 x) { return {WIDE(cvtepi32_ps)(x.v)}; }
INLINE I32 round(F32 x) { return {WIDE(cvtps_epi32)(x.v)}; }
INLINE F32 scale_exponent(F32 x, I32 n) {
  return {WIDE(castsi512_ps)(WIDE(add_epi32)(WIDE(castps_si512)(x.v), WIDE(slli_epi32)(n.v, 23)))};
}

INLINE __m256 upper_half(F32 x) { return WIDE(extractf32x8_ps)(x.v, 1); }
INLINE float sum(F32 x) {
  const __m256 eight = _mm256_add_ps(WIDE(castps512_ps256)(x.v), upper_half(x));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INLINE float largest(F32 x) {
  const __m256 eight = _mm256_max_ps(WIDE(castps512_ps256)(x.v), upper_half(x));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
INLINE std::int32_t sum(I32 x) { return WIDE(reduce_add_epi32)(x.v); }

INLINE Bytes64 load_bytes(const std::uint8_t* p) { return {WIDE(loadu_si512)(p)}; }
INLINE void store_bytes(std::uint8_t* p, Bytes64 x) { WIDE(storeu_si512)(p, x.v); }
INLINE Bytes64 low_nibbles(Bytes64 x) { return {WIDE(and_si512)(x.v, WIDE(set1_epi8)(15))}; }
INLINE Bytes64 high_nibbles(Bytes64 x) { return low_nibbles(Bytes64{WIDE(srli_epi16)(x.v, 4)}); }

constexpr int kTokenStep = 8;  // 8 integer and 8 float accumulators and 8 weights: 24 of 32 registers

// One vpdpbusd a group and token: unsigned by signed bytes, added in 32 bits, never saturating.
template <int Maximum, int First, int Groups, int T, typename Loader>
INLINE void dot(const Loader& weights, const Inputs& inputs, I32 (&out)[T]) {
  UNROLL
  for (int t = 0; t < T; ++t) {
    out[t].v = WIDE(setzero_si512)();
  }
  UNROLL
  for (int g = First; g < First + Groups; ++g) {
    const Bytes64 u = weights.group(g);
    UNROLL
    for (int t = 0; t < T; ++t) {
      std::int32_t four;
      __builtin_memcpy(&four, inputs.quants + static_cast<std::size_t>(t) * inputs.stride + 4 * g, 4);
      out[t].v = WIDE(dpbusd_epi32)(out[t].v, u.v, WIDE(set1_epi32)(four));
    }
  }
}
