#include "scheduler/prefix_index.h"

#include <gtest/gtest.h>

#include <array>

namespace paternoster::scheduler {
namespace {

constexpr std::array<TokenId, 2> kHello{5, 6};
constexpr std::array<TokenId, 2> kOther{5, 7};

TEST(PrefixIndex, FindsABlockOnlyByItsTokensParentAndNamespace) {
  PrefixIndex index(4, 2);
  const PrefixIndex::Key key{PrefixIndex::chain(PrefixIndex::root_hash(0), kHello),
                             PrefixIndex::kRoot, 0};
  const auto inserted = index.insert(BlockId{2}, key, kHello);
  EXPECT_EQ(index.find(key, kHello), BlockId{2});
  // The same hash, as a collision would give, finds nothing when anything verified differs.
  EXPECT_EQ(index.find(key, kOther), std::nullopt);
  EXPECT_EQ(index.find({key.hash, inserted.node, 0}, kHello), std::nullopt);
  EXPECT_EQ(index.find({key.hash, PrefixIndex::kRoot, 1}, kHello), std::nullopt);
}

TEST(PrefixIndex, EqualContentKeepsItsFirstBlockAndNode) {
  PrefixIndex index(4, 2);
  const PrefixIndex::Key key{11, PrefixIndex::kRoot, 0};
  const auto first = index.insert(BlockId{0}, key, kHello);
  const auto second = index.insert(BlockId{1}, key, kHello);
  EXPECT_EQ(first.node, second.node);
  EXPECT_FALSE(index.contains(BlockId{1}));
  EXPECT_EQ(index.size(), 1u);
}

TEST(PrefixIndex, ACollisionDisplacesTheOlderContent) {
  PrefixIndex index(4, 2);
  const PrefixIndex::Key key{11, PrefixIndex::kRoot, 0};
  const auto first = index.insert(BlockId{0}, key, kHello);
  const auto second = index.insert(BlockId{1}, key, kOther);
  EXPECT_EQ(second.displaced, BlockId{0});
  EXPECT_NE(first.node, second.node);
  EXPECT_FALSE(index.contains(BlockId{0}));
  EXPECT_EQ(index.find(key, kOther), BlockId{1});
}

TEST(PrefixIndex, ChildrenOfARemovedBlockAreNotFoundThroughItsSuccessor) {
  PrefixIndex index(4, 2);
  const PrefixIndex::Key root{11, PrefixIndex::kRoot, 0};
  const auto parent = index.insert(BlockId{0}, root, kHello);
  index.insert(BlockId{1}, {12, parent.node, 0}, kOther);
  index.remove(BlockId{0});
  const auto successor = index.insert(BlockId{2}, root, kHello);
  EXPECT_EQ(index.find({12, successor.node, 0}, kOther), std::nullopt);
  EXPECT_EQ(index.find({12, parent.node, 0}, kOther), BlockId{1});
}

TEST(PrefixIndex, NamespacesAndOrdersHashApart) {
  EXPECT_NE(PrefixIndex::root_hash(0), PrefixIndex::root_hash(1));
  constexpr std::array<TokenId, 2> turned{6, 5};
  EXPECT_NE(PrefixIndex::chain(1, kHello), PrefixIndex::chain(1, turned));
}

}  // namespace
}  // namespace paternoster::scheduler
