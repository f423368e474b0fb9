// The integer dot product of AVX-VNNI: vpdpbusd on 256 bits. The including file says what
// DPBUSD256(sum, u, s) is: the instruction, or its emulation in a test.

constexpr int kTokenStep = 4;

template <int Maximum, int First, int Groups, int T, typename Loader>
INLINE void dot(const Loader& weights, const Inputs& inputs, I32 (&out)[T]) {
  UNROLL
  for (int t = 0; t < T; ++t) {
    out[t] = I32{_mm256_setzero_si256(), _mm256_setzero_si256()};
  }
  UNROLL
  for (int g = First; g < First + Groups; ++g) {
    const Bytes64 u = weights.group(g);
    UNROLL
    for (int t = 0; t < T; ++t) {
      const __m256i four =
          four_activations(inputs.quants + static_cast<std::size_t>(t) * inputs.stride + 4 * g);
      out[t].a = DPBUSD256(out[t].a, u.a, four);
      out[t].b = DPBUSD256(out[t].b, u.b, four);
    }
  }
}
