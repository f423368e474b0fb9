// Ids of the second planner: engines, and batches of slices given to them.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace paternoster::fleet {

using InstanceId = Id<struct InstanceTag, std::uint32_t>;  // one engine, counted from 0
using BatchId = Id<struct BatchTag, std::uint64_t>;        // slices that one engine runs together

}  // namespace paternoster::fleet
