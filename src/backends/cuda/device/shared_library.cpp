// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/shared_library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <fmt/format.h>

namespace likewise::cuda {

int cuda_major() { return CUDART_VERSION / 1000; }

SharedLibrary::SharedLibrary(std::string file, Texts texts)
    : file_(std::move(file)),
      texts_(std::move(texts)),
      library_(dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) refuse(dlerror());
}

void* SharedLibrary::symbol(const char* name) const {
  void* const found = dlsym(library_, name);
  if (found == nullptr) refuse(dlerror());
  return found;
}

void SharedLibrary::refuse(const char* reason) const {
  throw Error(ErrorKind::kDevice,
              fmt::format("{}, and {} cannot be loaded: {}. {}", texts_.purpose, file_,
                          reason == nullptr ? "no reason given" : reason, texts_.remedy));
}

}  // namespace likewise::cuda
