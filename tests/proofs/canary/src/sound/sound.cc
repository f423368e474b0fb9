#include "sound/sound.h"

namespace canary {
int sum(const std::vector<int>& values) {
  int total = 0;
  for (int value : values) total += value;
  return total;
}
}  // namespace canary
