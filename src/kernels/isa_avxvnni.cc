// The kernels for AVX2 with AVX-VNNI (Alder Lake and later without AVX-512).
#include <immintrin.h>

#include "kernels/isa_prologue.inl"

#define DPBUSD256(sum, u, s) _mm256_dpbusd_avx_epi32(sum, u, s)

namespace paternoster::kernels {
namespace {

#include "kernels/lanes_avx2.inl"
#include "kernels/dot_avxvnni.inl"
#include "kernels/body.inl"

}  // namespace

const KernelTable kAvxVnniTable = kTable;

}  // namespace paternoster::kernels
