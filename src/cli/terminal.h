// The terminal as a chat needs it: messages in (line editing and history on a tty, plain lines from a
// pipe), text out, and Ctrl-C as something one may ask about instead of the end of the process.
//
// One Terminal a process, used by one thread: it owns the handling of SIGINT while it lives.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace paternoster::cli {

enum class InputKind {
  kMessage,      // text holds it; lines pasted together are one message
  kInterrupted,  // Ctrl-C
  kEnd,          // Ctrl-D or the end of the pipe
};

struct Input {
  InputKind kind = InputKind::kEnd;
  std::string text;
};

class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Waits for a message. A line that ends in a backslash goes on in the next one.
  Input read_message(std::string_view prompt);

  // Writes to standard output at once. False: nobody reads any more.
  bool write(std::string_view text);

  bool interactive() const;  // both ends are a terminal

 private:
  class Editor;

  Input read_line(std::string_view prompt);
  Input read_plain_line();
  bool more_is_waiting() const;

  std::unique_ptr<Editor> editor_;  // null unless interactive
};

// True once after each Ctrl-C since the last call. Any thread.
bool take_interrupt();

// From its making on, Ctrl-C sets what take_interrupt tells; its end restores what was before.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

// `text` without what would command a terminal (escape sequences, bell, cursor movement): a model's
// words are not trusted. Line breaks and tabs stay; UTF-8 passes, C1 controls included in it do not.
std::string printable(std::string_view text);

}  // namespace paternoster::cli
