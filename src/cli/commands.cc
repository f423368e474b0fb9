#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

namespace paternoster::cli {
namespace {


// Levenshtein's distance: how many letters to change, add or leave out.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

void print_help(std::span<const Command> commands, std::FILE* out) {
  fmt::print(out,
             "paternoster serves language models on CPUs with continuous batching.\n\n"
             "Usage: paternoster COMMAND [OPTIONS]\n\nCommands:\n");
  for (const Command& command : commands) {
    fmt::print(out, "  {:<10}{}\n", command.name, command.summary);
  }
  fmt::print(out,
             "\nOptions:\n  -h, --help     print this text\n  -V, --version  print the version\n\n"
             "`paternoster help COMMAND` tells what a command takes.\n");
}

int call(const Command& command, std::span<char*> arguments) {
  std::string name = fmt::format("paternoster {}", command.name);
  std::vector<char*> argv{name.data()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  argv.push_back(nullptr);
  return command.run(static_cast<int>(argv.size()) - 1, argv.data());
}

const Command* find_command(std::span<const Command> commands, std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  return found == commands.end() ? nullptr : &*found;
}

int reject(std::span<const Command> commands, std::string_view word) {
  const std::string_view near = nearest_command(commands, word);
  const std::string hint = near.empty() ? "" : fmt::format(" Did you mean `{}`?", near);
  fmt::print(stderr, "paternoster: there is no command `{}`.{} See `paternoster --help`.\n",
             word.substr(0, 80), hint);
  return kUsageError;
}

}  // namespace

std::string_view nearest_command(std::span<const Command> commands, std::string_view word) {
  if (word.empty() || word.size() > 32) {
    return {};
  }
  std::string_view nearest;
  std::size_t least = 1 + std::max<std::size_t>(1, word.size() / 3);
  for (const Command& command : commands) {
    const bool begins = word.size() >= 2 && command.name.starts_with(word);
    const std::size_t steps = begins ? 0 : distance(word, command.name);
    if (steps < least) {
      least = steps;
      nearest = command.name;
    }
  }
  return nearest;
}

std::string_view version() { return PATERNOSTER_VERSION; }

int run_command(std::span<const Command> commands, int argc, char** argv) {
  if (argc < 2) {
    print_help(commands, stderr);
    return kUsageError;
  }
  const std::string_view word = argv[1];
  const std::span<char*> rest(argv + 2, argv + argc);
  if (word == "--version" || word == "-V" || word == "version") {
    fmt::print("paternoster {}\n", version());
    return 0;
  }
  if (word == "--help" || word == "-h" || (word == "help" && rest.empty())) {
    print_help(commands, stdout);
    return 0;
  }
  const bool help = word == "help";
  const std::string_view name = help ? rest.front() : word;
  const Command* command = find_command(commands, name);
  if (command == nullptr) {
    return reject(commands, name);
  }
  char flag[] = "--help";
  char* flags[] = {flag};
  return call(*command, help ? std::span<char*>(flags) : rest);
}

}  // namespace paternoster::cli
