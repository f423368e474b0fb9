// How a command ends that cannot go on: one line on stderr, exit code 1. For the files of cli/ alone.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace paternoster::cli {

// Prints "paternoster COMMAND: message"; returns the exit code.
int fail(std::string_view command, const Error& error);

// CLI11 explains over several lines; one is enough.
std::string one_line(std::string text);

}  // namespace paternoster::cli
