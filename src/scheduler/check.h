// The scheduler's invariants, numbered, in one place. Tests, fuzzers and the simulator check them
// after every verb; a server may under a flag. docs/scheduling.md lists them with the tests that
// hold them.
//
// check() looks at one moment; Ledger follows the events and the plans over time. Both only read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/event.h"
#include "scheduler/scheduler.h"
#include "scheduler/sequence.h"

namespace paternoster::scheduler {

struct Violation {
  int number;        // of the invariant
  std::string what;  // the invariant, and where it was broken
};

// Invariants 1 to 12 and 22. O(blocks + sequences + plan), for tests. Right after any verb.
std::optional<Violation> check(const Scheduler& scheduler);

// Invariants 13 to 21: what must hold from one moment to the next. Feed it everything, in order.
class Ledger {
 public:
  void submitted(RequestId request);
  void told(std::span<const Event> events);
  void planned(const Scheduler& scheduler);  // right after plan()

  // The first invariant broken so far; also against what the scheduler says is live.
  std::optional<Violation> check(const Scheduler& scheduler) const;

 private:
  struct Rider {
    RequestId request;
    std::int32_t tokens = 0;
    std::int32_t preemptions = 0;
    bool aboard = false;
    bool ever_aboard = false;
    bool over = false;
  };
  struct Call {
    SequenceId first;
    std::int32_t choices = 0;
    std::int32_t over = 0;
    bool answered = false;  // accepted or refused
    bool ended = false;     // refused or finished
  };
  void tell(const Event& event);
  void check_preempted(const State& state);
  void check_admitted(const State& state, Slot slot);
  bool is_outranked(const State& state, SequenceId id) const;
  void broken(int number, const char* what, std::uint64_t id);

  std::map<std::uint64_t, Rider> riders_;
  std::map<std::uint64_t, Call> calls_;
  std::int64_t live_ = 0;
  std::optional<Violation> violation_;
};

}  // namespace paternoster::scheduler
