#include "cost/step_model.h"

#include <algorithm>

namespace paternoster::cost {
namespace {

StepTerms scaled(const StepTerms& terms, std::int64_t percent) {
  return {terms.fixed_ps * percent / 100, terms.prompt_token_ps * percent / 100,
          terms.decode_token_ps * percent / 100, terms.decode_context_ps * percent / 100,
          terms.chunk_context_ps * percent / 100};
}

// In one pass.
std::int64_t pass_ps(const StepModel& model, const StepLoad& load) {
  const StepTerms* line = &model.terms;
  if (load.prompt_tokens == 0) {
    for (const DecodeRegime& regime : model.decode_regimes) {
      if (load.sequences >= regime.from_sequences) line = &regime.terms;
    }
  }
  return line->time_ps(load);
}

std::int64_t passes_ps(const StepModel& model, const StepLoad& load) {
  if (!model.separate_passes || load.prompt_tokens == 0 || load.decode_tokens == 0) return pass_ps(model, load);
  StepLoad prompts = load;
  prompts.decode_tokens = prompts.decode_context = 0;
  StepLoad decodes;
  decodes.sequences = decodes.decode_tokens = load.decode_tokens;
  decodes.decode_context = load.decode_context;
  return pass_ps(model, prompts) + pass_ps(model, decodes);
}

}  // namespace

std::int64_t StepModel::step_ns(const StepLoad& load) const {
  const std::int64_t beside_ns = step_overhead_ns + swap_block_ns * load.swapped_blocks;
  return std::max<std::int64_t>(passes_ps(*this, load) / 1000 + beside_ns, 1);
}

StepModel StepModel::scaled(std::int64_t percent) const {
  StepModel model = *this;
  model.terms = cost::scaled(terms, percent);
  for (DecodeRegime& regime : model.decode_regimes) regime.terms = cost::scaled(regime.terms, percent);
  model.step_overhead_ns = step_overhead_ns * percent / 100;
  model.swap_block_ns = swap_block_ns * percent / 100;
  return model;
}

scheduler::CostModel scheduler_cost(const StepTerms& terms, const scheduler::CostModel& current) {
  scheduler::CostModel cost = current;
  cost.step_ns = terms.fixed_ps / scheduler::kPicosecondsANanosecond;
  cost.token_ps = std::max<std::int64_t>(terms.prompt_token_ps, 1);
  cost.context_ps = terms.decode_context_ps;
  cost.chunk_context_ps = terms.chunk_context_ps;
  return cost;
}

}  // namespace paternoster::cost
