// How keys and values are kept in the cache. A plain enumeration in a header of its own, because the files
// built per instruction set may include nothing that has inline functions. Names are in attention.h.
#pragma once

#include <cstdint>

namespace paternoster::kernels {

// An element of q8_0 is an int8 times the f16 scale of its 32.
enum class KvType : std::uint8_t { kF16, kBF16, kQ8_0 };

}  // namespace paternoster::kernels
