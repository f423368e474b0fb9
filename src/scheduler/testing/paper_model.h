// A model on paper, for tests: an executor whose keys and values are digests of the tokens before
// them.
//
// It knows only the plan: it writes each token's digest into the block and offset where the plan
// puts it, and reads the digest of the position before from the table. So a wrong table, a missing
// copy, a stale cached block or a block given to two sequences changes what is drawn, and alone()
// says what should be.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "scheduler/executor.h"
#include "scheduler/mix.h"
#include "scheduler/plan.h"
#include "scheduler/request.h"

namespace paternoster::scheduler::testing {

class PaperModel {
 public:
  PaperModel(std::int32_t num_blocks, std::int32_t block_size, std::uint32_t stop_one_in = 0,
             std::int32_t swap_blocks = 0)
      : block_size_(static_cast<std::size_t>(block_size)),
        stop_one_in_(stop_one_in),
        memory_(static_cast<std::size_t>(num_blocks) * block_size_),
        host_(static_cast<std::size_t>(swap_blocks) * block_size_) {}

  void execute(const Plan& plan, StepResult& result) {
    result.outcomes.clear();
    copy(plan.swap_out, memory_, host_);
    copy(plan.swap_in, host_, memory_);
    copy(plan.copies, memory_, memory_);
    // Read before write across entries would hide a block shared by mistake; so go entry by entry.
    for (const RunEntry& entry : plan.run) {
      const auto blocks = plan.blocks_of(entry);
      auto position = static_cast<std::size_t>(entry.first_position);
      std::uint64_t digest = position == 0 ? kMixStart : cell(blocks, position - 1);
      const auto tokens = plan.tokens_of(entry);
      bool draws = entry.samples;
      for (std::size_t at = 0; at < tokens.size(); ++at) {
        digest = mix(digest, static_cast<std::uint64_t>(tokens[at]));
        cell(blocks, position++) = digest;  // of wrong guesses too, as a real model writes them
        if (!draws || at + 1 < entry.known_count()) continue;
        const Outcome outcome = draw(entry.sequence, digest, entry.choice);
        result.outcomes.push_back(outcome);
        draws = !outcome.stop && at + 1 < tokens.size() && tokens[at + 1] == outcome.token;
      }
    }
  }

  // What one choice of the request must say, whatever the company.
  std::vector<TokenId> alone(std::span<const TokenId> prompt, std::int32_t choice,
                             std::int32_t max_new) const {
    std::uint64_t digest = kMixStart;
    for (const TokenId token : prompt) digest = mix(digest, static_cast<std::uint64_t>(token));
    std::vector<TokenId> output;
    while (static_cast<std::int32_t>(output.size()) < max_new) {
      const Outcome outcome = draw({}, digest, choice);
      output.push_back(outcome.token);
      if (outcome.stop) break;
      digest = mix(digest, static_cast<std::uint64_t>(outcome.token));
    }
    return output;
  }

 private:
  void copy(std::span<const BlockCopy> copies, const std::vector<std::uint64_t>& from,
            std::vector<std::uint64_t>& to) {
    for (const BlockCopy& one : copies) {
      for (std::size_t at = 0; at < block_size_; ++at) {
        to.at(one.to.value * block_size_ + at) = from.at(one.from.value * block_size_ + at);
      }
    }
  }
  std::uint64_t& cell(std::span<const BlockId> blocks, std::size_t position) {
    PATERNOSTER_CHECK(position / block_size_ < blocks.size());
    return memory_[blocks[position / block_size_].value * block_size_ + position % block_size_];
  }

  Outcome draw(SequenceId sequence, std::uint64_t digest, std::int32_t choice) const {
    const std::uint64_t drawn = mix(digest, static_cast<std::uint64_t>(choice) + 77) >> 33;
    const bool stop = stop_one_in_ > 0 && (drawn >> 10) % stop_one_in_ == 0;
    return {sequence, static_cast<TokenId>(drawn % 3), stop};
  }

  std::size_t block_size_;
  std::uint32_t stop_one_in_;
  std::vector<std::uint64_t> memory_;
  std::vector<std::uint64_t> host_;
};

}  // namespace paternoster::scheduler::testing
