// The thread that renders and tokenises prompts, so that neither the I/O thread nor a step waits.
//
// Calls leave in the order in which they came, as messages to the engine's loop. One that is cancelled
// while it is here leaves no trace; later the loop must be told.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/error.h"
#include "api/event.h"
#include "api/request_status.h"
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

  // How the calls that are here stand, in the order in which they came.
  std::vector<api::RequestStatus> list(std::int64_t now_ns) const;

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
  // What a list tells of a call before its prompt is read.
  struct Known {
    std::string request_id;
    api::Standing standing;
    std::int64_t arrived_ns = 0;
    std::int32_t choices = 1;
    std::int32_t max_tokens = 0;
  };
  mutable std::mutex mutex_;
  std::map<api::CallId, Known> here_;  // guarded by mutex_; by arrival, since call ids count up
  std::thread thread_;
};

}  // namespace paternoster::engine
