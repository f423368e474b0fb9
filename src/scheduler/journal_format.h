// The record tags of a journal, shared by its writing and its reading half. Internal to scheduler/.
#pragma once

#include <cstdint>

namespace paternoster::scheduler {

inline constexpr std::uint8_t kJournalMagic[] = {'P', 'N', 'J', '3'};

enum JournalRecord : std::uint8_t {
  kSubmitRecord = 1,
  kCancelRecord = 2,
  kPlanRecord = 3,
  kCommitRecord = 4,
  kDrainRecord = 5,
  kForcePreemptRecord = 6,
  kCalibrateRecord = 7,
  kWeightRecord = 8,
};

// Every number of the configuration in the order of the format: `visit` gets each by reference. The
// writing half visits a const Config, the reading half one to be filled.
template <typename AnyCost, typename Visit>
void visit_cost(AnyCost& cost, Visit&& visit) {
  visit(cost.step_ns);
  visit(cost.token_ps);
  visit(cost.context_ps);
  visit(cost.chunk_context_ps);
  visit(cost.swap_block_ns);
}

template <typename AnyConfig, typename Visit>
void visit_config(AnyConfig& config, Visit&& visit) {
  visit(config.choices.boarding);
  visit(config.choices.order);
  visit(config.choices.prefill);
  visit(config.choices.relief);
  visit(config.choices.victim);
  visit(config.choices.speculation);
  visit(config.limits.max_seqs);
  visit(config.limits.step_tokens);
  visit(config.limits.block_size);
  visit(config.limits.num_blocks);
  visit(config.limits.max_len);
  visit(config.limits.max_queue);
  visit(config.limits.max_choices);
  visit(config.limits.protect_after);
  visit(config.limits.swap_blocks);
  visit(config.limits.prefix_cache);
  visit(config.tuning.window_ns);
  visit(config.tuning.window_seqs);
  visit(config.tuning.slice_tokens);
  visit(config.tuning.itl_target_ns);
  visit(config.tuning.ageing_ns);
  visit(config.tuning.promotion_ns);
  visit(config.tuning.quantum_ns);
  visit(config.tuning.draft_tokens);
  visit(config.tuning.draft_seqs);
  visit(config.tuning.prompt_charge);
  visit(config.tuning.cached_charge);
  visit(config.tuning.output_charge);
  visit_cost(config.cost, visit);
}

}  // namespace paternoster::scheduler
