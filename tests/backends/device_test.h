// SPDX-License-Identifier: Apache-2.0
/// Tests that run on every device. A suite is instantiated once for each, as `Cpu` and `Cuda`:
/// --gtest_filter='Cuda/*' names those of a card. Where there is none they are skipped, and say
/// why.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "likewise/backend.h"
#include "likewise/error.h"

namespace likewise::test {

template <class Parameter>
class DeviceTest : public testing::TestWithParam<Parameter> {
 public:
  static void SetUpTestSuite() {
    const std::string suite = testing::UnitTest::GetInstance()->current_test_suite()->name();
    device_ = suite.starts_with("Cuda/") ? "cuda" : "cpu";
    try {
      backend_ = open_backend(device_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kDevice) throw;
      problem_ = error.what();
    }
  }
  static void TearDownTestSuite() { backend_.reset(); }

 protected:
  void SetUp() override {
    if (backend_ == nullptr) GTEST_SKIP() << "no card to test on: " << problem_;
  }

  /// "cpu" or "cuda"
  [[nodiscard]] static const std::string& device() { return device_; }
  [[nodiscard]] static bool on_card() { return device_ == "cuda"; }
  [[nodiscard]] static const Backend& backend() { return *backend_; }

 private:
  static inline std::string device_;
  static inline std::string problem_;
  static inline std::shared_ptr<const Backend> backend_;
};

}  // namespace likewise::test
