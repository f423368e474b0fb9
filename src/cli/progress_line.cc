#include "cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/duration.h"

namespace paternoster::cli {

using Clock = std::chrono::steady_clock;

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0), began_(Clock::now()), last_(began_) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const std::string& what, std::uint64_t done, std::uint64_t total) {
  const auto now = Clock::now();
  if (!terminal_ || now - last_ < std::chrono::milliseconds(100) || done == 0 || total == 0) return;
  last_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const std::string left = duration_text(seconds * (1 - share) / share * 1e9);
  fmt::print(stderr, "\r\033[K{}: {:.0f} %, {} left", what, 100 * share, left);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace paternoster::cli
