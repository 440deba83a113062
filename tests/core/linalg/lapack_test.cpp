// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/lapack.h"

#include <cmath>
#include <dlfcn.h>

#include <gtest/gtest.h>

#include "core/system/own_folder.h"

namespace likewise {
namespace {

TEST(Lapack, FindsTheEigenvectorsOfASmallMatrix) {
  std::vector<double> a = {2, 1, 1, 2};
  const std::vector<double> values = symmetric_eigen(a, 2);
  // By hand: (1, -1) with 1 and (1, 1) with 3. The tolerance is a few roundings of doubles.
  ASSERT_EQ(values.size(), 2U);
  EXPECT_NEAR(values[0], 1, 1e-14);
  EXPECT_NEAR(values[1], 3, 1e-14);
  EXPECT_NEAR(a[0], -a[1], 1e-14);
  EXPECT_NEAR(a[2], a[3], 1e-14);
  EXPECT_NEAR(std::abs(a[2]), std::sqrt(0.5), 1e-14);
}

TEST(Lapack, LeavesOthersInTheProcessTheirThreads) {
  std::vector<double> a = {1};
  (void)symmetric_eigen(a, 1);  // so that it is loaded
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  const auto get = reinterpret_cast<int (*)()>(dlsym(library, "openblas_get_num_threads"));
  const int before = get();
  set(2);
  const int chosen = get();  // 1 where OpenBLAS was built without threads
  (void)symmetric_eigen(a, 1);
  EXPECT_EQ(get(), chosen);
  set(before);
}

TEST(OwnFolder, IsThatOfTheProgram) {
  EXPECT_EQ(own_folder(), std::filesystem::canonical("/proc/self/exe").parent_path());
}

}  // namespace
}  // namespace likewise
