// An arrival as the engine's scheduler is asked for it: the same in both simulations of this layer.
#pragma once

#include <algorithm>

#include "scheduler/request.h"
#include "workload/workload.h"

namespace paternoster::simulator {

struct Asking {
  std::int32_t allowed_tokens = 0;  // max_tokens; 0: exactly what the answer has
  bool guesses = false;             // the scheduler is told the workload's guess of the answer's length
  bool writes_prompts = false;      // else prompts have their length only, which is enough without a prefix cache
};

inline scheduler::Request engine_request(const workload::Source& source, const workload::Arrival& arrival,
                                         std::uint64_t slot, const Asking& asking) {
  const workload::ClassOfWork& of = source.classes()[arrival.class_index];
  scheduler::Request request;
  request.id = RequestId{slot};
  request.tenant = TenantId{arrival.tenant_index};
  request.priority = of.priority;
  if (of.deadline_ns > 0) request.deadline_ns = arrival.at_ns + of.deadline_ns;
  request.max_tokens = std::max(asking.allowed_tokens, arrival.output_tokens);
  if (asking.guesses) request.expected_tokens = std::min(arrival.guessed_tokens, request.max_tokens);
  if (asking.writes_prompts) {
    source.write_prompt(arrival, request.prompt);
  } else {
    request.prompt.assign(static_cast<std::size_t>(arrival.input_tokens), 0);
  }
  return request;
}

}  // namespace paternoster::simulator
