#include "cli/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/check.h"

namespace paternoster::cli {
namespace {

// The file actions and attributes of one spawn, released with it.
class SpawnSettings {
 public:
  explicit SpawnSettings(const std::filesystem::path& errors) {
    PATERNOSTER_CHECK(posix_spawn_file_actions_init(&actions_) == 0);
    PATERNOSTER_CHECK(posix_spawnattr_init(&attributes_) == 0);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, errors.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    // A server blocks signals for its own threads; the program must feel Ctrl-C all the same.
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return 127;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<int> run_program(const std::vector<std::string>& arguments,
                        const std::filesystem::path& errors) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));  // the interface is older than const
  }
  pointers.push_back(nullptr);
  const SpawnSettings settings(errors);
  pid_t process = 0;
  const int fault = posix_spawnp(&process, pointers[0], settings.actions(), settings.attributes(),
                                 pointers.data(), environ);
  if (fault != 0) {
    const auto code = fault == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInternal;
    return failure(code, "cannot run " + arguments[0] + ": " + std::strerror(fault));
  }
  return wait_for(process);
}

}  // namespace paternoster::cli
