// How a command ends that cannot go on: one line on stderr and an exit code. For the files of cli/ alone.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <string_view>

#include "base/result.h"

namespace paternoster::cli {

// Prints "paternoster COMMAND: message"; returns 1.
int fail(std::string_view command, const Error& error);

// What CLI11 throws while it parses: prints the help that was asked for and returns 0, or one line that says
// what is wrong with the call and returns 2.
int fail_call(const CLI::App& app, const CLI::ParseError& error);

}  // namespace paternoster::cli
