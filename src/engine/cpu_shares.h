// Which processors each of several engines in one process uses: equal shares of those the process may
// use, node by node, so that an engine and its KV cache stay on one NUMA node where that is possible, and
// by whole cores: two engines on hardware threads of the same cores would halve each other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace paternoster::engine {

struct CpuShare {
  std::vector<int> processors;
  int cores = 0;           // they are hardware threads of so many
  std::vector<int> nodes;  // they are on, ascending; empty: the machine does not say
};

// "0-3,8": as in cpulist files; what cannot be read is passed over.
std::vector<int> parse_cpu_list(const std::string& text);

// `count` shares of the processors `allowed`. Reads /sys below `root` (a directory in tests). With
// fewer processors than shares, shares overlap.
std::vector<CpuShare> cpu_shares(std::vector<int> allowed, int count, const std::filesystem::path& root = "/");

// The processors that the affinity mask of this process allows, ascending.
std::vector<int> allowed_processors();

// The calling thread, and every thread it starts from now on, runs on these processors alone. Where
// the system does not allow it nothing changes.
void run_on(const CpuShare& share);

}  // namespace paternoster::engine
