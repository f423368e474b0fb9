// The requests that are under way in a simulation, each with the record that it will leave. A slot is
// its request's number for the scheduler while it lives, and is used again.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "measure/request_record.h"

namespace paternoster::simulator {

struct Flight {
  measure::RequestRecord record;
  TokenId token = 0;              // what it says, over and over: its own, so that no cache mistakes it
  std::int32_t output_tokens = 0;  // it stops after so many, whatever it was allowed
  std::uint32_t kind = 0;          // class and tenant as one number, for the gap tables
  bool open = false;
  bool submitted = false;
};

class Flights {
 public:
  std::uint64_t open() {
    std::uint64_t slot = flights_.size();
    if (unused_.empty()) {
      flights_.emplace_back();
    } else {
      slot = unused_.back();
      unused_.pop_back();
      flights_[slot] = {};
    }
    flights_[slot].open = true;
    return slot;
  }
  void close(std::uint64_t slot) {
    flights_[slot].open = false;
    unused_.push_back(slot);
  }
  std::vector<std::uint64_t> list_submitted() const {
    std::vector<std::uint64_t> list;
    for (std::uint64_t slot = 0; slot < flights_.size(); ++slot) {
      if (flights_[slot].open && flights_[slot].submitted) list.push_back(slot);
    }
    return list;
  }
  Flight& operator[](std::uint64_t slot) { return flights_[slot]; }
  std::size_t open_count() const { return flights_.size() - unused_.size(); }

 private:
  std::vector<Flight> flights_;
  std::vector<std::uint64_t> unused_;
};

}  // namespace paternoster::simulator
