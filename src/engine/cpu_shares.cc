#include "engine/cpu_shares.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>

namespace paternoster::engine {
namespace {

namespace fs = std::filesystem;

constexpr int kMostProcessors = 1 << 16;

// The node of each processor, where the system has nodes.
std::map<int, int> nodes_of_processors(const fs::path& root) {
  std::map<int, int> nodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    int node = 0;
    const auto [end, wrong] = std::from_chars(name.data() + std::min<std::size_t>(4, name.size()),
                                              name.data() + name.size(), node);
    if (!name.starts_with("node") || wrong != std::errc() || end != name.data() + name.size()) continue;
    std::ifstream file(entry.path() / "cpulist");
    std::string line;
    if (!std::getline(file, line)) continue;
    for (const int processor : parse_cpu_list(line)) nodes[processor] = node;
  }
  return nodes;
}

// Hardware threads that share one core's units, of those allowed.
struct Core {
  int node = -1;
  std::vector<int> processors;
};

// Node by node, and in the order of their first processors. One whose siblings are not told is a core.
std::vector<Core> cores_of(const std::vector<int>& allowed, const std::map<int, int>& nodes, const fs::path& root) {
  std::map<int, Core> by_first;
  for (const int processor : allowed) {
    std::ifstream file(root / "sys/devices/system/cpu" / ("cpu" + std::to_string(processor)) /
                       "topology/thread_siblings_list");
    std::string line;
    int first = processor;
    if (std::getline(file, line)) {
      const std::vector<int> siblings = parse_cpu_list(line);
      if (!siblings.empty()) first = siblings.front();
    }
    Core& core = by_first[first];
    const auto node = nodes.find(processor);
    core.node = node == nodes.end() ? -1 : node->second;
    core.processors.push_back(processor);
  }
  std::vector<Core> cores;
  for (auto& [first, core] : by_first) cores.push_back(std::move(core));
  std::ranges::stable_sort(cores, {}, &Core::node);
  return cores;
}

std::vector<Core> apart(const std::vector<Core>& cores) {
  std::vector<Core> single;
  for (const Core& core : cores) {
    for (const int processor : core.processors) single.push_back({core.node, {processor}});
  }
  return single;
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::set<int> processors;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    const auto [after_first, wrong] = std::from_chars(at, end, first);
    if (wrong != std::errc()) break;
    int last = first;
    at = after_first;
    if (at < end && *at == '-') {
      const auto [after_last, wrong_last] = std::from_chars(at + 1, end, last);
      if (wrong_last != std::errc()) break;
      at = after_last;
    }
    for (int one = std::max(0, first); one <= std::min(last, kMostProcessors); ++one) processors.insert(one);
    if (at < end && *at == ',') ++at; else break;
  }
  return {processors.begin(), processors.end()};
}

std::vector<CpuShare> cpu_shares(std::vector<int> allowed, int count, const fs::path& root) {
  const std::map<int, int> nodes = nodes_of_processors(root);
  std::vector<Core> cores = cores_of(allowed, nodes, root);
  // More engines than cores: hardware threads of one core are better than one that is shared.
  if (cores.size() < static_cast<std::size_t>(count)) cores = apart(cores);
  std::vector<CpuShare> shares(static_cast<std::size_t>(count));
  const std::size_t total = cores.size();
  const std::size_t each = total / shares.size();
  std::size_t next = 0;
  for (std::size_t at = 0; at < shares.size() && total > 0; ++at) {
    // The first ones get what is left over, as they do of threads.
    const std::size_t begin = each > 0 ? next : at * total / shares.size();
    const std::size_t end = begin + std::max<std::size_t>(1, each + (each > 0 && at < total % shares.size() ? 1 : 0));
    next = end;
    std::set<int> met;
    for (std::size_t one = begin; one < end; ++one) {
      shares[at].processors.insert(shares[at].processors.end(), cores[one].processors.begin(),
                                   cores[one].processors.end());
      if (cores[one].node >= 0) met.insert(cores[one].node);
    }
    std::ranges::sort(shares[at].processors);
    shares[at].cores = static_cast<int>(end - begin);
    shares[at].nodes.assign(met.begin(), met.end());
  }
  return shares;
}

std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &mask)) processors.push_back(processor);
  }
  return processors;
}

void run_on(const CpuShare& share) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int processor : share.processors) {
    if (processor < CPU_SETSIZE) CPU_SET(processor, &mask);
  }
  if (CPU_COUNT(&mask) > 0) sched_setaffinity(0, sizeof mask, &mask);
}

}  // namespace paternoster::engine
