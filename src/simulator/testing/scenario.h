// An adversarial scenario as tests/scenarios/*.json write it: a pool, what a step costs, who comes when, the
// choices under which bounds must hold, and choices under which they must not (a bound that nothing can break
// proves nothing). docs/testing.md lists the keys. Whatever a file says that is not understood is thrown,
// with the key: a misspelt bound must not pass for one that holds.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cost/step_model.h"
#include "scheduler/choice_names.h"
#include "workload/arrival_times.h"
#include "workload/lengths.h"

namespace paternoster::simulator::testing {

// Requests of one kind.
struct Riders {
  std::string name;
  std::string tenant;
  workload::Arrivals arrivals;
  double rate = 1;
  std::int64_t from_ns = 0;
  std::size_t count = 1;
  workload::Lengths prompt;
  workload::Lengths output;
  std::int32_t priority = 0;
  std::int32_t choices = 1;
};

// solo x (the same figure of one of these riders alone) + plus, in the figure's unit.
struct Term {
  double solo = 0;
  double plus = 0;
};

struct Bound {
  std::string figure;
  std::string of;                  // riders; empty: all
  std::vector<std::string> among;  // service_percent: of the service that these got
  std::vector<Term> most;          // the largest of them
  std::vector<Term> least;
};

struct Scenario {
  std::string claim;
  cost::StepModel model;
  scheduler::Limits limits;
  scheduler::Tuning tuning;
  scheduler::CostModel cost;
  std::map<std::string, std::int32_t> weights;  // by tenant
  std::vector<Riders> riders;
  std::vector<std::string> holds;  // "PRESET point=name tuning=number ..."
  std::vector<std::string> fails;
  std::vector<Bound> bounds;
  std::vector<std::string> cancelled;  // every moment of everybody, and the states that must be met so
};

// An object each of whose keys must be asked for.
class Keys {
 public:
  Keys(const boost::json::value& value, std::string where) : where_(std::move(where)) {
    if (!value.is_object()) throw std::runtime_error(where_ + ": no object");
    object_ = &value.get_object();
  }
  const boost::json::value* find(const char* key) {
    const boost::json::value* value = object_->if_contains(key);
    if (value != nullptr) ++found_;
    return value;
  }
  template <typename T>
  void read(const char* key, T& to) {
    const boost::json::value* value = find(key);
    if (value == nullptr) return;
    try {
      to = boost::json::value_to<T>(*value);
    } catch (const std::exception& error) {
      throw std::runtime_error(where_ + "." + key + ": " + error.what());
    }
  }
  template <typename T, typename Parse>
  void parse(const char* key, T& to, Parse parse) {
    std::string text;
    read(key, text);
    if (text.empty()) return;
    auto parsed = parse(text);
    if (!parsed) throw std::runtime_error(where_ + "." + key + ": " + parsed.error().message);
    to = std::move(*parsed);
  }
  void ms(const char* key, std::int64_t& to) {
    double value = -1;
    read(key, value);
    if (value >= 0) to = static_cast<std::int64_t>(value * 1e6);
  }
  // Calls each(value, where) for every member of a list; without the key for none.
  template <typename Each>
  void list(const char* key, Each each) {
    const boost::json::value* value = find(key);
    if (value == nullptr) return;
    if (!value->is_array()) throw std::runtime_error(where_ + "." + key + ": no list");
    for (const boost::json::value& member : value->get_array()) each(member, where_ + "." + key);
  }
  void end() const {
    if (found_ == object_->size()) return;
    throw std::runtime_error(where_ + ": has a key that is not known");
  }

 private:
  const boost::json::object* object_ = nullptr;
  std::string where_;
  std::size_t found_ = 0;
};

inline void read_step(const boost::json::value& value, Scenario& scenario) {
  Keys keys(value, "step");
  double fixed_us = 0, token_us = 0, context_ns = 0, chunk_context_ns = 0, swap_block_us = 0;
  keys.read("fixed_us", fixed_us);
  keys.read("token_us", token_us);
  keys.read("context_ns", context_ns);
  keys.read("chunk_context_ns", chunk_context_ns);
  keys.read("swap_block_us", swap_block_us);
  keys.end();
  const auto ps = [](double units, double each) { return static_cast<std::int64_t>(units * each); };
  scenario.model.terms = {ps(fixed_us, 1e6), ps(token_us, 1e6), ps(token_us, 1e6), ps(context_ns, 1e3),
                          ps(chunk_context_ns, 1e3)};
  scenario.cost.swap_block_ns = ps(swap_block_us, 1e3);
  scenario.cost = cost::scheduler_cost(scenario.model.terms, scenario.cost);
}

inline void read_limits(const boost::json::value& value, scheduler::Limits& limits) {
  Keys keys(value, "limits");
  std::int32_t pool_tokens = 0;
  keys.read("seats", limits.max_seqs);
  keys.read("step_tokens", limits.step_tokens);
  keys.read("block_size", limits.block_size);
  keys.read("pool_tokens", pool_tokens);
  keys.read("swap_blocks", limits.swap_blocks);
  keys.read("protect_after", limits.protect_after);
  keys.read("prefix_cache", limits.prefix_cache);
  keys.end();
  limits.num_blocks = pool_tokens / limits.block_size;
  limits.max_len = pool_tokens;
  limits.max_queue = 1 << 16;
}

inline void read_tuning(const boost::json::value& value, scheduler::Tuning& tuning) {
  Keys keys(value, "tuning");
  keys.ms("itl_target_ms", tuning.itl_target_ns);
  keys.ms("ageing_ms", tuning.ageing_ns);
  keys.ms("promotion_ms", tuning.promotion_ns);
  keys.ms("quantum_ms", tuning.quantum_ns);
  keys.read("slice_tokens", tuning.slice_tokens);
  keys.end();
}

inline Riders read_riders(const boost::json::value& value, const std::string& where) {
  Riders riders;
  Keys keys(value, where);
  riders.arrivals.kind = workload::Arrivals::Kind::kAtOnce;
  keys.read("name", riders.name);
  keys.read("tenant", riders.tenant);
  keys.parse("arrivals", riders.arrivals, [](const std::string& text) { return workload::parse_arrivals(text); });
  keys.read("rate", riders.rate);
  keys.ms("from_ms", riders.from_ns);
  keys.read("count", riders.count);
  keys.parse("prompt", riders.prompt, [](const std::string& text) { return workload::parse_lengths(text); });
  keys.parse("output", riders.output, [](const std::string& text) { return workload::parse_lengths(text); });
  keys.read("priority", riders.priority);
  keys.read("choices", riders.choices);
  keys.end();
  return riders;
}

inline Bound read_bound(const boost::json::value& value, const std::string& where) {
  Bound bound;
  Keys keys(value, where);
  const auto term = [](std::vector<Term>& to) {
    return [&to](const boost::json::value& member, const std::string& place) {
      Term read;
      Keys inner(member, place);
      inner.read("solo", read.solo);
      inner.read("plus", read.plus);
      inner.end();
      to.push_back(read);
    };
  };
  keys.read("figure", bound.figure);
  keys.read("of", bound.of);
  keys.read("among", bound.among);
  keys.list("most", term(bound.most));
  keys.list("least", term(bound.least));
  keys.end();
  if (bound.most.empty() && bound.least.empty()) throw std::runtime_error(where + ": neither most nor least");
  return bound;
}

inline Scenario read_scenario(const boost::json::value& value) {
  Scenario scenario;
  Keys keys(value, "scenario");
  keys.read("claim", scenario.claim);
  if (const auto* step = keys.find("step")) read_step(*step, scenario);
  if (const auto* limits = keys.find("limits")) read_limits(*limits, scenario.limits);
  if (const auto* tuning = keys.find("tuning")) read_tuning(*tuning, scenario.tuning);
  keys.read("weights", scenario.weights);
  keys.list("riders", [&](const auto& member, const auto& where) {
    scenario.riders.push_back(read_riders(member, where));
  });
  keys.read("holds", scenario.holds);
  keys.read("fails", scenario.fails);
  keys.list("bounds", [&](const auto& member, const auto& where) {
    scenario.bounds.push_back(read_bound(member, where));
  });
  keys.read("cancelled", scenario.cancelled);
  keys.end();
  if (scenario.claim.empty() || scenario.riders.empty() || scenario.holds.empty()) {
    throw std::runtime_error("scenario: claim, riders or holds is missing");
  }
  return scenario;
}

inline boost::json::value read_json(const std::string& path) {
  std::ifstream in(path);
  return boost::json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
}

// "home order=priority ageing_ms=500", with the scenario's limits, costs and other tuning.
inline scheduler::Config config_of(const Scenario& scenario, const std::string& words) {
  scheduler::ChoiceNames names;
  const std::map<std::string, std::optional<std::string>*> points = {{"boarding", &names.boarding},
                                                                     {"order", &names.order},
                                                                     {"prefill", &names.prefill},
                                                                     {"relief", &names.relief},
                                                                     {"victim", &names.victim}};
  std::istringstream in(words);
  std::string preset, word;
  boost::json::object tuning;
  in >> preset;
  while (in >> word) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos) throw std::runtime_error("'" + word + "' is not point=name");
    const std::string key = word.substr(0, sign);
    if (const auto point = points.find(key); point != points.end()) {
      *point->second = word.substr(sign + 1);
    } else {
      tuning[key] = std::stod(word.substr(sign + 1));
    }
  }
  const auto choices = scheduler::choose(preset, names);
  if (!choices) throw std::runtime_error(choices.error().message);
  scheduler::Config config{*choices, scenario.limits, scenario.tuning, scenario.cost};
  read_tuning(tuning, config.tuning);
  return config;
}

}  // namespace paternoster::simulator::testing
