#include "cli/failure.h"

#include <algorithm>
#include <cstdio>
#include <string>

namespace paternoster::cli {

int fail(std::string_view command, const Error& error) {
  std::fprintf(stderr, "paternoster %.*s: %s\n", static_cast<int>(command.size()), command.data(),
               error.message.c_str());
  return 1;
}

int fail_call(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  std::string line = error.what();
  std::ranges::replace(line, '\n', ' ');  // CLI11 explains over several lines; one is enough
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), line.c_str());
  return 2;
}

}  // namespace paternoster::cli
