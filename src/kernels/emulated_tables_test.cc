// The AVX-512 and AVX-VNNI kernels with their instructions emulated by AVX2 ones, so that their flow
// is tested, bit for bit, on machines that lack them. Compiled with AVX2 flags (layer.cmake): nothing
// here but the two tables; the tests that use them are elsewhere.
#ifdef __x86_64__
#include <immintrin.h>

#include "kernels/isa_prologue.inl"

namespace paternoster::kernels {
namespace emulated512 {
namespace {

struct WideF32 {
  __m256 a, b;
};
struct WideI32 {
  __m256i a, b;
};

#define WIDE(name) emulated_##name
#define HALVES(type, name, parameters, a_half, b_half) \
  INLINE type emulated_##name parameters { return {a_half, b_half}; }
#define UNARY(type, in, name, wide) \
  INLINE type emulated_##name(in x) { return {wide(x.a), wide(x.b)}; }
#define BINARY(type, name, wide) \
  INLINE type emulated_##name(type x, type y) { return {wide(x.a, y.a), wide(x.b, y.b)}; }

HALVES(WideF32, setzero_ps, (), _mm256_setzero_ps(), _mm256_setzero_ps())
HALVES(WideF32, set1_ps, (float x), _mm256_set1_ps(x), _mm256_set1_ps(x))
HALVES(WideF32, loadu_ps, (const float* p), _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8))
HALVES(WideI32, setzero_si512, (), _mm256_setzero_si256(), _mm256_setzero_si256())
HALVES(WideI32, set1_epi32, (int x), _mm256_set1_epi32(x), _mm256_set1_epi32(x))
HALVES(WideI32, set1_epi8, (char x), _mm256_set1_epi8(x), _mm256_set1_epi8(x))
BINARY(WideF32, add_ps, _mm256_add_ps)
BINARY(WideF32, sub_ps, _mm256_sub_ps)
BINARY(WideF32, mul_ps, _mm256_mul_ps)
BINARY(WideF32, div_ps, _mm256_div_ps)
BINARY(WideF32, max_ps, _mm256_max_ps)
BINARY(WideF32, min_ps, _mm256_min_ps)
BINARY(WideI32, add_epi32, _mm256_add_epi32)
BINARY(WideI32, sub_epi32, _mm256_sub_epi32)
BINARY(WideI32, and_si512, _mm256_and_si256)
UNARY(WideF32, WideI32, cvtepi32_ps, _mm256_cvtepi32_ps)
UNARY(WideI32, WideF32, cvtps_epi32, _mm256_cvtps_epi32)
UNARY(WideF32, WideI32, castsi512_ps, _mm256_castsi256_ps)
UNARY(WideI32, WideF32, castps_si512, _mm256_castps_si256)

INLINE void emulated_storeu_ps(float* p, WideF32 x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
INLINE WideF32 emulated_fmadd_ps(WideF32 x, WideF32 y, WideF32 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
INLINE WideF32 emulated_abs_ps(WideF32 x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
INLINE __m256 emulated_extractf32x8_ps(WideF32 x, int) { return x.b; }
INLINE __m256 emulated_castps512_ps256(WideF32 x) { return x.a; }
INLINE WideF32 emulated_castps256_ps512(__m256 x) { return {x, _mm256_setzero_ps()}; }
INLINE WideF32 emulated_insertf32x8(WideF32 x, __m256 upper, int) { return {x.a, upper}; }
INLINE WideF32 emulated_permute_ps(WideF32 x, int) {
  return {_mm256_permute_ps(x.a, 0xB1), _mm256_permute_ps(x.b, 0xB1)};
}
INLINE WideI32 emulated_loadu_si512(const void* p) {
  const auto* q = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
INLINE void emulated_storeu_si512(void* p, WideI32 x) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), x.a);
  _mm256_storeu_si256(static_cast<__m256i*>(p) + 1, x.b);
}
INLINE WideI32 emulated_slli_epi32(WideI32 x, int n) {
  return {_mm256_slli_epi32(x.a, n), _mm256_slli_epi32(x.b, n)};
}
INLINE WideI32 emulated_srli_epi16(WideI32 x, int n) {
  return {_mm256_srli_epi16(x.a, n), _mm256_srli_epi16(x.b, n)};
}
INLINE WideF32 emulated_cvtph_ps(__m256i x) {
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(x)),
          _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1))};
}
INLINE __m256i emulated_cvtps_ph(WideF32 x, int) {
  return _mm256_set_m128i(_mm256_cvtps_ph(x.b, 0), _mm256_cvtps_ph(x.a, 0));
}
INLINE WideI32 emulated_cvtepu16_epi32(__m256i x) {
  return {_mm256_cvtepu16_epi32(_mm256_castsi256_si128(x)),
          _mm256_cvtepu16_epi32(_mm256_extracti128_si256(x, 1))};
}
INLINE WideI32 emulated_cvtepi8_epi32(__m128i x) {
  return {_mm256_cvtepi8_epi32(x), _mm256_cvtepi8_epi32(_mm_srli_si128(x, 8))};
}

// What has no AVX2 counterpart goes lane by lane.
struct Lanes {
  std::int32_t v[16];
};
INLINE Lanes lanes_of(WideI32 x) {
  Lanes r;
  __builtin_memcpy(r.v, &x, 64);
  return r;
}
INLINE WideI32 wide_of(const Lanes& x) {
  WideI32 r;
  __builtin_memcpy(&r, x.v, 64);
  return r;
}
INLINE __m128i emulated_cvtsepi32_epi8(WideI32 x) {
  const Lanes lanes = lanes_of(x);
  std::int8_t out[16];
  for (int i = 0; i < 16; ++i) {
    const std::int32_t v = lanes.v[i];
    out[i] = static_cast<std::int8_t>(v < -128 ? -128 : v > 127 ? 127 : v);
  }
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(out));
}
INLINE int emulated_reduce_add_epi32(WideI32 x) {
  const Lanes lanes = lanes_of(x);
  int total = 0;
  for (int i = 0; i < 16; ++i) {
    total += lanes.v[i];
  }
  return total;
}
template <typename Compare>
INLINE __mmask16 compare_lanes(WideF32 x, WideF32 y, Compare compare) {
  float a[16], b[16];
  emulated_storeu_ps(a, x);
  emulated_storeu_ps(b, y);
  unsigned mask = 0;
  for (int i = 0; i < 16; ++i) {
    mask |= compare(a[i], b[i]) ? 1u << i : 0u;
  }
  return static_cast<__mmask16>(mask);
}
INLINE __mmask16 emulated_cmp_ps_mask(WideF32 x, WideF32 y, int predicate) {
  return predicate == _CMP_GE_OQ ? compare_lanes(x, y, [](float a, float b) { return a >= b; })
                                 : compare_lanes(x, y, [](float a, float b) { return a > b; });
}
INLINE WideF32 emulated_mask_mov_ps(WideF32 otherwise, __mmask16 mask, WideF32 x) {
  float a[16], b[16];
  emulated_storeu_ps(a, x);
  emulated_storeu_ps(b, otherwise);
  for (int i = 0; i < 16; ++i) {
    a[i] = (mask >> i & 1) != 0 ? a[i] : b[i];
  }
  return emulated_loadu_ps(a);
}
INLINE WideF32 emulated_maskz_mov_ps(__mmask16 mask, WideF32 x) {
  return emulated_mask_mov_ps(emulated_setzero_ps(), mask, x);
}
INLINE WideF32 emulated_mask_sub_ps(WideF32 otherwise, __mmask16 mask, WideF32 x, WideF32 y) {
  return emulated_mask_mov_ps(otherwise, mask, emulated_sub_ps(x, y));
}
INLINE WideI32 emulated_dpbusd_epi32(WideI32 sums, WideI32 u, WideI32 s) {
  Lanes r = lanes_of(sums);
  const Lanes a = lanes_of(u), b = lanes_of(s);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int x = static_cast<int>(static_cast<std::uint32_t>(a.v[i]) >> (8 * j) & 255u);
      const int y = static_cast<std::int8_t>(static_cast<std::uint32_t>(b.v[i]) >> (8 * j) & 255u);
      r.v[i] += x * y;
    }
  }
  return wide_of(r);
}

#include "kernels/lanes_avx512.inl"
#include "kernels/body.inl"

}  // namespace
}  // namespace emulated512

namespace emulated_vnni {
namespace {

INLINE __m256i dpbusd256(__m256i sums, __m256i u, __m256i s) {
  const __m256i zero = _mm256_setzero_si256();
  return emulated512::emulated_dpbusd_epi32({sums, zero}, {u, zero}, {s, zero}).a;
}
#define DPBUSD256(sum, u, s) dpbusd256(sum, u, s)

#include "kernels/lanes_avx2.inl"
#include "kernels/dot_avxvnni.inl"
#include "kernels/body.inl"

}  // namespace
}  // namespace emulated_vnni

extern const KernelTable kEmulatedAvx512Table;
extern const KernelTable kEmulatedAvxVnniTable;
const KernelTable kEmulatedAvx512Table = emulated512::kTable;
const KernelTable kEmulatedAvxVnniTable = emulated_vnni::kTable;

}  // namespace paternoster::kernels
#endif
