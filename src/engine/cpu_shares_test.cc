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
  void siblings(std::initializer_list<int> processors, const std::string& list) {
    for (const int processor : processors) {
      const fs::path directory = root_ / "sys/devices/system/cpu" / ("cpu" + std::to_string(processor)) / "topology";
      fs::create_directories(directory);
      std::ofstream(directory / "thread_siblings_list") << list << "\n";
    }
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
  EXPECT_THAT(shares[0].processors, ElementsAre(2, 3));  // who has one more has one more thread, too
  EXPECT_THAT(shares[1].processors, ElementsAre(5));
  EXPECT_EQ(shares[0].cores, 2);
  EXPECT_THAT(shares[0].nodes, IsEmpty());
}

TEST(CpuShares, NeverSplitACoreWhileThereAreEnough) {
  NodeTree machine("siblings");
  machine.node(0, "0-1,4-5");
  machine.node(1, "2-3,6-7");
  machine.siblings({0, 4}, "0,4");
  machine.siblings({1, 5}, "1,5");
  machine.siblings({2, 6}, "2,6");
  machine.siblings({3, 7}, "3,7");
  const auto two = cpu_shares({0, 1, 2, 3, 4, 5, 6, 7}, 2, machine.root());
  EXPECT_THAT(two[0].processors, ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(two[1].processors, ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(two[1].nodes, ElementsAre(1));
  EXPECT_EQ(two[1].cores, 2);
  const auto four = cpu_shares({0, 1, 2, 3, 4, 5, 6, 7}, 4, machine.root());
  EXPECT_THAT(four[0].processors, ElementsAre(0, 4));
  EXPECT_THAT(four[3].processors, ElementsAre(3, 7));
  const auto eight = cpu_shares({0, 1, 2, 3, 4, 5, 6, 7}, 8, machine.root());
  EXPECT_THAT(eight[0].processors, ElementsAre(0));
  EXPECT_THAT(eight[1].processors, ElementsAre(4));
  const auto ten = cpu_shares({0, 1, 2, 3, 4, 5, 6, 7}, 10, machine.root());
  for (const CpuShare& share : ten) EXPECT_EQ(share.processors.size(), 1u);
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
    run_on({{all.back()}, 1, {}});
    std::thread([&] { seen = allowed_processors(); }).join();
  }).join();
  EXPECT_THAT(seen, ElementsAre(all.back()));
  EXPECT_EQ(allowed_processors(), all);  // this thread is free as before
}

}  // namespace
}  // namespace paternoster::engine
