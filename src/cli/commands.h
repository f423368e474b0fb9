// The commands of `paternoster`: one file a command (serve.cc, chat.cc, ...), one row each in the
// table of main.cc, and the few words that are common to all (--help, --version, help COMMAND).
//
// A command is called as a small main of its own: argv[0] is its full name ("paternoster chat"),
// argv[argc] is null, and what it returns is the exit code: 0 done, 1 failed, 2 called wrongly.
// Every command answers --help itself. Only main.cc calls run_command.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace paternoster::cli {

inline constexpr int kUsageError = 2;

struct Command {
  std::string_view name;
  std::string_view summary;  // one line, for the list that --help prints
  int (*run)(int argc, char** argv);
};

int serve(int argc, char** argv);
int chat(int argc, char** argv);
int run(int argc, char** argv);
int pull(int argc, char** argv);
int inspect(int argc, char** argv);
int simulate(int argc, char** argv);
int calibrate(int argc, char** argv);
int advise(int argc, char** argv);
int mock(int argc, char** argv);
int bench(int argc, char** argv);
int compare(int argc, char** argv);

// Runs the command that argv[1] names. Unknown words are answered with exit code 2 and, when one is
// near enough, the command that was probably meant.
int run_command(std::span<const Command> commands, int argc, char** argv);

// The command whose name is nearest to `word`, or an empty view when none is near.
std::string_view nearest_command(std::span<const Command> commands, std::string_view word);

// "0.1.0": the version of this build.
std::string_view version();

}  // namespace paternoster::cli
