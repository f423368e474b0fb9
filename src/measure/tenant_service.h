// Who got how much lately: each tenant's service by weight over the last minute, and how even it is.
//
// Service is prompt tokens computed + 2 x output tokens, divided by the tenant's weight (VTC, arXiv
// 2401.00588, section 3.1, with its weights). A tenant counts while it asked for something in the last
// minute; one that asks for little gets little, which is not unfair but lowers the index all the same.
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace paternoster::measure {

class TenantService {
 public:
  static constexpr std::int64_t kSliceNs = 10'000'000'000;
  static constexpr std::size_t kSlices = 6;

  void arrived(const std::string& tenant, std::int32_t weight, std::int64_t now_ns);
  void served(const std::string& tenant, double tokens, std::int64_t now_ns);

  struct Evenness {
    double jain = 1;  // 1: all equal, 1 / n: one has it all; 1 also for fewer than two tenants
    double largest_gap = 0;
  };
  Evenness evenness(std::int64_t now_ns);

 private:
  struct Tenant {
    double weight = 1;
    std::int64_t seen_slice = 0;
    std::array<double, kSlices> tokens{};  // by slice of time, in a ring
  };

  void move_to(std::int64_t now_ns);

  std::unordered_map<std::string, Tenant> tenants_;
  std::int64_t slice_ = 0;
};

}  // namespace paternoster::measure
