#include "engine/thread_pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/check.h"

namespace paternoster::engine {
namespace {

constexpr int kSpinsBeforeSleep = 4000;  // about 50 us: the longest serial part between two forks
constexpr int kSpinsBeforeYield = 2000;
constexpr std::size_t kPiecesPerThread = 4;  // small enough to even out a disturbed thread

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

constexpr std::uint32_t pieces_of(std::uint64_t ticket) {
  return static_cast<std::uint32_t>(ticket >> 32);
}
constexpr std::uint32_t next_of(std::uint64_t ticket) { return static_cast<std::uint32_t>(ticket); }

}  // namespace

ThreadPool::ThreadPool(int threads) : size_(threads) {
  PATERNOSTER_CHECK(threads >= 1);
  for (int thread = 1; thread < threads; ++thread) {
    helpers_.emplace_back([this, thread] { help(thread); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  epoch_.fetch_add(1);
  futex_wake_all(epoch_);
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::run(std::size_t count, std::size_t grain, void* callable, Invoke invoke) {
  if (count == 0) return;
  PATERNOSTER_CHECK(grain > 0);
  const std::size_t grains = (count + grain - 1) / grain;
  if (size_ == 1 || grains == 1) {
    invoke(callable, 0, count, 0);
    return;
  }
  const std::size_t wanted = std::min(grains, kPiecesPerThread * static_cast<std::size_t>(size_));
  const std::size_t piece = (grains + wanted - 1) / wanted * grain;
  const std::size_t pieces = (count + piece - 1) / piece;

  callable_ = callable;
  invoke_ = invoke;
  count_ = count;
  piece_ = piece;
  finished_.store(0, std::memory_order_relaxed);
  ticket_.store(std::uint64_t{pieces} << 32, std::memory_order_release);
  epoch_.fetch_add(1);
  if (sleepers_.load() > 0) futex_wake_all(epoch_);

  while (claim_and_run(0)) {
  }
  for (int spins = 0; finished_.load(std::memory_order_acquire) != pieces; ++spins) {
    if (spins < kSpinsBeforeYield) {
      relax();
    } else {
      sched_yield();
    }
  }
}

bool ThreadPool::claim_and_run(int thread) {
  // The number of pieces travels with the ticket, so a claim that comes too late is recognised
  // without looking at what the owner may already be replacing.
  const std::uint64_t ticket = ticket_.fetch_add(1, std::memory_order_acquire);
  if (next_of(ticket) >= pieces_of(ticket)) return false;
  const std::size_t begin = next_of(ticket) * piece_;
  const std::size_t end = std::min(begin + piece_, count_);
  invoke_(callable_, begin, end, thread);
  finished_.fetch_add(1, std::memory_order_release);
  return true;
}

void ThreadPool::help(int thread) {
  while (wait_for_work()) {
    while (claim_and_run(thread)) {
    }
  }
}

bool ThreadPool::wait_for_work() {
  for (;;) {
    for (int spins = 0; spins < kSpinsBeforeSleep; ++spins) {
      if (stop_.load(std::memory_order_relaxed)) return false;
      const std::uint64_t ticket = ticket_.load(std::memory_order_relaxed);
      if (next_of(ticket) < pieces_of(ticket)) return true;
      relax();
    }
    const std::uint32_t seen = epoch_.load();
    sleepers_.fetch_add(1);
    const std::uint64_t ticket = ticket_.load();
    if (next_of(ticket) >= pieces_of(ticket) && !stop_.load()) futex_wait(epoch_, seen);
    sleepers_.fetch_sub(1);
  }
}

}  // namespace paternoster::engine
