// A simulation as a trace that ui.perfetto.dev and chrome://tracing open: each request as queue, prefill
// and decode on a lane, and the engine's counters. JSON, written as it happens; times in microseconds.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/request_record.h"
#include "simulator/simulation.h"

namespace paternoster::simulator {

class PerfettoWriter {
 public:
  static Result<PerfettoWriter> create(const std::string& path);

  void step(const StepSeen& step);
  void request(const measure::RequestRecord& record);
  // Writes the end; the error says if something of it did not reach the disk.
  Result<void> finish();

 private:
  explicit PerfettoWriter(const std::string& path);
  void slice(const char* name, std::uint64_t lane, std::int64_t begin_ns, std::int64_t end_ns,
             const measure::RequestRecord& record);
  void counter(const char* name, std::int64_t at_ns, double value);
  std::uint64_t lane_for(std::int64_t begin_ns, std::int64_t end_ns);
  void flush(std::size_t above);

  std::string path_;
  std::ofstream out_;
  std::string text_;
  std::vector<std::int64_t> lanes_;  // when each is free again
};

}  // namespace paternoster::simulator
