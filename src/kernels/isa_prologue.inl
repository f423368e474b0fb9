// What every isa_*.cc needs before its lanes: plain declarations, and nothing that could be emitted
// outside a namespace without a name (kernel_table.h says why).
#include <cstddef>
#include <cstdint>

#include "kernels/activation_block.h"
#include "kernels/formats.h"
#include "kernels/kernel_table.h"

#define INLINE __attribute__((always_inline)) inline
#define NOINLINE __attribute__((noinline))
// Before a loop whose bound is a template argument: unrolled, its arrays become registers.
#define UNROLL _Pragma("GCC unroll 16")
