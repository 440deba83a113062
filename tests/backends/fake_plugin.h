// SPDX-License-Identifier: Apache-2.0
/// The plug-in without CUDA (fakes/plugin.cpp), for as long as a test takes it.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace likewise::test {

/// A variable of the environment, put back at the end.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* text = std::getenv(name)) before_ = text;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

/// The fake plug-in with a fault, or none.
class FakePlugin {
 public:
  explicit FakePlugin(const char* fault = nullptr) : fault_("FAKE_PLUGIN", fault) {}

 private:
  Variable folder_{"LIKEWISE_PLUGIN_PATH", LIKEWISE_FAKE_PLUGIN_FOLDER};
  Variable fault_;
};

}  // namespace likewise::test
