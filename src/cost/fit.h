// Least squares: the four coefficients that explain a step log best, none below zero, and how well they
// do. Steps that something else on the machine held up (far above what their like took) are set aside
// and counted. A fit that explains too little is refused rather than handed on.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "cost/step_log.h"
#include "cost/step_model.h"

namespace paternoster::cost {

struct Fit {
  StepTerms terms;
  std::size_t steps = 0;       // that count
  std::size_t set_aside = 0;   // outliers
  double mean_step_ns = 0;
  double mean_error = 0;       // mean |residual| / mean step time
  double median_error = 0;     // of |residual| / step time
  double worst_error = 0;      // of these, the 95th of 100
  double total_error = 0;      // (predicted - measured) / measured, of all kept steps together
  double explained = 0;        // R squared
};

// The error says why nothing can be fitted, or how bad the fit would be.
Result<Fit> fit_steps(std::span<const TimedStep> steps);

// As fit_steps, but whatever comes out: for those who print the residuals of a refused fit.
Result<Fit> fit_steps_however_bad(std::span<const TimedStep> steps);

// A few lines for a person: coefficients and residuals.
std::string describe(const Fit& fit);

}  // namespace paternoster::cost
