// ThreadPool: fork-join over a range of work, for steps of microseconds.
//
// One thread owns the pool and calls parallel(); the others help. Work is cut into pieces that are
// claimed one by one, so a helper that the kernel has put aside costs nothing: nobody waits for a
// thread, only for pieces already claimed. Which thread computes a piece never changes a result,
// because pieces write to disjoint places and no reduction crosses pieces.
//
// Helpers spin for some tens of microseconds after the last piece, then sleep on a futex: an idle
// pool uses no CPU.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace paternoster::engine {

class ThreadPool {
 public:
  // threads >= 1 counts the owner: a pool of one starts no thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept { return size_; }

  // Calls body(begin, end, thread) until [0, count) is covered by pieces of at least `grain` items
  // (the last may be shorter), every piece starting at a multiple of `grain`. 0 <= thread < size().
  // Returns when all is done. Owner only; not reentrant.
  template <typename Body>
  void parallel(std::size_t count, std::size_t grain, Body&& body) {
    using Callable = std::remove_reference_t<Body>;
    run(count, grain, const_cast<void*>(static_cast<const void*>(&body)),
        [](void* callable, std::size_t begin, std::size_t end, int thread) {
          (*static_cast<Callable*>(callable))(begin, end, thread);
        });
  }

 private:
  using Invoke = void (*)(void* callable, std::size_t begin, std::size_t end, int thread);

  void run(std::size_t count, std::size_t grain, void* callable, Invoke invoke);
  void help(int thread);
  bool claim_and_run(int thread);
  bool wait_for_work();

  int size_;
  // What the current pieces are. Read only by a thread that holds a claimed piece, which keeps the
  // owner inside run(): no lock is needed.
  void* callable_ = nullptr;
  Invoke invoke_ = nullptr;
  std::size_t count_ = 0;
  std::size_t piece_ = 0;

  alignas(64) std::atomic<std::uint64_t> ticket_{0};  // pieces in all << 32 | next piece
  alignas(64) std::atomic<std::uint32_t> finished_{0};
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  // the futex word; grows with every fork
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> helpers_;
};

}  // namespace paternoster::engine
