#include "engine/machine.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

namespace paternoster::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;  // v1 writes a huge number for "none"

std::optional<std::string> first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> number_in(const fs::path& path) {
  const auto line = first_line(path);
  if (!line) return std::nullopt;
  std::istringstream words(*line);
  std::uint64_t value = 0;
  if (!(words >> value)) return std::nullopt;  // "max", or a quota of -1
  return value;
}

// A "name value" line of a file such as memory.stat or meminfo.
std::uint64_t field_in(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t value = 0;
  std::string rest;
  while (file >> word >> value && std::getline(file, rest)) {
    if (word == name) return value;
  }
  return 0;
}

// The directories of our control group for `controller` ("" is v2), innermost first, up to the mount.
// Inside a container the path may name what is not mounted here; then the mount itself is ours.
std::vector<fs::path> group_directories(const fs::path& root, const std::string& controller) {
  const fs::path mount = controller.empty() ? root / "sys/fs/cgroup"
                                            : root / "sys/fs/cgroup" / controller;
  std::vector<fs::path> directories;
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controller.empty() ? names != ",," : names.find("," + controller + ",") == std::string::npos) {
      continue;
    }
    fs::path inside = fs::path(line.substr(second + 1)).relative_path();
    for (; !inside.empty(); inside = inside.parent_path()) directories.push_back(mount / inside);
  }
  directories.push_back(mount);
  return directories;
}

struct CpuQuota {
  double processors;
};

std::optional<CpuQuota> smallest_quota(const fs::path& root) {
  std::optional<CpuQuota> smallest;
  const auto offer = [&](double quota, double period) {
    if (quota > 0 && period > 0 && (!smallest || quota / period < smallest->processors)) {
      smallest = CpuQuota{quota / period};
    }
  };
  for (const fs::path& directory : group_directories(root, "")) {
    const auto line = first_line(directory / "cpu.max");
    if (!line) continue;
    std::istringstream words(*line);
    double quota = 0;
    double period = 0;
    if (words >> quota >> period) offer(quota, period);
  }
  for (const fs::path& directory : group_directories(root, "cpu")) {
    const auto quota = number_in(directory / "cpu.cfs_quota_us");
    const auto period = number_in(directory / "cpu.cfs_period_us");
    if (quota && period && *quota < kNoLimit) {
      offer(static_cast<double>(*quota), static_cast<double>(*period));
    }
  }
  return smallest;
}

struct MemoryLimit {
  std::uint64_t limit_bytes;
  std::uint64_t used_bytes;
  std::string file;

  std::uint64_t available_bytes() const {
    return limit_bytes > used_bytes ? limit_bytes - used_bytes : 0;
  }
};

std::optional<MemoryLimit> tightest_memory(const fs::path& root) {
  std::optional<MemoryLimit> tightest;
  const auto offer = [&](const fs::path& directory, const char* limit_name, const char* used_name,
                         const char* cache_field) {
    const auto limit = number_in(directory / limit_name);
    if (!limit || *limit >= kNoLimit) return;
    const std::uint64_t used = number_in(directory / used_name).value_or(0);
    // Page cache that nobody works on is given back before anybody is killed.
    const std::uint64_t cache = field_in(directory / "memory.stat", cache_field);
    const MemoryLimit found{*limit, used > cache ? used - cache : 0, limit_name};
    if (!tightest || found.available_bytes() < tightest->available_bytes()) tightest = found;
  };
  for (const fs::path& directory : group_directories(root, "")) {
    offer(directory, "memory.max", "memory.current", "inactive_file");
  }
  for (const fs::path& directory : group_directories(root, "memory")) {
    offer(directory, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
  }
  return tightest;
}

// How many cores the allowed processors belong to: two threads of one core share its multipliers, so the
// second gains next to nothing and disturbs the first.
int core_count(const fs::path& root, const cpu_set_t& mask) {
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    const auto siblings =
        first_line(root / fmt::format("sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    cores.insert(siblings.value_or(std::to_string(cpu)));
  }
  return static_cast<int>(cores.size());
}

// Threads for a quota. Rounded down: one thread too many is throttled for the rest of every period, one too
// few is not. But where that would leave more than 15 % of the quota unused, rounded up.
int threads_for(double quota) {
  const double whole = std::floor(quota + 0.01);
  return std::max(1, static_cast<int>(whole >= 0.85 * quota ? whole : std::ceil(quota)));
}

void read_processors(const fs::path& root, Machine& machine) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int allowed = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  int cores = allowed;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    allowed = std::max(1, CPU_COUNT(&mask));
    cores = std::max(1, core_count(root, mask));
  }
  machine.processors = cores;
  machine.processors_reason = fmt::format("affinity mask allows {}", allowed);
  if (cores < allowed) machine.processors_reason += fmt::format(" on {} cores", cores);
  const auto quota = smallest_quota(root);
  if (!quota) return;
  machine.processors_reason += fmt::format(", cgroup quota is {:.2f} processors", quota->processors);
  machine.processors = std::min(cores, threads_for(quota->processors));
}

void read_memory(const fs::path& root, Machine& machine) {
  const std::uint64_t free_bytes = field_in(root / "proc/meminfo", "MemAvailable:") * 1024;
  machine.available_bytes = free_bytes;
  machine.available_reason = fmt::format("MemAvailable is {} MiB", free_bytes / kMebibyte);
  const auto limit = tightest_memory(root);
  if (!limit || (free_bytes != 0 && free_bytes <= limit->available_bytes())) return;
  machine.available_bytes = limit->available_bytes();
  machine.available_reason =
      fmt::format("cgroup {} is {} MiB, {} MiB of it in use", limit->file,
                  limit->limit_bytes / kMebibyte, limit->used_bytes / kMebibyte);
}

}  // namespace

Machine read_machine(const fs::path& root) {
  Machine machine;
  read_processors(root, machine);
  read_memory(root, machine);
  return machine;
}

}  // namespace paternoster::engine
