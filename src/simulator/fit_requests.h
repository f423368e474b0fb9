// Step coefficients from what became of requests on another engine, when nobody logged its steps: the
// coefficients under which the simulation of the same arrivals comes closest to the times that were
// measured (Levenberg-Marquardt on their logarithms; the scheduler is simulated, not approximated).
//
// Requests beyond the share that is fitted take part in every simulation, since they were there, but
// their times are not looked at: they tell how well the fit predicts.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/step_model.h"
#include "scheduler/choices.h"

namespace paternoster::simulator {

struct MeasuredRequest {
  std::int64_t at_ns = 0;
  std::int32_t input_tokens = 0;
  std::int32_t output_tokens = 0;
  std::int64_t first_token_ns = 0;
  std::int64_t last_token_ns = 0;
};

// JSON lines: records of ours (measure/summary_json.h), or of vLLM's engine with input_toks,
// output_toks, arrival_time, queued_ts, first_token_ts, last_token_ts in seconds. In order of arrival.
Result<std::vector<MeasuredRequest>> read_measured(std::istream& in, const std::string& name);

struct MeanTimes {
  double ttft_ns = 0;
  double tpot_ns = 0;
  double e2e_ns = 0;
};

struct RequestFit {
  cost::StepModel model;
  std::size_t fitted = 0;     // requests, the first ones
  MeanTimes fitted_real, fitted_simulated;
  MeanTimes rest_real, rest_simulated;  // of those that were not looked at; zero if there are none
  double request_error = 0;   // of the rest (or of all): mean |E2E - simulated E2E| / E2E
  std::int64_t makespan_real_ns = 0;
  std::int64_t makespan_simulated_ns = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t simulations = 0;
};

// share: of the requests, from the first, whose times are fitted; 0 < share <= 1.
Result<RequestFit> fit_requests(const std::vector<MeasuredRequest>& requests, const scheduler::Config& config,
                                double share);

}  // namespace paternoster::simulator
