#include "cli/engine_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace paternoster::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kLoadingTime{10};
constexpr std::chrono::seconds kDrainTime{60};

std::string last_lines(const std::string& path) {
  std::ifstream in(path);
  std::string text(std::istreambuf_iterator<char>(in), {});
  constexpr std::size_t kMost = 600;
  return text.size() > kMost ? "..." + text.substr(text.size() - kMost) : text;
}

Result<pid_t> spawn(std::vector<std::string> arguments, int output, const std::string& log) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t process = -1;
  const int failed = posix_spawn(&process, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return failure(ErrorCode::kInternal, std::string("cannot start paternoster serve: ") + std::strerror(failed));
  }
  return process;
}

// The first line of `output` that names an address; nothing when the program ends first or takes too long.
std::string read_address(int output) {
  const auto deadline = Clock::now() + kLoadingTime;
  std::string text;
  char bytes[1024];
  while (Clock::now() < deadline) {
    pollfd waiting{output, POLLIN, 0};
    if (poll(&waiting, 1, 1000) <= 0) continue;
    const ssize_t got = ::read(output, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    text.append(bytes, static_cast<std::size_t>(got));
    const std::size_t at = text.find(" at http");
    const std::size_t end = at == std::string::npos ? at : text.find('\n', at);
    if (end != std::string::npos) return text.substr(at + 4, end - at - 4);
  }
  return {};
}

}  // namespace

Result<EngineProcess> EngineProcess::start(std::vector<std::string> arguments) {
  const std::string log =
      (std::filesystem::temp_directory_path() / ("paternoster-serve-" + std::to_string(getpid()) + ".log")).string();
  std::vector<std::string> all{"paternoster", "serve"};
  all.insert(all.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  all.insert(all.end(), {"--port", "0"});
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failure(ErrorCode::kResourceExhausted, "no pipe can be made");
  const auto process = spawn(std::move(all), ends[1], log);
  close(ends[1]);
  if (!process) {
    close(ends[0]);
    return std::unexpected(process.error());
  }
  EngineProcess engine(*process, log);
  engine.url_ = read_address(ends[0]);
  close(ends[0]);
  if (!engine.url_.empty()) return engine;
  return failure(ErrorCode::kUnavailable, "paternoster serve did not start:\n" + last_lines(log));
}

EngineProcess::EngineProcess(EngineProcess&& other) noexcept
    : process_(std::exchange(other.process_, -1)), log_(std::move(other.log_)), url_(std::move(other.url_)) {}

EngineProcess::~EngineProcess() { stop(); }

bool EngineProcess::stop() {
  if (process_ < 0) return true;
  ::kill(process_, SIGTERM);
  const auto deadline = Clock::now() + kDrainTime;
  int status = 0;
  bool ended = false;
  while (!ended && Clock::now() < deadline) {
    ended = waitpid(process_, &status, WNOHANG) == process_;
    if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!ended) {
    ::kill(process_, SIGKILL);
    waitpid(process_, &status, 0);
  }
  process_ = -1;
  std::error_code ignored;
  std::filesystem::remove(log_, ignored);
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace paternoster::cli
