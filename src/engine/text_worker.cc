#include "engine/text_worker.h"

#include <utility>

namespace paternoster::engine {

TextWorker::TextWorker(const Preparer& preparer, Ready ready)
    : preparer_(preparer), ready_(std::move(ready)), thread_([this] { work(); }) {}

TextWorker::~TextWorker() {
  inbox_.close();
  thread_.join();
}

void TextWorker::submit(api::CallId call, std::int64_t arrived_ns, api::Generation&& generation) {
  {
    const std::lock_guard lock(mutex_);
    here_[call] = {generation.request_id, generation.standing, arrived_ns, generation.choices,
                   generation.max_tokens.value_or(0)};
  }
  waiting_.fetch_add(1, std::memory_order_relaxed);
  inbox_.push({call, arrived_ns, std::move(generation)});
}

std::vector<api::RequestStatus> TextWorker::list(std::int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  std::vector<api::RequestStatus> list;
  for (const auto& [call, known] : here_) {
    api::RequestStatus& status = list.emplace_back();
    status.call = call.value;
    status.request_id = known.request_id;
    status.standing = known.standing;
    status.age_ns = now_ns - known.arrived_ns;
    if (known.standing.timeout_ms) {
      status.deadline_in_ns = known.arrived_ns + *known.standing.timeout_ms * 1'000'000 - now_ns;
    }
    status.max_output = known.max_tokens;
    for (std::int32_t choice = 0; choice < known.choices; ++choice) {
      status.choices.push_back({choice, "waiting", "prompt_unread", 0});
    }
  }
  return list;
}

bool TextWorker::cancel(api::CallId call) {
  const std::lock_guard lock(mutex_);
  return here_.erase(call) > 0;
}

void TextWorker::work() {
  std::vector<Job> jobs;
  while (inbox_.take(jobs, true)) {
    for (Job& job : jobs) {
      bool wanted = false;
      {
        const std::lock_guard lock(mutex_);
        wanted = here_.contains(job.call);
      }
      if (wanted) {
        auto prepared = preparer_.prepare(std::move(job.generation));
        if (prepared) {
          prepared->call = job.call;
          prepared->arrived_ns = job.arrived_ns;
        }
        // Under the lock: a cancel that finds the call gone must come after it at the loop.
        const std::lock_guard lock(mutex_);
        if (here_.erase(job.call) > 0) ready_(job.call, std::move(prepared));
      }
      waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

}  // namespace paternoster::engine
