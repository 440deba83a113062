// SPDX-License-Identifier: Apache-2.0
/// What happens where the GPU has too little memory left.
#include <charconv>
#include <dlfcn.h>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/iteration_run.h"
#include "likewise/als.h"
#include "likewise/device.h"
#include "tests/backends/device_test.h"
#include "tests/backends/jobs/als_cases.h"
#include "tests/backends/jobs/als_oracle.h"

namespace likewise {
namespace {

/// Takes nearly all memory that a GPU has left, by the driver's own calls, and gives it back at
/// the end. Allocations belong to the context that the CUDA runtime uses too.
class FullGpu {
 public:
  explicit FullGpu(int device) {
    int gpu = 0;
    void* context = nullptr;
    call<int(unsigned)>("cuInit", 0U);
    call<int(int*, int)>("cuDeviceGet", &gpu, device);
    call<int(void**, int)>("cuDevicePrimaryCtxRetain", &context, gpu);
    call<int(void*)>("cuCtxSetCurrent", context);
    std::size_t available = 0;
    std::size_t total = 0;
    call<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2", &available, &total);
    for (std::size_t piece = available; piece >= kLeft; piece /= 2) {
      while (take(piece)) {
      }
    }
  }
  ~FullGpu() {
    const auto release = find<int(unsigned long long)>("cuMemFree_v2");
    for (const unsigned long long at : taken_) release(at);
  }
  FullGpu(const FullGpu&) = delete;
  FullGpu& operator=(const FullGpu&) = delete;

 private:
  static constexpr std::size_t kLeft = std::size_t{16} << 20;

  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    void* found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(fmt::format("the driver has no {}", name));
    return reinterpret_cast<Function*>(found);
  }
  template <class Function, class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const int status = find<Function>(name)(arguments...);
    if (status != 0) throw std::runtime_error(fmt::format("{} failed with {}", name, status));
  }
  [[nodiscard]] bool take(std::size_t bytes) {
    unsigned long long at = 0;
    const auto allocate = find<int(unsigned long long*, std::size_t)>("cuMemAlloc_v2");
    if (allocate(&at, bytes) != 0) return false;
    taken_.push_back(at);
    return true;
  }

  void* library_ = dlopen("libcuda.so.1", RTLD_NOW);
  std::vector<unsigned long long> taken_;
};

class GpuMemory : public test::DeviceTest<int> {
 protected:
  /// N of "cuda:N".
  [[nodiscard]] static int number() {
    const std::string_view name = device().name();
    int number = 0;
    std::from_chars(name.data() + name.find(':') + 1, name.data() + name.size(), number);
    return number;
  }
};

TEST_P(GpuMemory, TooLittleIsAnErrorWithTheFigure) {
  const AlsParams params = test::small_als(Feedback::kImplicit, GetParam());
  const CsrMatrix m = test::long_rows_matrix();
  const IterationResult before = train_als(m.view(), params, device());
  {
    const FullGpu full(number());
    try {
      (void)train_als(m.view(), params, device());
      ADD_FAILURE() << "trained without memory";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
      EXPECT_THAT(error.what(), testing::ContainsRegex("[0-9.]+ (bytes|MiB|GiB)"));
    }
  }
  const IterationResult after = train_als(m.view(), params, device());
  EXPECT_TRUE(test::same_factors(after.factors, before.factors));
}

INSTANTIATE_TEST_SUITE_P(Cuda, GpuMemory, testing::Values(200), testing::PrintToStringParamName());

}  // namespace
}  // namespace likewise
