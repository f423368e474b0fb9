#include "scheduler/block_pool.h"

#include <gtest/gtest.h>

namespace paternoster::scheduler {
namespace {

TEST(BlockPool, TakesEmptyBlocksBeforeCachedOnesAndThoseByLeastRecentRelease) {
  BlockPool pool(3);
  const BlockId first = pool.take().block;
  const BlockId second = pool.take().block;
  pool.release(second, true);
  pool.release(first, true);
  EXPECT_EQ(pool.free(), 1);
  EXPECT_EQ(pool.cached(), 2);
  EXPECT_FALSE(pool.take().was_cached);
  const auto oldest = pool.take();
  EXPECT_TRUE(oldest.was_cached);
  EXPECT_EQ(oldest.block, second);
  EXPECT_EQ(pool.take().block, first);
  EXPECT_EQ(pool.available(), 0);
}

TEST(BlockPool, ASharedBlockStaysUsedUntilItsLastRelease) {
  BlockPool pool(2);
  const BlockId block = pool.take().block;
  pool.share(block);
  pool.release(block, true);
  EXPECT_EQ(pool.used(), 1);
  pool.release(block, true);
  EXPECT_EQ(pool.used(), 0);
  EXPECT_TRUE(pool.is_cached(block));
}

TEST(BlockPool, ACachedBlockComesBackWithItsContentWhenShared) {
  BlockPool pool(1);
  const BlockId block = pool.take().block;
  pool.release(block, true);
  pool.share(block);
  EXPECT_EQ(pool.references(block), 1);
  EXPECT_EQ(pool.available(), 0);
}

TEST(BlockPool, AForgottenBlockIsEmpty) {
  BlockPool pool(1);
  const BlockId block = pool.take().block;
  pool.release(block, true);
  pool.forget(block);
  EXPECT_EQ(pool.cached(), 0);
  EXPECT_FALSE(pool.take().was_cached);
}

}  // namespace
}  // namespace paternoster::scheduler
