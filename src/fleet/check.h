// The fleet's invariants, numbered, in one place. Tests, fuzzers and the simulator check them after
// every verb. docs/fleet.md lists them with the tests that hold them.
//
// check() looks at one moment; Ledger follows events and plans over time. Both only read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "fleet/event.h"
#include "fleet/fleet.h"
#include "fleet/request.h"

namespace paternoster::fleet {

struct Violation {
  int number;        // of the invariant
  std::string what;  // the invariant, and where it was broken

  friend bool operator==(const Violation&, const Violation&) = default;
};

// Invariants 1 to 7. O(everything), for tests. Right after any verb.
std::optional<Violation> check(const Fleet& fleet);

// Invariants 8 to 12: what must hold from one moment to the next. Feed it everything, in order.
class Ledger {
 public:
  void submitted(const Request& request);
  void told(std::span<const Event> events);
  void planned(const Fleet& fleet, std::int64_t now_ns);  // right after plan()

  // The first invariant broken so far; also against what the fleet says of itself.
  std::optional<Violation> check(const Fleet& fleet) const;

 private:
  struct Ride {
    std::int32_t prompt = 0;
    std::int32_t most = 0;
    std::int32_t tokens = 0;
    std::int32_t slices = 0;
    bool answered = false;
    bool sent = false;
  };
  void tell(const Event& event);
  void look(const Fleet& fleet, const Batch& batch);
  void broken(int number, const char* what, std::uint64_t id);

  std::map<std::uint64_t, Ride> rides_;  // not yet over
  std::int64_t interval_ns_ = 0;         // when the interval that runs ends; 0: none runs
  std::optional<Violation> violation_;
};

}  // namespace paternoster::fleet
