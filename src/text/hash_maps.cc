#include "text/hash_maps.h"

#include <random>

namespace paternoster::text {

std::uint64_t hash_seed() {
  static const std::uint64_t seed = [] {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }();
  return seed;
}

}  // namespace paternoster::text
