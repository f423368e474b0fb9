// One sequence's guesses: where they come from, which of them the plan in flight computes, and how
// often they have been right. Internal to scheduler/.
//
// Every prediction is judged when the token is drawn, also one that was not computed ahead: so a
// sequence that cannot be guessed costs nothing but a look-up, and one that begins to copy is noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "scheduler/speculation/ngram_index.h"

namespace paternoster::scheduler::speculation {

inline constexpr std::int32_t kAlways = 1024;  // rates and expectations are in 1024ths

struct Guesses {
  NgramIndex index;
  std::vector<TokenId> draft;  // after the known tokens, in the plan in flight
  TokenId next = -1;           // the prediction for the next token, drafted or not; -1: none
  std::int32_t rate = kFirstRate;

  // Of a sequence that nothing is known about: about what breaks even, so that the first hits decide.
  static constexpr std::int32_t kFirstRate = kAlways / 4;
  static constexpr std::int32_t kMemory = 8;  // judgements that the rate remembers

  void clear() {
    index.clear();
    drop();
    rate = kFirstRate;
  }

  // The plan's guesses are over, whatever became of them.
  void drop() {
    draft.clear();
    next = -1;
  }

  // The token drawn in the place of the guess number `at` of this plan.
  void judge(std::size_t at, TokenId drawn) {
    if (at < draft.size()) {
      learn(draft[at] == drawn);
    } else if (at == 0 && next >= 0) {
      learn(next == drawn);
    }
  }

 private:
  void learn(bool right) { rate += ((right ? kAlways : 0) - rate) / kMemory; }
};

}  // namespace paternoster::scheduler::speculation
