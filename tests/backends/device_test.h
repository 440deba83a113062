// SPDX-License-Identifier: Apache-2.0
/// Tests that run on every device. A suite is instantiated once for each, as `Cpu` and `Cuda`:
/// --gtest_filter='Cuda/*' names those of a GPU. Where there is none they are skipped, and say
/// why.
#pragma once

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "likewise/device.h"
#include "likewise/error.h"

namespace likewise::test {

template <class Parameter>
class DeviceTest : public testing::TestWithParam<Parameter> {
 public:
  static void SetUpTestSuite() {
    const std::string suite = testing::UnitTest::GetInstance()->current_test_suite()->name();
    device_name_ = suite.starts_with("Cuda/") ? "cuda" : "cpu";
    try {
      device_ = open_device(device_name_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kDevice) throw;
      problem_ = error.what();
    }
  }
  static void TearDownTestSuite() { device_.reset(); }

 protected:
  void SetUp() override {
    if (!device_) GTEST_SKIP() << "no GPU to test on: " << problem_;
  }

  /// "cpu" or "cuda"
  [[nodiscard]] static const std::string& device_name() { return device_name_; }
  [[nodiscard]] static bool on_gpu() { return device_name_ == "cuda"; }
  [[nodiscard]] static const Device& device() { return *device_; }

 private:
  static inline std::string device_name_;
  static inline std::string problem_;
  static inline std::optional<Device> device_;
};

}  // namespace likewise::test
