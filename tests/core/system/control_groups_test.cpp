// SPDX-License-Identifier: Apache-2.0
/// Limits of control groups, in folders that look like theirs.
#include "core/system/control_groups.h"

#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support.h"

namespace likewise {
namespace {

class ControlGroups : public testing::Test {
 protected:
  /// `group` is "" for the root.
  void put(const std::string& group, const std::string& file, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(folder_ / group) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void second(const std::string& group, const std::string& most, int current) const {
    put(group, "memory.max", most);
    put(group, "memory.current", std::to_string(current));
  }
  void first(const std::string& group, const std::string& most, int usage) const {
    put(group, "memory.limit_in_bytes", most);
    put(group, "memory.usage_in_bytes", std::to_string(usage));
  }
  [[nodiscard]] std::string mount(const std::string& kind, const std::string& options,
                                  const std::string& root = "/") const {
    return fmt::format(
        "22 1 0:21 / /proc rw - proc proc rw\n35 31 0:32 {} {} rw,relatime shared:9 - {} cgroup "
        "{}\n",
        root, (folder_ / "").substr(0, (folder_ / "").size() - 1), kind, options);
  }

  test::TemporaryFolder folder_;
};

TEST_F(ControlGroups, TheLeastOfAllLevelsCounts) {
  const std::string mounts = mount("cgroup2", "rw,nsdelegate");
  second("slice", "1000", 900);
  second("slice/scope", "500", 100);
  second("slice/scope/job", "max", 90);
  EXPECT_EQ(available_in_control_groups("0::/slice/scope/job\n", mounts), 100U);
  second("slice", "2000", 900);
  EXPECT_EQ(available_in_control_groups("0::/slice/scope/job\n", mounts), 400U);
  second("slice/scope/job", "95", 90);
  EXPECT_EQ(available_in_control_groups("0::/slice/scope/job\n", mounts), 5U);
  second("slice/scope/job", "80", 90);
  EXPECT_EQ(available_in_control_groups("0::/slice/scope/job\n", mounts), 0U);
  EXPECT_EQ(available_in_control_groups("0::/slice\n", mounts), 1100U);
}

TEST_F(ControlGroups, AContainerSeesItsOwnAsTheRoot) {
  second("", "1000", 300);
  EXPECT_EQ(available_in_control_groups("0::/\n", mount("cgroup2", "rw")), 700U);
  const std::string below = mount("cgroup2", "rw", "/docker/abc");
  EXPECT_EQ(available_in_control_groups("0::/docker/abc\n", below), 700U);
  EXPECT_EQ(available_in_control_groups("0::/../elsewhere\n", below), 700U);
  second("inner", "400", 300);
  EXPECT_EQ(available_in_control_groups("0::/docker/abc/inner\n", below), 100U);
}

TEST_F(ControlGroups, TheFirstVersionToo) {
  const std::string groups = "12:pids:/x\n5:cpu,memory:/docker/abc\n1:name=systemd:/y\n0::/z\n";
  first("docker", "1000", 400);
  first("docker/abc", "9223372036854771712", 300);
  EXPECT_EQ(available_in_control_groups(groups, mount("cgroup", "rw,memory")), 600U);
  EXPECT_EQ(available_in_control_groups(groups, mount("cgroup", "rw,cpu,memory")), 600U);
  EXPECT_EQ(available_in_control_groups(groups, mount("cgroup", "rw,cpu")), std::nullopt);
}

TEST_F(ControlGroups, FilesInMemoryCanBeForgotten) {
  second("a", "1000", 990);
  put("a", "memory.stat", "anon 100\nfile 890\ninactive_file 700\nactive_file 100");
  EXPECT_EQ(available_in_control_groups("0::/a\n", mount("cgroup2", "rw")), 810U);
  first("b", "1000", 990);
  put("b", "memory.stat", "inactive_file 1\ntotal_inactive_file 500\ntotal_active_file 90");
  EXPECT_EQ(available_in_control_groups("4:memory:/b\n", mount("cgroup", "rw,memory")), 600U);
}

TEST_F(ControlGroups, WithoutALimitThereIsNone) {
  EXPECT_EQ(available_in_control_groups("", ""), std::nullopt);
  EXPECT_EQ(available_in_control_groups("0::/a\n", mount("cgroup2", "rw")), std::nullopt);
  EXPECT_EQ(available_in_control_groups("nonsense\n0:\n", "x\n- - -\n\n"), std::nullopt);
}

}  // namespace
}  // namespace likewise
