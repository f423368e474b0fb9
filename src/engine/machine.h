// What this process may use of the machine it runs on: processors and memory, with the reasons.
//
// A container's limits are not the machine's: cgroup quotas (v1 and v2, every level up to the root)
// and the affinity mask (cpusets too) are honoured, and hardware threads of one core count once,
// because exceeding them means being throttled or killed. Every figure carries the sentence that the
// log prints, so that nobody wonders where it came from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace paternoster::engine {

inline constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

struct Machine {
  int processors = 1;             // how many threads can really run at once
  std::string processors_reason;  // "affinity mask allows 8, cgroup quota 2.50 processors"

  std::uint64_t available_bytes = 0;  // what we may still allocate without swapping or being killed
  std::string available_reason;       // "cgroup memory.max 2048 MiB, 300 MiB of it in use"
};

// Reads /proc and /sys below `root` (a directory in tests). What cannot be read does not limit.
Machine read_machine(const std::filesystem::path& root = "/");

}  // namespace paternoster::engine
