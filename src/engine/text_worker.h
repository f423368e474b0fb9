// The thread that renders and tokenises prompts, so that neither the I/O thread nor a step waits.
//
// Calls leave in the order in which they came, as messages to the engine's loop. One that is cancelled
// while it is here leaves no trace; later the loop must be told.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "api/error.h"
#include "api/event.h"
#include "engine/inbox.h"
#include "engine/preparer.h"

namespace paternoster::engine {

class TextWorker {
 public:
  using Ready = std::function<void(api::CallId, api::ApiResult<PreparedCall>&&)>;

  // `ready` is called on this worker's thread, not at all for cancelled calls.
  TextWorker(const Preparer& preparer, Ready ready);
  ~TextWorker();
  TextWorker(const TextWorker&) = delete;
  TextWorker& operator=(const TextWorker&) = delete;

  void submit(api::CallId call, std::int64_t arrived_ns, api::Generation&& generation);

  // True when the call was still here: it is forgotten.
  bool cancel(api::CallId call);

  std::int32_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    api::CallId call;
    std::int64_t arrived_ns;
    api::Generation generation;
  };

  void work();

  const Preparer& preparer_;
  Ready ready_;
  Inbox<Job> inbox_;
  std::atomic<std::int32_t> waiting_{0};
  std::mutex mutex_;
  std::unordered_set<api::CallId> here_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace paternoster::engine
