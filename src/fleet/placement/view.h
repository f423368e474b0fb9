// What a placement policy may look at: the engines that may take this batch, by ascending id.
#pragma once

#include <cstdint>
#include <span>

#include "fleet/ids.h"

namespace paternoster::fleet::placement {

struct Engine {
  InstanceId id;
  std::int64_t load_ns = 0;         // estimates of what it has been given and not finished
  std::int32_t requests = 0;        // in these
  std::int64_t known_blocks = 0;    // of the batch's prompts, probably in its cache (prefix-aware only)
};

struct View {
  std::span<const Engine> engines;  // never empty
  std::int64_t estimate_ns = 0;     // of the batch to be placed
  std::uint64_t beginning = 0;      // digest of its first block; 0: unknown
  std::int32_t slack_permille = 0;
  InstanceId last;                  // who was chosen last
  bool any_before = false;          // whether `last` means anything
};

}  // namespace paternoster::fleet::placement
