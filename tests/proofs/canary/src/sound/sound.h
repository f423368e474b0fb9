// A layer with nothing wrong in it.
#pragma once
#include <vector>

namespace canary {
int sum(const std::vector<int>& values);
}
