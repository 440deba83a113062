// SPDX-License-Identifier: Apache-2.0
/// What a training says of its stages.
#pragma once

#include <chrono>
#include <string>

#include <fmt/format.h>

namespace likewise::cuda {

/// Seconds of the stages of a training, from its construction on.
class Stages {
 public:
  /// What was done since the last one.
  void end(const char* name) {
    const auto now = Clock::now();
    const std::chrono::duration<double> took = now - begin_;
    text_ += fmt::format("{}{} {:.3f} s", text_.empty() ? "" : ", ", name, took.count());
    begin_ = now;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  std::string text_;
};

}  // namespace likewise::cuda
