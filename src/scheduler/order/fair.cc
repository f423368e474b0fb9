#include "scheduler/order/fair.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/saturating.h"

namespace paternoster::scheduler::order {

void Fair::set_weight(TenantId tenant, std::int32_t weight) {
  const Lane lane = lane_of(tenant);
  lanes_[lane].weight = weight;
  lanes_[lane].kept = true;
  if (idle_.contains(lane)) idle_.remove(lane);
}

Fair::Lane Fair::lane_of(TenantId tenant) {
  if (const std::uint32_t* found = by_id_.find(tenant.value)) return *found;
  forget_idle();
  if (free_lanes_.empty()) {
    free_lanes_.push_back(static_cast<Lane>(lanes_.size()));
    lanes_.emplace_back();
  }
  const Lane lane = free_lanes_.back();
  free_lanes_.pop_back();
  lanes_[lane] = Tenant{};
  lanes_[lane].id = tenant;
  by_id_.put(tenant.value, lane);
  idle_.push(lane, {0, lane});
  return lane;
}

Fair::Lane Fair::enter(TenantId tenant) {
  const Lane lane = lane_of(tenant);
  if (lanes_[lane].live++ == 0 && idle_.contains(lane)) idle_.remove(lane);
  return lane;
}

void Fair::leave(Lane lane) {
  Tenant& tenant = lanes_[lane];
  PATERNOSTER_CHECK(tenant.live > 0);
  if (--tenant.live == 0 && !tenant.kept) idle_.push(lane, {tenant.counter, lane});
}

std::int64_t Fair::floor() const {
  return heads_.empty() ? last_left_counter_ : heads_.top_rank().first;
}

void Fair::forget_idle() {
  while (!idle_.empty() &&
         (idle_.top_rank().first <= floor() || idle_.size() >= kMostIdle)) {
    const Lane lane = idle_.top();
    idle_.remove(lane);
    by_id_.erase(lanes_[lane].id.value);
    if (lane == last_left_) last_left_ = kNoSlot;
    free_lanes_.push_back(lane);
  }
}

void Fair::lift(Tenant& tenant) { tenant.counter = std::max(tenant.counter, floor()); }

void Fair::enlist(Lane lane) { heads_.push(lane, {lanes_[lane].counter, lane}); }

void Fair::push(Slot slot, Lane lane, std::uint64_t turn, bool arrives) {
  if (slot >= links_.size()) links_.resize(slot + 1);
  PATERNOSTER_CHECK(!links_[slot].waits);
  Tenant& tenant = lanes_[lane];
  if (tenant.first == kNoSlot) {
    if (arrives) lift(tenant);
    enlist(lane);
  }
  // New ones go last. Who comes back passes only others who came back: they have earlier turns.
  Slot before = tenant.last;
  if (before != kNoSlot && links_[before].turn > turn) {
    Slot after = tenant.first;
    while (links_[after].turn < turn) after = links_[after].next;
    before = links_[after].previous;
  }
  Link& link = links_[slot];
  link = {before, before == kNoSlot ? tenant.first : links_[before].next, lane, turn, true};
  (before == kNoSlot ? tenant.first : links_[before].next) = slot;
  (link.next == kNoSlot ? tenant.last : links_[link.next].previous) = slot;
  ++waiting_;
}

void Fair::remove(Slot slot) {
  PATERNOSTER_CHECK(contains(slot));
  Link& link = links_[slot];
  Tenant& tenant = lanes_[link.lane];
  (link.previous == kNoSlot ? tenant.first : links_[link.previous].next) = link.next;
  (link.next == kNoSlot ? tenant.last : links_[link.next].previous) = link.previous;
  link.waits = false;
  --waiting_;
  if (tenant.first != kNoSlot) return;
  heads_.remove(link.lane);
  last_left_ = link.lane;
  last_left_counter_ = tenant.counter;
}

void Fair::charge(Lane lane, std::int64_t service) {
  Tenant& tenant = lanes_[lane];
  tenant.counter =
      saturating_add(tenant.counter, saturating_multiply(service, kUnit) / tenant.weight);
  if (lane == last_left_) last_left_counter_ = tenant.counter;
  if (tenant.first == kNoSlot) return;
  heads_.remove(lane);
  enlist(lane);
}

}  // namespace paternoster::scheduler::order
