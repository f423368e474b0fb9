// Where calls come in to a loop that answers them: numbered by the caller, their prompts read on a thread of
// their own, and whoever ends one finds it here or behind.
//
// Threads as in api/backend.h: any thread may call. The loop (EngineLoop, SliceLoop), the preparer and the
// metrics (which may be null) must outlive the reception: it sends to the loop until its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "api/backend.h"
#include "engine/clock.h"
#include "engine/engine_loop.h"
#include "engine/preparer.h"
#include "engine/text_worker.h"
#include "measure/serving.h"

namespace paternoster::engine {

template <typename Loop>
class Reception {
 public:
  // `most_unread`: calls whose prompts wait to be read; beyond them calls are refused, so that a flood cannot
  // fill memory. The loop bounds those behind.
  Reception(Loop& loop, const Preparer& preparer, std::int32_t most_unread, const measure::ServingMetrics* metrics)
      : loop_(loop),
        most_unread_(most_unread),
        metrics_(metrics),
        worker_(preparer, [&loop](api::CallId call, api::ApiResult<PreparedCall>&& prepared) {
          if (prepared) {
            loop.send(std::move(*prepared));
          } else {
            loop.send(refusal_of(call, std::move(prepared.error())));
          }
        }) {}

  void generate(api::CallId call, api::Generation&& generation) {
    if (draining_.load()) {
      loop_.send(RefuseCall{call, api::draining(), scheduler::Refusal::kDraining});
    } else if (worker_.waiting() > most_unread_) {
      loop_.send(RefuseCall{call, full_queue(metrics_), scheduler::Refusal::kQueueFull});
    } else {
      worker_.submit(call, now_ns(), std::move(generation));
    }
  }

  void cancel(api::CallId call) {
    if (!worker_.cancel(call)) loop_.send(CancelCall{call});
  }

  void stop(api::CallId call) {
    if (worker_.cancel(call)) {
      loop_.send(RefuseCall{call, api::cancelled(), scheduler::Refusal::kNone});
    } else {
      loop_.send(StopCall{call});
    }
  }

  void list_requests() { loop_.send(ListRequests{worker_.list(now_ns())}); }

  void drain() {
    if (!draining_.exchange(true)) loop_.send(DrainNow{});
  }

  bool draining() const { return draining_.load(); }
  std::int32_t unread() const { return worker_.waiting(); }

 private:
  Loop& loop_;
  std::int32_t most_unread_;
  const measure::ServingMetrics* metrics_;
  std::atomic<bool> draining_{false};
  TextWorker worker_;
};

}  // namespace paternoster::engine
