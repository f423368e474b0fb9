#include "engine/instances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paternoster::engine {
namespace {

using ::testing::HasSubstr;

Machine machine_of(int processors) {
  Machine machine;
  machine.processors = processors;
  return machine;
}

TEST(ShareOut, DividesWhatTheServerHasAndLosesNothing) {
  EngineOptions options;
  options.instances = 3;
  options.max_seqs = 32;
  options.max_queue = 100;
  options.kv_tokens = 3000;
  options.journal = "/tmp/journal";
  const auto shares = share_out(options, machine_of(8));
  ASSERT_TRUE(shares.has_value()) << shares.error().message;
  std::int32_t seats = 0;
  std::int32_t queue = 0;
  std::int32_t threads = 0;
  for (const EngineOptions& share : *shares) {
    seats += share.max_seqs;
    queue += share.max_queue;
    threads += share.threads;
    EXPECT_EQ(share.kv_tokens, 1000);
    EXPECT_EQ(share.step_tokens, options.step_tokens);
  }
  EXPECT_EQ(seats, 32);
  EXPECT_EQ(queue, 100);
  EXPECT_EQ(threads, 8);
  EXPECT_EQ((*shares)[0].max_seqs, 11);
  EXPECT_EQ((*shares)[2].journal, "/tmp/journal.2");
  EXPECT_TRUE((*shares)[2].trace.empty());
}

TEST(ShareOut, SaysWhatIsTooLittleToBeShared) {
  EngineOptions options;
  options.instances = 4;
  options.max_seqs = 3;
  EXPECT_THAT(share_out(options, machine_of(8)).error().message, HasSubstr("4 seats (--max-seqs), there are 3"));
  options.max_seqs = 4;
  options.threads = 2;
  EXPECT_THAT(share_out(options, machine_of(8)).error().message, HasSubstr("4 threads (--threads), there are 2"));
}

TEST(ShareOut, GivesEveryEngineAThreadOnASmallMachine) {
  EngineOptions options;
  options.instances = 4;
  const auto shares = share_out(options, machine_of(2));
  ASSERT_TRUE(shares.has_value());
  for (const EngineOptions& share : *shares) EXPECT_EQ(share.threads, 1);
}

}  // namespace
}  // namespace paternoster::engine
