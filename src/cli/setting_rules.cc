#include "cli/setting_rules.h"

namespace paternoster::cli {

std::vector<SettingRule> setting_rules(const scheduler::Choices& choices) {
  using scheduler::Boarding;
  using scheduler::Order;
  using scheduler::Prefill;
  using scheduler::Relief;
  const bool window = choices.boarding == Boarding::kWindow;
  const bool sliced = choices.boarding == Boarding::kSliced || choices.boarding == Boarding::kSlicedKeep;
  const bool multilevel = choices.order == Order::kMultilevel;
  const bool promotes = multilevel || choices.order == Order::kShortest || choices.order == Order::kDeadline;
  const bool guesses = choices.speculation != scheduler::Speculation::kOff;
  const bool swaps = choices.relief == Relief::kSwap || choices.relief == Relief::kAuto;
  return {
      {"--itl-target", choices.prefill == Prefill::kLatencyTarget, "--prefill latency_target"},
      {"--window", window, "--boarding window"},
      {"--window-seqs", window, "--boarding window"},
      {"--slice-tokens", sliced, "--boarding sliced"},
      {"--ageing", choices.order == Order::kPriority, "--order priority"},
      {"--promotion", promotes, "--order shortest, deadline or multilevel"},
      {"--quantum", multilevel, "--order multilevel"},
      {"--speculate-tokens", guesses, "--speculate ngram"},
      {"--speculate-seqs", guesses, "--speculate ngram"},
      {"--swap-memory", swaps, "--relief swap"},
      {"--swap-tokens", swaps, "--relief swap"},
  };
}

}  // namespace paternoster::cli
