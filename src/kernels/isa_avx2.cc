// The kernels for AVX2 with FMA and F16C (Haswell, Zen and later).
#include <immintrin.h>

#include "kernels/isa_prologue.inl"

namespace paternoster::kernels {
namespace {

#include "kernels/lanes_avx2.inl"
#include "kernels/dot_avx2.inl"
#include "kernels/body.inl"

}  // namespace

const KernelTable kAvx2Table = kTable;

}  // namespace paternoster::kernels
