#include "cli/terminal.h"

#include <fcntl.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>

#include "base/check.h"

namespace paternoster::cli {
namespace {

std::atomic<bool> interrupted{false};

// A byte in it for each Ctrl-C: whoever waits for input waits for this too, so that a signal between
// two looks, or one that another thread gets, is never slept over.
int interrupt_pipe[2] = {-1, -1};

void note_interrupt(int) {
  const int saved = errno;
  interrupted.store(true, std::memory_order_relaxed);
  static_cast<void>(::write(interrupt_pipe[1], "!", 1) < 0);
  errno = saved;
}

// Waits until standard input has something or has ended. False: Ctrl-C came first.
bool wait_for_input() {
  for (;;) {
    if (interrupted.load(std::memory_order_relaxed)) {
      return false;
    }
    pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_pipe[0], POLLIN, 0}};
    if (poll(watched, 2, -1) > 0 && watched[0].revents != 0) {
      return true;
    }
  }
}

// libedit's way to a character: the next one of standard input in the locale's encoding.
int next_character(EditLine*, wchar_t* character) {
  std::mbstate_t state{};
  for (;;) {
    if (!wait_for_input()) {
      errno = EINTR;
      return -1;
    }
    char byte = 0;
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return static_cast<int>(got);
    }
    const std::size_t used = std::mbrtowc(character, &byte, 1, &state);
    if (used == static_cast<std::size_t>(-1)) {
      state = {};  // no character begins so: passed over
    } else if (used != static_cast<std::size_t>(-2)) {
      return 1;
    }
  }
}

// Lines that arrive this soon after one another were pasted, not typed.
constexpr int kPasteGapMs = 15;

}  // namespace

bool take_interrupt() {
  if (!interrupted.exchange(false, std::memory_order_relaxed)) {
    return false;
  }
  char bytes[64];
  while (::read(interrupt_pipe[0], bytes, sizeof bytes) > 0) {
  }
  return true;
}

struct InterruptWatch::Saved {
  struct sigaction action {};
};

InterruptWatch::InterruptWatch() : saved_(std::make_unique<Saved>()) {
  if (interrupt_pipe[0] < 0) {
    PATERNOSTER_CHECK(pipe2(interrupt_pipe, O_CLOEXEC | O_NONBLOCK) == 0);
  }
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &saved_->action);
  take_interrupt();
}

InterruptWatch::~InterruptWatch() { sigaction(SIGINT, &saved_->action, nullptr); }

// libedit, with the history of this session.
class Terminal::Editor {
 public:
  Editor() : edit_(el_init("paternoster", stdin, stdout, stderr)), history_(history_init()) {
    HistEvent event;
    history(history_, &event, H_SETSIZE, 500);
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, &Editor::prompt);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_SIGNAL, 0);
    el_set(edit_, EL_GETCFN, next_character);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  }
  ~Editor() {
    history_end(history_);
    el_end(edit_);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  Input read(std::string_view prompt_text) {
    prompt_ = prompt_text;
    // Before the prompt is seen: what is typed between it and the editor's own switch would be echoed
    // twice, and a Ctrl-D lost.
    el_set(edit_, EL_PREP_TERM, 1);
    int count = 0;
    const char* line = el_gets(edit_, &count);
    if (line == nullptr || count <= 0) {
      const bool stopped = take_interrupt();
      if (stopped) {
        el_reset(edit_);
      }
      return {stopped ? InputKind::kInterrupted : InputKind::kEnd, {}};
    }
    std::string text(line, static_cast<std::size_t>(count));
    if (text.ends_with('\n')) {
      text.pop_back();
    }
    return {InputKind::kMessage, std::move(text)};
  }

  void remember(const std::string& text) {
    HistEvent event;
    if (!text.empty() && text.find('\n') == std::string::npos) {
      history(history_, &event, H_ENTER, text.c_str());
    }
  }

 private:
  static char* prompt(EditLine* edit) {
    Editor* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return self->prompt_.data();
  }

  EditLine* edit_;
  History* history_;
  std::string prompt_;
};

Terminal::Terminal() {
  // libedit drops letters that the locale does not know; a bare container's locale knows ASCII only.
  if (setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) {
    setlocale(LC_CTYPE, "C.UTF-8");
  }
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
    editor_ = std::make_unique<Editor>();
  }
}

Terminal::~Terminal() = default;

bool Terminal::interactive() const { return editor_ != nullptr; }

Input Terminal::read_plain_line() {
  std::string text;
  for (char byte = 0;;) {
    if (!wait_for_input() && take_interrupt()) {
      return {InputKind::kInterrupted, {}};
    }
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return text.empty() ? Input{} : Input{InputKind::kMessage, std::move(text)};
    }
    if (byte == '\n') {
      return {InputKind::kMessage, std::move(text)};
    }
    text.push_back(byte);
  }
}

Input Terminal::read_line(std::string_view prompt) {
  return editor_ ? editor_->read(prompt) : read_plain_line();
}

bool Terminal::more_is_waiting() const {
  pollfd ready{STDIN_FILENO, POLLIN, 0};
  int bytes = 0;
  return editor_ != nullptr && poll(&ready, 1, kPasteGapMs) > 0 && (ready.revents & POLLIN) != 0 &&
         ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
}

Input Terminal::read_message(std::string_view prompt) {
  Input message = read_line(prompt);
  while (message.kind == InputKind::kMessage) {
    const bool continued = message.text.ends_with('\\');
    if (!continued && !more_is_waiting()) {
      break;
    }
    if (continued) {
      message.text.pop_back();
    }
    Input next = read_line(continued ? ". " : "");
    if (next.kind == InputKind::kInterrupted) {
      return next;
    }
    if (next.kind == InputKind::kEnd) {
      break;
    }
    message.text += '\n' + next.text;
  }
  if (editor_ && message.kind == InputKind::kMessage) {
    editor_->remember(message.text);
  }
  return message;
}

bool Terminal::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::write(STDOUT_FILENO, text.data(), text.size());
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080..U+009F, the eight-bit commands, are C2 80 .. C2 9F in UTF-8.
    const bool c1 = byte == 0xC2 && i + 1 < text.size() &&
                    static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) {
      ++i;
    } else if ((byte >= 0x20 && byte != 0x7F) || byte == '\n' || byte == '\t') {
      clean.push_back(text[i]);
    }
  }
  return clean;
}

}  // namespace paternoster::cli
