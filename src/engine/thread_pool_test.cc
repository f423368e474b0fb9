#include "engine/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <numeric>
#include <vector>

namespace paternoster::engine {
namespace {

TEST(ThreadPool, CoversEveryItemExactlyOnceForManyShortForks) {
  ThreadPool pool(3);
  std::vector<int> touched(1000);
  for (std::size_t round = 0; round < 20000; ++round) {
    const std::size_t count = round % 997 + 1;
    pool.parallel(count, 1 + round % 16, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) ++touched[i];
    });
  }
  std::vector<int> expected(1000);
  for (std::size_t round = 0; round < 20000; ++round) {
    for (std::size_t i = 0; i < round % 997 + 1; ++i) ++expected[i];
  }
  EXPECT_EQ(touched, expected);
}

TEST(ThreadPool, PiecesStartAtMultiplesOfTheGrain) {
  ThreadPool pool(2);
  pool.parallel(1000, 16, [](std::size_t begin, std::size_t end, int thread) {
    EXPECT_EQ(begin % 16, 0u);
    EXPECT_TRUE(end == 1000 || end % 16 == 0);
    EXPECT_LT(thread, 2);
  });
}

TEST(ThreadPool, AnIdlePoolUsesNoCpu) {
  ThreadPool pool(4);
  pool.parallel(64, 1, [](std::size_t, std::size_t, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto cpu_us = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_sec * 1000000 +
           usage.ru_stime.tv_usec;
  };
  const auto before_us = cpu_us();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(cpu_us() - before_us, 3000);
}

}  // namespace
}  // namespace paternoster::engine
