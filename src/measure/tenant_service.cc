#include "measure/tenant_service.h"

#include <algorithm>
#include <numeric>

namespace paternoster::measure {
namespace {

std::size_t place_of(std::int64_t slice) {
  return static_cast<std::size_t>(slice) % TenantService::kSlices;
}

}  // namespace

// Empties the slices that time has reached since, and forgets who has not been seen in any.
void TenantService::move_to(std::int64_t now_ns) {
  const std::int64_t now = now_ns / kSliceNs;
  if (now <= slice_) return;
  constexpr auto kAll = static_cast<std::int64_t>(kSlices);
  for (std::int64_t slice = std::max(slice_ + 1, now - kAll + 1); slice <= now; ++slice) {
    for (auto& [name, tenant] : tenants_) tenant.tokens[place_of(slice)] = 0;
  }
  slice_ = now;
  std::erase_if(tenants_, [&](const auto& entry) { return entry.second.seen_slice <= now - kAll; });
}

void TenantService::arrived(const std::string& name, std::int32_t weight, std::int64_t now_ns) {
  move_to(now_ns);
  Tenant& tenant = tenants_[name];
  tenant.weight = std::max(weight, 1);
  tenant.seen_slice = slice_;
}

void TenantService::served(const std::string& name, double tokens, std::int64_t now_ns) {
  move_to(now_ns);
  Tenant& tenant = tenants_[name];
  tenant.seen_slice = slice_;
  tenant.tokens[place_of(slice_)] += tokens;
}

TenantService::Evenness TenantService::evenness(std::int64_t now_ns) {
  move_to(now_ns);
  if (tenants_.size() < 2) return {};
  double sum = 0;
  double squares = 0;
  double least = 0;
  double most = 0;
  bool first = true;
  for (const auto& [name, tenant] : tenants_) {
    const double service = std::accumulate(tenant.tokens.begin(), tenant.tokens.end(), 0.0) / tenant.weight;
    sum += service;
    squares += service * service;
    least = first ? service : std::min(least, service);
    most = std::max(most, service);
    first = false;
  }
  if (squares == 0) return {};
  return {sum * sum / (static_cast<double>(tenants_.size()) * squares), most - least};
}

}  // namespace paternoster::measure
