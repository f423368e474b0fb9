// The record tags of a journal, shared by its writing and its reading half. Internal to scheduler/.
#pragma once

#include <cstdint>

namespace paternoster::scheduler {

inline constexpr std::uint8_t kJournalMagic[] = {'P', 'N', 'J', '2'};

enum JournalRecord : std::uint8_t {
  kSubmitRecord = 1,
  kCancelRecord = 2,
  kPlanRecord = 3,
  kCommitRecord = 4,
  kDrainRecord = 5,
  kForcePreemptRecord = 6,
};

}  // namespace paternoster::scheduler
