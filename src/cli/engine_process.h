// `paternoster serve` as a child of this process: started, found by the address it prints, drained at
// the end. Ours to measure; nothing a client sends comes near it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace paternoster::cli {

class EngineProcess {
 public:
  // `arguments` follow "serve"; --port 0 is added. Waits until it listens; the error has the last lines
  // of its log.
  static Result<EngineProcess> start(std::vector<std::string> arguments);
  EngineProcess(EngineProcess&& other) noexcept;
  EngineProcess& operator=(EngineProcess&&) = delete;
  ~EngineProcess();

  const std::string& url() const { return url_; }
  // Drains it and waits. False: it had to be ended, or ended with an error.
  bool stop();

 private:
  EngineProcess(pid_t process, std::string log) : process_(process), log_(std::move(log)) {}

  pid_t process_ = -1;
  std::string log_;  // the path of what it writes to standard error
  std::string url_;
};

}  // namespace paternoster::cli
