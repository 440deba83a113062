// SPDX-License-Identifier: Apache-2.0
/// NVIDIA's libraries that only some jobs need. They are opened when one of these begins: the
/// plug-in works without them elsewhere, and is built without them.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "likewise/error.h"

namespace likewise::cuda {

/// Of the toolkit that the plug-in was built with.
[[nodiscard]] int cuda_major();

class SharedLibrary {
 public:
  struct Texts {
    std::string purpose;  ///< "a GPU needs cuBLAS for this job"
    std::string remedy;   ///< "Install cuBLAS ..."
  };

  /// Opens `file`; it stays open for good. Throws Error(kDevice) saying what is missing and what to
  /// do.
  SharedLibrary(std::string file, Texts texts);

  /// Sets a pointer to a function of the library. Errors as above.
  template <class Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }

 private:
  [[nodiscard]] void* symbol(const char* name) const;
  [[noreturn]] void refuse(const char* reason) const;

  std::string file_;
  Texts texts_;
  void* library_ = nullptr;
};

/// What `open` throws; empty where it throws nothing.
template <class Open>
[[nodiscard]] std::string problem_of(const Open& open) {
  try {
    static_cast<void>(open());
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace likewise::cuda
