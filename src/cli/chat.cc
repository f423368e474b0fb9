// paternoster chat: a conversation in the terminal.
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/talk_options.h"
#include "cli/talker.h"
#include "cli/terminal.h"

namespace paternoster::cli {
namespace {

constexpr std::string_view kHelp =
    "  /help          this list\n"
    "  /reset         forget the conversation\n"
    "  /again         drop the last answer and ask again\n"
    "  /system TEXT   how the model should behave; without TEXT: as it is by itself\n"
    "  /exit          leave (Ctrl-D does too)\n"
    "Ctrl-C stops an answer. A line that ends in \\ goes on in the next; pasted lines stay together.\n"
    "A message that begins with a slash is written with two.\n";

class Chat {
 public:
  Chat(Talker& talker, const TalkOptions& options)
      : talker_(talker), options_(options), system_(options.system) {}

  int run() {
    if (terminal_.interactive()) {
      say(fmt::format("{} answers. /help lists the commands, Ctrl-D leaves.\n", talker_.model()));
    }
    bool warned = false;  // one Ctrl-C at the prompt has been seen
    while (!over_) {
      const Input input = terminal_.read_message(terminal_.interactive() ? "> " : "");
      if (input.kind == InputKind::kEnd) {
        say(terminal_.interactive() ? "\n" : "");
        break;
      }
      if (input.kind == InputKind::kInterrupted) {
        if (warned || !terminal_.interactive()) {
          say("\n");
          break;
        }
        say("\nCtrl-C again, or Ctrl-D, leaves.\n");
        warned = true;
        continue;
      }
      warned = false;
      take(input.text);
    }
    return failed_ ? 1 : 0;
  }

 private:
  void take(std::string_view text) {
    if (text.find_first_not_of(" \t\n") == std::string_view::npos) {
      return;
    }
    if (text.starts_with('/') && !text.starts_with("//")) {
      command(text);
      return;
    }
    if (text.starts_with("//")) {
      text.remove_prefix(1);
    }
    turns_.push_back({"user", std::string(text)});
    ask();
  }

  void command(std::string_view text) {
    const auto space = text.find_first_of(" \t\n");
    const std::string_view name = text.substr(0, space);
    std::string_view rest = space == std::string_view::npos ? "" : text.substr(space + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (name == "/help" || name == "/?") {
      say(std::string(kHelp));
    } else if (name == "/reset" || name == "/new") {
      turns_.clear();
      say("The conversation begins anew.\n");
    } else if (name == "/system") {
      system_ = rest;
      say(system_.empty() ? "No system prompt.\n" : "The system prompt is set.\n");
    } else if (name == "/again") {
      again();
    } else if (name == "/exit" || name == "/quit") {
      over_ = true;
    } else {
      say(fmt::format("There is no command {}. /help lists them.\n", printable(name)));
    }
  }

  void again() {
    if (!turns_.empty() && turns_.back().role == "assistant") {
      turns_.pop_back();
    }
    if (turns_.empty()) {
      say("There is nothing to ask again.\n");
      return;
    }
    ask();
  }

  void ask() {
    Question question = new_question(options_);
    if (!system_.empty()) {
      question.turns.push_back({"system", system_});
    }
    question.turns.insert(question.turns.end(), turns_.begin(), turns_.end());
    const auto begin = std::chrono::steady_clock::now();
    take_interrupt();
    const Result<Answer> answer = talker_.answer(question, [this](std::string_view text) {
      return terminal_.write(terminal_.interactive() ? printable(text) : std::string(text));
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (!answer) {
      turns_.pop_back();  // so that the next message is not refused for this one's sake
      failed_ = !terminal_.interactive();
      fmt::print(stderr, "paternoster chat: {}\n", printable(answer.error().message));
      return;
    }
    if (!answer->text.empty()) {
      turns_.push_back({"assistant", answer->text});
    } else {
      turns_.pop_back();
    }
    over_ = !terminal_.write("\n");
    remark(*answer, took.count());
  }

  void remark(const Answer& answer, double seconds) {
    if (!terminal_.interactive()) {
      return;
    }
    std::string words = fmt::format("{} tokens, {:.1f} s", answer.output_tokens, seconds);
    if (answer.finish_reason == "cancelled") {
      words += ", stopped";
    } else if (answer.finish_reason == "length") {
      words += ", cut at the limit";
    }
    say(fmt::format("\x1b[2m({})\x1b[0m\n", words));
  }

  void say(std::string_view text) {
    if (!terminal_.write(text)) {
      over_ = true;
    }
  }

  Talker& talker_;
  const TalkOptions& options_;
  Terminal terminal_;
  InterruptWatch watch_;
  std::string system_;
  std::vector<Turn> turns_;
  bool over_ = false;
  bool failed_ = false;
};

}  // namespace

int chat(int argc, char** argv) {
  CLI::App app("Talk with a model in the terminal.", "paternoster chat");
  TalkOptions options;
  add_talk_options(app, options, false);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  signal(SIGPIPE, SIG_IGN);
  const Result<std::unique_ptr<Talker>> talker = make_talker(options);
  if (!talker) {
    fmt::print(stderr, "paternoster chat: {}\n", talker.error().message);
    return 1;
  }
  return Chat(**talker, options).run();
}

}  // namespace paternoster::cli
