// One line on standard error that is written over as work goes on, with the time that is left; nothing at
// all if standard error is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace paternoster::cli {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // At most ten times a second.
  void show(const std::string& what, std::uint64_t done, std::uint64_t total);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace paternoster::cli
