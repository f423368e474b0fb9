#include "cost/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

namespace paternoster::cost {
namespace {

constexpr std::size_t kTerms = 4;
constexpr std::size_t kLeastSteps = 20;
constexpr double kWorstMeanError = 0.25;
constexpr double kLeastExplained = 0.5;

using Row = std::array<double, kTerms>;

Row row_of(const StepLoad& load) {
  return {1.0, static_cast<double>(load.tokens()), static_cast<double>(load.decode_context),
          static_cast<double>(load.chunk_context)};
}

// Sums for the normal equations, columns scaled to unit length so that the numbers stay near one.
struct Normal {
  std::array<std::array<double, kTerms>, kTerms> product{};
  Row target{};
  Row scale{};
  double squares = 0;  // of the target
};

Normal normal_of(std::span<const TimedStep> steps) {
  Normal normal;
  for (const TimedStep& step : steps) {
    const Row row = row_of(step.load);
    for (std::size_t i = 0; i < kTerms; ++i) normal.scale[i] += row[i] * row[i];
  }
  for (double& scale : normal.scale) scale = scale > 0 ? 1 / std::sqrt(scale) : 0;
  for (const TimedStep& step : steps) {
    const Row row = row_of(step.load);
    const auto time = static_cast<double>(step.step_ns);
    normal.squares += time * time;
    for (std::size_t i = 0; i < kTerms; ++i) {
      normal.target[i] += row[i] * normal.scale[i] * time;
      for (std::size_t j = 0; j < kTerms; ++j) {
        normal.product[i][j] += row[i] * normal.scale[i] * row[j] * normal.scale[j];
      }
    }
  }
  return normal;
}

// Cholesky on the chosen columns; nothing if they do not tell each other apart.
std::optional<Row> solve(const Normal& normal, unsigned chosen) {
  std::array<std::size_t, kTerms> columns{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < kTerms; ++i) {
    if ((chosen >> i & 1) != 0) columns[count++] = i;
  }
  std::array<std::array<double, kTerms>, kTerms> lower{};
  Row half{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = normal.product[columns[i]][columns[j]];
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i][k] * lower[j][k];
      if (i == j) {
        if (sum < 1e-10) return std::nullopt;
        lower[i][i] = std::sqrt(sum);
      } else {
        lower[i][j] = sum / lower[j][j];
      }
    }
    double sum = normal.target[columns[i]];
    for (std::size_t k = 0; k < i; ++k) sum -= lower[i][k] * half[k];
    half[i] = sum / lower[i][i];
  }
  Row solution{};
  for (std::size_t i = count; i-- > 0;) {
    double sum = half[i];
    for (std::size_t k = i + 1; k < count; ++k) sum -= lower[k][i] * solution[columns[k]];
    solution[columns[i]] = sum / lower[i][i];
  }
  return solution;
}

// Non-negative least squares by trying every set of columns: there are sixteen.
Row best_row(const Normal& normal) {
  Row best{};
  double best_gain = -1;
  for (unsigned chosen = 1; chosen < 1u << kTerms; ++chosen) {
    const auto row = solve(normal, chosen);
    if (!row || std::ranges::any_of(*row, [](double value) { return value < 0; })) continue;
    double gain = 0;  // how much of the squares it explains
    for (std::size_t i = 0; i < kTerms; ++i) gain += (*row)[i] * normal.target[i];
    if (gain > best_gain * (1 + 1e-12)) {
      best_gain = gain;
      best = *row;
    }
  }
  for (std::size_t i = 0; i < kTerms; ++i) best[i] *= normal.scale[i];
  return best;
}

double predict(const Row& row, const StepLoad& load) {
  const Row features = row_of(load);
  double sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i) sum += row[i] * features[i];
  return sum;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(at));
  return values[at];
}

// Steps whose residual is within six deviations (by the median, which outliers do not move).
std::vector<TimedStep> without_outliers(std::span<const TimedStep> steps, const Row& row) {
  std::vector<double> errors;
  for (const TimedStep& step : steps) {
    const double predicted = predict(row, step.load);
    errors.push_back(std::abs(static_cast<double>(step.step_ns) - predicted) / std::max(predicted, 1.0));
  }
  const double limit = std::max(6 * 1.4826 * quantile(errors, 0.5), 0.05);
  std::vector<TimedStep> kept;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    if (errors[at] <= limit) kept.push_back(steps[at]);
  }
  return kept;
}

void measure(Fit& fit, std::span<const TimedStep> steps, const Row& row) {
  double measured = 0;
  double predicted = 0;
  double missed = 0;
  double squares = 0;
  std::vector<double> relative;
  for (const TimedStep& step : steps) measured += static_cast<double>(step.step_ns);
  fit.mean_step_ns = measured / static_cast<double>(steps.size());
  double spread = 0;
  for (const TimedStep& step : steps) {
    const auto time = static_cast<double>(step.step_ns);
    const double guess = predict(row, step.load);
    predicted += guess;
    missed += std::abs(guess - time);
    squares += (guess - time) * (guess - time);
    spread += (time - fit.mean_step_ns) * (time - fit.mean_step_ns);
    relative.push_back(std::abs(guess - time) / std::max(time, 1.0));
  }
  fit.mean_error = missed / std::max(measured, 1.0);
  fit.total_error = (predicted - measured) / std::max(measured, 1.0);
  fit.median_error = quantile(relative, 0.5);
  fit.worst_error = quantile(relative, 0.95);
  fit.explained = spread > 0 ? 1 - squares / spread : 1;
}

std::int64_t to_ps(double ns) { return std::llround(ns * 1000); }

}  // namespace

Result<Fit> fit_steps_however_bad(std::span<const TimedStep> steps) {
  if (steps.size() < kLeastSteps) {
    return failure(ErrorCode::kInvalidArgument, "a fit needs at least " + std::to_string(kLeastSteps) +
                                                    " steps and the log has " + std::to_string(steps.size()));
  }
  Row row = best_row(normal_of(steps));
  std::vector<TimedStep> kept(steps.begin(), steps.end());
  for (int round = 0; round < 3; ++round) {
    auto fewer = without_outliers(steps, row);
    if (fewer.size() < steps.size() / 2) break;
    kept = std::move(fewer);
    row = best_row(normal_of(kept));
  }
  Fit fit;
  fit.terms = {to_ps(row[0]), to_ps(row[1]), to_ps(row[1]), to_ps(row[2]), to_ps(row[3])};
  fit.steps = kept.size();
  fit.set_aside = steps.size() - kept.size();
  measure(fit, kept, row);
  return fit;
}

Result<Fit> fit_steps(std::span<const TimedStep> steps) {
  auto fit = fit_steps_however_bad(steps);
  if (!fit) return fit;
  const double aside = static_cast<double>(fit->set_aside) / static_cast<double>(steps.size());
  if (fit->mean_error > kWorstMeanError || fit->explained < kLeastExplained || aside > 0.2) {
    return failure(ErrorCode::kInvalidArgument,
                   "the steps do not follow the model, so nothing is predicted from them (the machine was "
                   "busy with other work, or the log mixes engines):\n" + describe(*fit));
  }
  return fit;
}

std::string describe(const Fit& fit) {
  char text[640];
  std::snprintf(text, sizeof text,
                "a step takes %.3f ms + %.3f us a token + %.3f ns a position decodes attend to + %.4f ns a pair of "
                "chunk and context\n"
                "residuals: mean %.1f %%, median %.1f %%, 95 of 100 within %.1f %%, all steps together %+.2f %%, "
                "R2 %.3f (%zu steps, %zu set aside, mean step %.3f ms)",
                static_cast<double>(fit.terms.fixed_ps) / 1e9,
                static_cast<double>(fit.terms.decode_token_ps) / 1e6,
                static_cast<double>(fit.terms.decode_context_ps) / 1e3,
                static_cast<double>(fit.terms.chunk_context_ps) / 1e3, 100 * fit.mean_error,
                100 * fit.median_error, 100 * fit.worst_error, 100 * fit.total_error, fit.explained, fit.steps,
                fit.set_aside, fit.mean_step_ns / 1e6);
  return text;
}

}  // namespace paternoster::cost
