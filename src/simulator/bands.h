// Bands, not points: the same simulation with every coefficient a tenth lower and a tenth higher, and
// whether what one would conclude from it changes.
#pragma once

#include <string>

#include "base/result.h"
#include "simulator/simulation.h"

namespace paternoster::simulator {

inline constexpr std::int64_t kBandPercent = 10;

struct Verdict {
  bool overloaded = false;
  bool meets_objectives = true;  // none: true

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

Verdict verdict_of(const Outcome& outcome);
std::string to_string(const Verdict& verdict, bool has_objectives);

struct Bands {
  Outcome faster;  // coefficients x 0.9
  Outcome slower;  // x 1.1

  // Whether either side says something else than the middle.
  bool flips(const Outcome& middle) const;
};

// `options` as for the middle; its sinks are not called.
Result<Bands> run_bands(const Options& options, const workload::Description& workload);

}  // namespace paternoster::simulator
