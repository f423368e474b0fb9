// Point of choice: when sequences get on, and for how long. One switch over the policies of this
// folder.
#pragma once

#include "scheduler/boarding/continuous.h"
#include "scheduler/boarding/sliced.h"
#include "scheduler/boarding/static.h"
#include "scheduler/boarding/static_global.h"
#include "scheduler/boarding/window.h"
#include "scheduler/choices.h"

namespace paternoster::scheduler::boarding {

// Whether the first of the queue may board in this step, seats and blocks apart.
inline bool is_open(Boarding boarding, const View& view) {
  switch (boarding) {
    case Boarding::kContinuous:
      return Continuous::open(view);
    case Boarding::kWindow:
      return Window::open(view);
    case Boarding::kStatic:
    case Boarding::kStaticGlobal:
    case Boarding::kSliced:
    case Boarding::kSlicedKeep:
      break;
  }
  return Static::open(view);
}

// Sequences that may run at once.
inline std::int32_t seats(const Config& config) {
  return config.choices.boarding == Boarding::kWindow ? Window::unit(config)
                                                      : config.limits.max_seqs;
}

// Seats that the next step can give: what max_queue is counted beyond.
inline std::int32_t open_seats(const Config& config, std::int32_t running) {
  return config.choices.boarding == Boarding::kContinuous
             ? Continuous::open_seats(running, seats(config))
             : Static::open_seats(running, seats(config));
}

inline bool is_sliced(Boarding boarding) {
  return boarding == Boarding::kSliced || boarding == Boarding::kSlicedKeep;
}

// Output tokens after which this time aboard is over. `longest`: the most anybody asked for; `most`:
// what max_len and the pool allow.
inline std::int32_t horizon(const Config& config, std::int32_t max_new, std::int32_t output,
                            std::int32_t longest, std::int32_t most) {
  if (is_sliced(config.choices.boarding)) {
    return Sliced::horizon(max_new, output, config.tuning.slice_tokens);
  }
  return config.choices.boarding == Boarding::kStaticGlobal
             ? StaticGlobal::horizon(max_new, longest, most)
             : max_new;
}

}  // namespace paternoster::scheduler::boarding
