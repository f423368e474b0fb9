// What a block of 32 int8 activations carries beside its values. A plain struct in a header of its
// own, because the files built per instruction set may include nothing that has inline functions.
#pragma once

#include <cstdint>

namespace paternoster::kernels {

struct ActivationBlock {
  float scale;           // value = scale * int8
  float scaled_sum;      // scale * float(sum): what a weight's minimum is multiplied with
  std::int32_t sum;      // of the 32 int8 values
  std::int32_t sum_low;  // of the first 16 of them
};

}  // namespace paternoster::kernels
