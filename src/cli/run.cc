// paternoster run: one prompt, one answer, for scripts and pipes. Standard output has the answer and
// nothing else; a reader that goes away (head, less) ends the answer without a word.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
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

constexpr int kFailed = 1;

std::string read_standard_input() {
  std::string all;
  char bytes[65536];
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return all;
    }
    all.append(bytes, static_cast<std::size_t>(got));
  }
}

bool write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::write(STDOUT_FILENO, text.data(), text.size());
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// The words of the command line, then what the pipe brings. With --raw not a byte is changed.
std::string compose_prompt(const std::vector<std::string>& words, bool raw) {
  std::string prompt = fmt::format("{}", fmt::join(words, " "));
  if (isatty(STDIN_FILENO)) {
    return prompt;
  }
  std::string piped = read_standard_input();
  if (raw) {
    return prompt + piped;
  }
  while (piped.ends_with('\n') || piped.ends_with('\r')) {
    piped.pop_back();
  }
  return prompt.empty() || piped.empty() ? prompt + piped : prompt + "\n\n" + piped;
}

int complain(int code, std::string_view message) {
  fmt::print(stderr, "paternoster run: {}\n", message);
  return code;
}

int answer_once(Talker& talker, const TalkOptions& options, std::string prompt, bool raw) {
  Question question = new_question(options);
  if (raw) {
    question.text = std::move(prompt);
  } else {
    if (!options.system.empty()) {
      question.turns.push_back({"system", options.system});
    }
    question.turns.push_back({"user", std::move(prompt)});
  }
  const bool tty = isatty(STDOUT_FILENO);
  bool heard = true;
  const Result<Answer> answer = talker.answer(question, [&](std::string_view text) {
    heard = write_out(tty ? printable(text) : std::string(text));
    return heard;
  });
  if (!answer) {
    const bool template_missing = !raw && answer.error().message.contains("template");
    return complain(kFailed, answer.error().message +
                                 (template_missing ? " (--raw continues text without one)" : ""));
  }
  if (heard && !raw && !answer->text.ends_with('\n')) {
    write_out("\n");
  } else if (heard && tty) {
    write_out("\n");
  }
  return 0;
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("Answer one prompt. What is piped in is put after the prompt, or is the prompt.",
               "paternoster run");
  TalkOptions options;
  std::vector<std::string> words;
  bool raw = false;
  app.add_option("prompt", words, "what to ask; several words are joined by spaces");
  app.add_flag("--raw", raw, "no chat template: go on with the text as it is");
  add_talk_options(app, options, true);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  if (raw && !options.system.empty()) {
    return complain(kUsageError, "--system needs the chat template that --raw leaves out");
  }
  signal(SIGPIPE, SIG_IGN);
  std::string prompt = compose_prompt(words, raw);
  if (prompt.find_first_not_of(" \t\r\n") == std::string::npos) {
    return complain(kUsageError, "no prompt: give one as an argument or through a pipe");
  }
  const Result<std::unique_ptr<Talker>> talker = make_talker(options);
  if (!talker) {
    return complain(kFailed, talker.error().message);
  }
  return answer_once(**talker, options, std::move(prompt), raw);
}

}  // namespace paternoster::cli
