// Talker: whoever answers a conversation for `chat` and `run`: the engine in this process
// (native_talker.h) or a server somewhere (remote_talker.h). One answer at a time, one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paternoster::cli {

// How often Ctrl-C is looked at while no token comes.
inline constexpr std::chrono::milliseconds kLookAround{20};

struct Turn {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

struct Question {
  std::vector<Turn> turns;  // the conversation so far, or
  std::string text;         // when there are no turns: text to go on with, no template
  std::optional<std::int64_t> max_tokens;
  std::optional<double> temperature;
  std::optional<std::uint64_t> seed;
};

struct Answer {
  std::string text;
  std::string finish_reason;  // "stop", "length", "cancelled"
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
};

class Talker {
 public:
  // Called with each piece of text, whole characters only. False: stop, nobody listens.
  using OnText = std::function<bool(std::string_view)>;

  virtual ~Talker() = default;

  // Streams the answer and gives it whole. Ends early with "cancelled" when on_text says so or
  // take_interrupt() does; then nothing of the request runs on.
  virtual Result<Answer> answer(const Question& question, const OnText& on_text) = 0;

  virtual std::string model() const = 0;  // its name, for people
};

}  // namespace paternoster::cli
