// The kernels for AVX-512 with VNNI (Ice Lake, Zen 4 and later).
#include <immintrin.h>

#include "kernels/isa_prologue.inl"

#define WIDE(name) _mm512_##name

namespace paternoster::kernels {
namespace {

using WideF32 = __m512;
using WideI32 = __m512i;

#include "kernels/lanes_avx512.inl"
#include "kernels/body.inl"

}  // namespace

const KernelTable kAvx512VnniTable = kTable;

}  // namespace paternoster::kernels
