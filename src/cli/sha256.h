// The SHA-256 of a file, as lower-case hexadecimal: is this the model that was meant?
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace paternoster::cli {

Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace paternoster::cli
