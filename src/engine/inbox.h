// Messages from any thread to one: a vector behind a mutex, taken whole. The reader sleeps in wait().
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

namespace paternoster::engine {

template <typename Message>
class Inbox {
 public:
  void push(Message message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    arrived_.notify_one();
  }

  // Ends every wait from now on.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    arrived_.notify_all();
  }

  // Swaps what has come into `out`, which is emptied first. With `sleep`, waits until there is
  // something, the box is closed or, if one is given, the time has come. False once it is closed.
  bool take(std::vector<Message>& out, bool sleep,
            std::optional<std::chrono::steady_clock::time_point> until = std::nullopt) {
    out.clear();
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return closed_ || !messages_.empty(); };
    if (sleep && until) {
      arrived_.wait_until(lock, *until, ready);
    } else if (sleep) {
      arrived_.wait(lock, ready);
    }
    out.swap(messages_);
    return !closed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
  bool closed_ = false;
};

}  // namespace paternoster::engine
