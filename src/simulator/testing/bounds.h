// A scenario's bounds against what was played: figures of riders, limits relative to the same rider alone, and the
// first bound that is broken in words.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "measure/distribution.h"
#include "simulator/testing/play.h"

namespace paternoster::simulator::testing {

// Unknown riders are thrown, as everything else that a scenario misspells.
inline std::size_t find_riders(const Scenario& scenario, const std::string& name) {
  const auto found = std::ranges::find(scenario.riders, name, &Riders::name);
  if (found == scenario.riders.end()) throw std::runtime_error("no riders '" + name + "'");
  return static_cast<std::size_t>(found - scenario.riders.begin());
}

// Of what `among` were served while all of them had somebody who had not got everything, the percentage that went
// to `of`: from when the last of them came to when the first of them submitted its last.
inline double service_percent(const Scenario& scenario, const Played& played, const Bound& bound) {
  std::map<std::size_t, double> got;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = played.end_ns;
  for (const std::string& name : bound.among) {
    const std::size_t which = find_riders(scenario, name);
    got[which] = 0;
    std::int64_t last_ns = 0;
    for (const Ride& ride : played.rides) {
      if (ride.riders == which) last_ns = std::max(last_ns, ride.submitted_ns);
    }
    from_ns = std::max(from_ns, scenario.riders[which].from_ns);
    to_ns = std::min(to_ns, last_ns);
  }
  double all = 0;
  for (const Service& service : played.services) {
    if (!got.contains(service.riders) || service.at_ns < from_ns || service.at_ns > to_ns) continue;
    got[service.riders] += static_cast<double>(service.charge);
    all += static_cast<double>(service.charge);
  }
  return all == 0 ? 0 : 100 * got.at(find_riders(scenario, bound.of)) / all;
}

// What one ride saw, in milliseconds or steps; nothing if the figure is none of a ride.
inline std::optional<double> figure_of(const Ride& ride, const std::string& figure) {
  if (figure == "ttft_ms") return static_cast<double>(ride.first_token_ns - ride.submitted_ns) / 1e6;
  if (figure == "e2e_ms") return static_cast<double>(ride.ended_ns - ride.submitted_ns) / 1e6;
  if (figure == "gap_ms") return static_cast<double>(ride.largest_gap_ns) / 1e6;
  if (figure == "ttft_steps") return static_cast<double>(ride.first_token_in - ride.submitted_in);
  return std::nullopt;
}

// "e2e_ms" is the largest of the riders', "e2e_ms@95" a percentile.
inline double figure_of(const Scenario& scenario, const Played& played, const Bound& bound) {
  const scheduler::Stats& stats = played.stats;
  if (bound.figure == "preemptions") return static_cast<double>(stats.preemptions);
  if (bound.figure == "recomputed_tokens") return static_cast<double>(stats.tokens_recomputed);
  if (bound.figure == "swapped_blocks") return static_cast<double>(stats.blocks_swapped_out + stats.blocks_swapped_in);
  if (bound.figure == "busy_percent") {
    return 100 * static_cast<double>(played.busy_ns) / static_cast<double>(played.end_ns);
  }
  if (bound.figure == "service_percent") return service_percent(scenario, played, bound);
  const std::size_t mark = bound.figure.find('@');
  const double percent = mark == std::string::npos ? 100 : std::stod(bound.figure.substr(mark + 1));
  const std::size_t which = find_riders(scenario, bound.of);
  measure::Distribution values;
  for (const Ride& ride : played.rides) {
    if (ride.riders != which) continue;
    const auto value = figure_of(ride, bound.figure.substr(0, mark));
    if (!value) throw std::runtime_error("no figure '" + bound.figure + "'");
    values.add(*value);
  }
  return values.percentile(percent);
}

// The first bound that does not hold, with its figures; empty if all do. What must hold under any choices first.
inline std::string find_broken(const Scenario& scenario, const scheduler::Config& config, const Played& played) {
  if (!played.fault.empty()) return played.fault;
  for (const Bound& bound : scenario.bounds) {
    const double figure = figure_of(scenario, played, bound);
    double solo = 0;
    const auto limit_of = [&](const Term& term) {
      if (term.solo > 0 && solo == 0) {
        solo = figure_of(scenario, Play(scenario, config, find_riders(scenario, bound.of)).run(), bound);
      }
      return term.solo * solo + term.plus;
    };
    const auto tell = [&](const char* against, double limit) {
      std::ostringstream text;
      text << bound.figure << " of " << (bound.of.empty() ? "all" : bound.of) << " is " << figure << ", " << against
           << " " << limit;
      return text.str();
    };
    double most = -1;
    for (const Term& term : bound.most) most = std::max(most, limit_of(term));
    if (!bound.most.empty() && figure > most) return tell("at most", most);
    for (const Term& term : bound.least) {
      if (figure < limit_of(term)) return tell("at least", limit_of(term));
    }
  }
  return {};
}

// Plays the scenario under the choices; the first thing that is wrong.
inline std::string find_broken(const Scenario& scenario, const std::string& choices) {
  const scheduler::Config config = config_of(scenario, choices);
  if (const auto valid = scheduler::validate(config); !valid) throw std::runtime_error(valid.error().message);
  return find_broken(scenario, config, Play(scenario, config).run());
}

// Cancels each request at each moment, one run for each; the states they were in go into `met`.
inline std::string find_broken_by_cancelling(const Scenario& scenario, const std::string& choices,
                                             std::set<std::string>& met) {
  const scheduler::Config config = config_of(scenario, choices);
  const Played whole = Play(scenario, config).run();
  for (std::uint64_t request = 0; request < whole.rides.size(); ++request) {
    for (std::uint64_t moment = 0; moment < whole.moments; ++moment) {
      const Played cut = Play(scenario, config, {}, Cancel{request, moment}).run();
      if (cut.cancelled_in.empty()) continue;
      met.insert(cut.cancelled_in);
      if (cut.fault.empty()) continue;
      return "request " + std::to_string(request) + " cancelled in " + cut.cancelled_in + ": " + cut.fault;
    }
  }
  return {};
}

}  // namespace paternoster::simulator::testing
