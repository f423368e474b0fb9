#include "cli/failure.h"

#include <algorithm>
#include <cstdio>

namespace paternoster::cli {

int fail(std::string_view command, const Error& error) {
  std::fprintf(stderr, "paternoster %.*s: %s\n", static_cast<int>(command.size()), command.data(),
               error.message.c_str());
  return 1;
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace paternoster::cli
