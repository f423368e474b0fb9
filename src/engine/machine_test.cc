#include "engine/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace paternoster::engine {
namespace {

namespace fs = std::filesystem;

class MachineFiles : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() /
            ("paternoster-machine-" + std::to_string(getpid()) + "-" +
             testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    write("proc/meminfo", "MemTotal: 16000000 kB\nMemFree: 1000 kB\nMemAvailable: 8388608 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

TEST_F(MachineFiles, WithoutGroupsTheKernelsFigureCounts) {
  const Machine machine = read_machine(root_);
  EXPECT_EQ(machine.available_bytes, std::uint64_t{8} << 30);
  EXPECT_GE(machine.processors, 1);
  EXPECT_EQ(machine.available_reason, "MemAvailable is 8192 MiB");
}

TEST_F(MachineFiles, TheTightestLevelOfAVersionTwoGroupCounts) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/memory.max", "1073741824\n");
  write("sys/fs/cgroup/outer/memory.current", "536870912\n");
  write("sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file 268435456\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/cpu.max", "50000 100000\n");
  const Machine machine = read_machine(root_);
  EXPECT_EQ(machine.available_bytes, std::uint64_t{768} << 20);
  EXPECT_EQ(machine.available_reason, "cgroup memory.max is 1024 MiB, 256 MiB of it in use");
  EXPECT_EQ(machine.processors, 1);
}

TEST_F(MachineFiles, VersionOneLimitsAreRead) {
  write("proc/self/cgroup", "3:cpu,cpuacct:/not-mounted-here\n2:memory:/not-mounted-here\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const Machine machine = read_machine(root_);
  EXPECT_EQ(machine.available_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(machine.processors, 1);
}

TEST_F(MachineFiles, HardwareThreadsOfOneCoreCountOnce) {
  const int apart = read_machine(root_).processors;
  for (int cpu = 0; cpu < 1024; ++cpu) {
    write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", "0-1023\n");
  }
  const Machine machine = read_machine(root_);
  EXPECT_EQ(machine.processors, 1);
  if (apart > 1) EXPECT_NE(machine.processors_reason.find(" on 1 cores"), std::string::npos);
}

TEST_F(MachineFiles, AQuotaIsRoundedDownUnlessMuchWouldBeLeftUnused) {
  const int apart = read_machine(root_).processors;
  const auto with_quota = [&](const char* quota) {
    write("sys/fs/cgroup/cpu.max", std::string(quota) + " 100000\n");
    return read_machine(root_).processors;
  };
  EXPECT_EQ(with_quota("110000"), 1);
  EXPECT_EQ(with_quota("20000"), 1);
  EXPECT_EQ(with_quota("150000"), std::min(apart, 2));
  EXPECT_EQ(with_quota("200000"), std::min(apart, 2));
}

TEST_F(MachineFiles, UnlimitedGroupsDoNotLimit) {
  write("proc/self/cgroup", "0::/\n1:cpu:/\n2:memory:/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(read_machine(root_).available_bytes, std::uint64_t{8} << 30);
}

}  // namespace
}  // namespace paternoster::engine
