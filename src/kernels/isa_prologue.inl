// What every isa_*.cc needs before its lanes: plain declarations, and nothing that could be emitted
// outside a namespace without a name (kernel_table.h says why).
#include <cstddef>
#include <cstdint>

#include "kernels/activation_block.h"
#include "kernels/formats.h"
#include "kernels/kernel_table.h"
#include "kernels/kv_type.h"

#define INLINE __attribute__((always_inline)) inline
#define NOINLINE __attribute__((noinline))
// Before a loop whose bound is a template argument: unrolled, its arrays become registers.
#define UNROLL _Pragma("GCC unroll 16")

namespace paternoster::kernels {

// What a dot product reads of its tokens: integers from some block on, and the distance from one token
// to the next, the same number of elements in both forms (activations.h).
struct Inputs {
  const std::int8_t* quants;
  const std::int16_t* wides;
  std::size_t stride;
};

}  // namespace paternoster::kernels
