// What happened, as bytes: every verb with its arguments, and after each plan its hash. Replaying
// the bytes through a fresh scheduler must give the same hashes, on any machine: so a strange night
// on a server becomes a test. Bytes only; reading and writing files is the drivers' business.
//
// Format (version 3): "PNJ3", the configuration, then records: one tag byte and its fields,
// integers as LEB128 varints (signed ones zigzag), plan hashes as 8 little-endian bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "scheduler/choices.h"
#include "scheduler/executor.h"
#include "scheduler/plan.h"
#include "scheduler/request.h"

namespace paternoster::scheduler {

// The writing half. Hand it to Scheduler::record_to before the first verb.
class Journal {
 public:
  void begin(const Config& config);
  void submit(std::int64_t now_ns, const Request& request);
  void cancel(std::int64_t now_ns, RequestId request);
  void plan(std::int64_t now_ns, const Plan& plan);
  void commit(std::int64_t now_ns, const StepResult& result);
  void drain();
  void force_preempt(std::int64_t now_ns, SequenceId sequence);
  void calibrate(std::int64_t now_ns, const CostModel& cost);
  void set_weight(std::int64_t now_ns, TenantId tenant, std::int32_t weight);

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  // What was written since the last take, for drivers that append to a file.
  std::vector<std::uint8_t> take();

 private:
  void tag(std::uint8_t record, std::int64_t now_ns);
  void number(std::uint64_t value);
  void integer(std::int64_t value);

  std::vector<std::uint8_t> bytes_;
  std::int64_t last_ns_ = 0;  // times are written as differences
};

struct Replay {
  Config config;
  std::uint64_t plans = 0;
  std::uint64_t requests = 0;
  std::uint64_t tokens = 0;  // sampled
  std::optional<std::uint64_t>
      first_difference;  // the plan, counted from 1, whose hash was not equal
};

// Runs the journal through a fresh scheduler. A journal that is cut off in the middle of a record
// ends before that record. The error says at which byte the journal is not one.
Result<Replay> replay(std::span<const std::uint8_t> journal);

}  // namespace paternoster::scheduler
