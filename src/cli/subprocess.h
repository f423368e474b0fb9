// Runs another program to its end: no shell, arguments as they are. For fetching models only;
// nothing a client sends ever comes near it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace paternoster::cli {

// Finds arguments[0] on PATH and waits for it. Its standard input is empty, its standard output
// goes to our standard error, and its standard error to the file `errors`. The value is its exit
// code; 128 + n when signal n ended it. kNotFound when there is no such program.
Result<int> run_program(const std::vector<std::string>& arguments,
                        const std::filesystem::path& errors);

}  // namespace paternoster::cli
