// The options that `chat` and `run` share: who answers, and how it draws its tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/talker.h"

namespace CLI {
class App;
}

namespace paternoster::cli {

struct TalkOptions {
  std::string model;  // a known name or a path; empty: the default model
  std::string url;    // not empty: a server answers instead
  std::string api_key;
  std::string chat_template;  // a file
  std::string system;
  std::optional<int> threads;
  std::optional<std::int64_t> max_tokens;
  double temperature = 0.7;
  std::optional<std::uint64_t> seed;
};

// `model_is_flag`: --model NAME instead of a word of its own.
void add_talk_options(CLI::App& app, TalkOptions& options, bool model_is_flag);

// Loads the model, or connects.
Result<std::unique_ptr<Talker>> make_talker(const TalkOptions& options);

// A question with the options' sampling and no words yet.
Question new_question(const TalkOptions& options);

}  // namespace paternoster::cli
