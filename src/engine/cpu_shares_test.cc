#include "engine/cpu_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

namespace paternoster::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class NodeTree {
 public:
  explicit NodeTree(const std::string& name) : root_(fs::temp_directory_path() / ("paternoster_" + name)) {
    fs::remove_all(root_);
  }
  ~NodeTree() { fs::remove_all(root_); }
  void node(int number, const std::string& processors) {
    const fs::path directory = root_ / "sys/devices/system/node" / ("node" + std::to_string(number));
    fs::create_directories(directory);
    std::ofstream(directory / "cpulist") << processors << "\n";
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

TEST(CpuList, ReadsRangesAndStopsAtNonsense) {
  EXPECT_THAT(parse_cpu_list("0-3,8\n"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(parse_cpu_list("5"), ElementsAre(5));
  EXPECT_THAT(parse_cpu_list(""), IsEmpty());
  EXPECT_THAT(parse_cpu_list("1,x,3"), ElementsAre(1));
  EXPECT_THAT(parse_cpu_list("3-1"), IsEmpty());
}

TEST(CpuShares, FollowNodesWhoseProcessorsAreNumberedInTurns) {
  NodeTree machine("nodes");
  machine.node(0, "0,2,4,6");
  machine.node(1, "1,3,5,7");
  const auto shares = cpu_shares({0, 1, 2, 3, 4, 5, 6, 7}, 2, machine.root());
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_THAT(shares[0].processors, ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(shares[0].nodes, ElementsAre(0));
  EXPECT_THAT(shares[1].processors, ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(shares[1].nodes, ElementsAre(1));
}

TEST(CpuShares, CoverWhatIsAllowedAndNothingElse) {
  const auto shares = cpu_shares({2, 3, 5}, 2, "/nonexistent");
  EXPECT_THAT(shares[0].processors, ElementsAre(2));
  EXPECT_THAT(shares[1].processors, ElementsAre(3, 5));
  EXPECT_THAT(shares[0].nodes, IsEmpty());
}

TEST(CpuShares, OverlapWhereThereAreTooFew) {
  const auto shares = cpu_shares({4}, 3, "/nonexistent");
  for (const CpuShare& share : shares) EXPECT_THAT(share.processors, ElementsAre(4));
}

TEST(CpuShares, BindTheCallingThreadAndThoseItStarts) {
  const std::vector<int> all = allowed_processors();
  ASSERT_FALSE(all.empty());
  std::vector<int> seen;
  std::thread([&] {
    run_on({{all.back()}, {}});
    std::thread([&] { seen = allowed_processors(); }).join();
  }).join();
  EXPECT_THAT(seen, ElementsAre(all.back()));
  EXPECT_EQ(allowed_processors(), all);  // this thread is free as before
}

}  // namespace
}  // namespace paternoster::engine
