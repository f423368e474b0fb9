// A workload described, and the stream of requests that it makes: one at a time, so that a million cost
// no more memory than ten. Equal descriptions (seed included) make equal streams.
//
//   auto source = Source::create(description);
//   while (const Arrival* arrival = source->next()) { ...; source->take(); }
//
// Closed arrivals (arrival_times.h) depend on answers: next() is null while every stream waits for one;
// tell ended() when a request is over. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "workload/arrival_times.h"
#include "workload/lengths.h"
#include "workload/random_stream.h"
#include "workload/trace.h"

namespace paternoster::workload {

struct ClassOfWork {
  std::string name;
  double share = 1;  // of the requests, relative to the other classes
  Lengths input;
  Lengths output;
  std::int32_t priority = 0;     // lower is more urgent
  std::int64_t deadline_ns = 0;  // after the arrival; 0: none
};

struct Tenant {
  std::string name;
  double share = 1;  // of the requests
};

struct Description {
  std::size_t count = 1000;
  std::uint64_t seed = 0;
  // With a trace: none means the trace's own times.
  std::optional<Arrivals> arrivals;
  double rate = 1;  // requests a second, of arrivals that have one
  std::vector<ClassOfWork> classes;  // without a trace: at least one
  std::vector<Tenant> tenants;       // none: one without a name
  // Shared prefixes: the first tokens of each prompt are one of `prefix_count` texts.
  std::int32_t prefix_tokens = 0;
  std::int32_t prefix_count = 1;
  // Lengths, times and shared content come from here. `count` requests: the trace is begun anew
  // when it ends, with content of its own. Rows that name no class are given one of `classes`.
  std::shared_ptr<const Trace> trace;
  double speed = 1;  // the trace's times are divided by this
  // What a predictor would say of the output's length: it times a log-normal error of this sigma.
  double guess_sigma = 0;
};

struct Arrival {
  std::uint64_t number = 0;  // from 0
  std::int64_t at_ns = 0;
  std::int32_t input_tokens = 0;
  std::int32_t output_tokens = 0;
  std::int32_t guessed_tokens = 0;  // of the output
  std::uint32_t class_index = 0;    // into Source::classes
  std::uint32_t tenant_index = 0;   // into Source::tenants
  std::uint32_t prefix = 0;         // which shared text it begins with, if any
  const TraceRow* row = nullptr;    // of a trace
  std::uint64_t lap = 0;            // how often the trace has begun before
};

class Source {
 public:
  static Result<Source> create(Description description);

  const Arrival* next();
  void take();
  void ended(std::int64_t now_ns);

  // The prompt's tokens: equal where content is shared, else different from every other request's.
  void write_prompt(const Arrival& arrival, std::vector<TokenId>& tokens) const;

  const Description& description() const { return description_; }
  const std::vector<ClassOfWork>& classes() const { return classes_; }
  const std::vector<Tenant>& tenants() const { return tenants_; }
  bool shares_content() const;

 private:
  explicit Source(Description description);

  Result<void> check() const;
  void name_trace_classes();
  void draw();
  void draw_from_classes();
  void read_from_trace();
  std::uint32_t draw_tenant();
  std::int64_t due_ns(std::uint64_t number) const;

  Description description_;
  std::vector<ClassOfWork> classes_;
  std::vector<Tenant> tenants_;
  std::vector<std::uint32_t> row_classes_;  // of each row of the trace
  std::vector<std::uint32_t> row_tenants_;
  std::vector<std::int64_t> times_;
  bool closed_ = false;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> due_;  // closed

  Arrival arrival_;
  bool drawn_ = false;
  std::uint64_t next_number_ = 0;
  RandomStream inputs_, outputs_, class_draws_, tenant_draws_, prefix_draws_, guesses_;
};

}  // namespace paternoster::workload
