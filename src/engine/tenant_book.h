// Tenants by name, as the numbers that the scheduler knows them by. Only the engine's thread uses it.
//
// Names come from clients, so there may be any number: a tenant without live calls is forgotten when
// there are too many, and gets a new number when it comes again.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/ids.h"

namespace paternoster::engine {

class TenantBook {
 public:
  static constexpr std::size_t kMostIdle = 4096;

  struct Entered {
    TenantId id;
    bool weighs_anew = false;  // the scheduler does not know this weight of it yet
  };

  // A call of this tenant begins. The empty name is nobody in particular, number 0.
  Entered enter(const std::string& name, std::int32_t weight = 1) {
    if (name.empty()) return {};
    if (tenants_.size() >= kMostIdle && !tenants_.contains(name)) forget_idle();
    const auto [place, added] = tenants_.try_emplace(name);
    if (added) place->second.id = TenantId{++last_};
    Tenant& tenant = place->second;
    ++tenant.calls;
    return {tenant.id, std::exchange(tenant.weight, weight) != weight};
  }

  void leave(const std::string& name) {
    const auto found = tenants_.find(name);
    if (found != tenants_.end() && found->second.calls > 0) --found->second.calls;
  }

  std::size_t size() const { return tenants_.size(); }

 private:
  struct Tenant {
    TenantId id;
    std::int32_t calls = 0;
    std::int32_t weight = 1;
  };

  void forget_idle() {
    std::erase_if(tenants_, [](const auto& entry) { return entry.second.calls == 0; });
  }

  std::unordered_map<std::string, Tenant> tenants_;
  std::uint32_t last_ = 0;
};

}  // namespace paternoster::engine
