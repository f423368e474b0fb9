#include "engine/swap_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "base/random.h"
#include "engine/kv_cache.h"

namespace paternoster::engine {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Directory {
 public:
  explicit Directory(const std::string& name) : path_(fs::temp_directory_path() / ("paternoster_swap_" + name)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Directory() { fs::remove_all(path_); }
  fs::path operator/(const char* name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Files may not become larger, while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

std::vector<std::byte> bytes_of(std::uint64_t seed, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t at = 0; at < count; ++at) bytes[at] = static_cast<std::byte>(random_u64(seed, 0, at));
  return bytes;
}

void write(SwapFile& file, std::uint64_t block, const std::vector<std::byte>& bytes) {
  const std::span<const std::byte> whole(bytes);
  const std::span<const std::byte> parts[] = {whole.first(10), whole.subspan(10)};
  file.write(block, parts);
}

std::vector<std::byte> read(SwapFile& file, std::uint64_t block, std::size_t count) {
  std::vector<std::byte> bytes(count);
  const std::span<std::byte> whole(bytes);
  const std::span<std::byte> parts[] = {whole.first(count / 2), whole.subspan(count / 2)};
  file.read(block, parts);
  return bytes;
}

TEST(SwapFile, GivesBackWhatItGotAndLeavesNoName) {
  const Directory directory("back");
  auto file = SwapFile::create(directory / "swap", 8, 100);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_TRUE(fs::is_empty(directory.path()));
  for (const std::uint64_t block : {7u, 0u, 3u}) write(**file, block, bytes_of(block, 100));
  write(**file, 3, bytes_of(33, 100));
  EXPECT_EQ(read(**file, 0, 100), bytes_of(0, 100));
  EXPECT_EQ(read(**file, 3, 100), bytes_of(33, 100));
  EXPECT_EQ(read(**file, 7, 100), bytes_of(7, 100));
  EXPECT_EQ((*file)->kept_in_memory(), 0u);
}

TEST(SwapFile, OverwritesNothingAndSaysWhatIsWrong) {
  const Directory directory("wrong");
  std::ofstream(directory / "mine") << "precious";
  const auto taken = SwapFile::create(directory / "mine", 8, 100);
  ASSERT_FALSE(taken.has_value());
  EXPECT_THAT(taken.error().message, HasSubstr("mine: File exists: remove it or name another"));
  std::string kept;
  std::ifstream(directory / "mine") >> kept;
  EXPECT_EQ(kept, "precious");
  const auto nowhere = SwapFile::create(directory / "no/such/place", 8, 100);
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_THAT(nowhere.error().message, HasSubstr("cannot create the swap file"));
}

TEST(SwapFile, ADiskWithoutRoomIsAnErrorAtTheStart) {
  const Directory directory("full");
  const auto first = SwapFile::create(directory / "first", 1, 100);  // from now on a limit only fails
  ASSERT_TRUE(first.has_value());
  const FileSizeLimit limit(1000);
  const auto file = SwapFile::create(directory / "swap", 100, 100);
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(file.error().message, HasSubstr("lower --swap-memory"));
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(SwapFile, WhatTheDiskDoesNotTakeLaterIsKeptInMemory) {
  const Directory directory("later");
  auto file = SwapFile::create(directory / "swap", 100, 100);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  {
    const FileSizeLimit limit(1050);
    for (std::uint64_t block = 8; block < 12; ++block) write(**file, block, bytes_of(block, 100));
  }
  EXPECT_EQ((*file)->kept_in_memory(), 2u);  // blocks 10 and 11
  for (std::uint64_t block = 8; block < 12; ++block) EXPECT_EQ(read(**file, block, 100), bytes_of(block, 100));
  EXPECT_EQ((*file)->kept_in_memory(), 0u);
  write(**file, 11, bytes_of(1, 100));
  EXPECT_EQ(read(**file, 11, 100), bytes_of(1, 100));
}

TEST(SwapFile, HoldsWhatACacheSwapsOut) {
  const Directory directory("cache");
  const kernels::AttentionShape shape{.heads = 4, .kv_heads = 2, .head_dim = 32, .window = 0, .scale = 1};
  const std::uint64_t bytes = KvCache::block_bytes(3, shape);
  auto file = SwapFile::create(directory / "swap", 4, bytes);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  KvCache cache(3, shape, 4, 4, std::move(*file));
  const std::size_t each = bytes / 3;
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const auto content = bytes_of(layer, each);
    std::copy(content.begin(), content.end(), cache.pool(layer) + 2 * each);
  }
  scheduler::Plan plan;
  plan.swap_out.push_back({BlockId{2}, BlockId{3}});
  cache.carry_out_copies(plan);
  for (std::size_t layer = 0; layer < 3; ++layer) std::fill_n(cache.pool(layer), 4 * each, std::byte{0});
  plan.swap_out.clear();
  plan.swap_in.push_back({BlockId{3}, BlockId{1}});
  cache.carry_out_copies(plan);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const auto content = bytes_of(layer, each);
    EXPECT_TRUE(std::equal(content.begin(), content.end(), cache.pool(layer) + each)) << layer;
  }
}

}  // namespace
}  // namespace paternoster::engine
