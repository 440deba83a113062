// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/distributed/nccl_library.h"

#include <dlfcn.h>
#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "core/system/own_folder.h"
#include "likewise/error.h"

namespace likewise::cuda {
namespace {

constexpr const char* kLibrary = "libnccl.so.2";
constexpr int kCudaMajor = CUDART_VERSION / 1000;

[[noreturn]] void refuse(const char* file, const char* reason) {
  throw Error(
      ErrorKind::kDevice,
      fmt::format("GPUs of several processes train together by NCCL, and {} cannot be loaded: {}. "
                  "Install NCCL for CUDA {} (NVIDIA's package libnccl2; of pip "
                  "nvidia-nccl-cu{}, with the folder of its library in LD_LIBRARY_PATH), "
                  "or train on processors",
                  file, reason == nullptr ? "no reason given" : reason, kCudaMajor, kCudaMajor));
}

}  // namespace

NcclLibrary load_nccl(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(file, dlerror());
  NcclLibrary found{};
  const auto find = [&](auto& function, const char* name) {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr) refuse(file, dlerror());
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
  };
  find(found.error_text, "ncclGetErrorString");
  find(found.last_error, "ncclGetLastError");
  find(found.version, "ncclGetVersion");
  find(found.unique_id, "ncclGetUniqueId");
  find(found.init_rank, "ncclCommInitRankConfig");
  find(found.finalize, "ncclCommFinalize");
  find(found.destroy, "ncclCommDestroy");
  find(found.abort, "ncclCommAbort");
  find(found.async_error, "ncclCommGetAsyncError");
  find(found.group_start, "ncclGroupStart");
  find(found.group_end, "ncclGroupEnd");
  find(found.send, "ncclSend");
  find(found.receive, "ncclRecv");
  return found;
}

const NcclLibrary& nccl() {
  static const NcclLibrary library = load_nccl(own_file(kLibrary).c_str());
  return library;
}

std::string connection_problem() {
  try {
    static_cast<void>(nccl());
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

std::string connection() {
  int version = 0;  // 10000 major + 100 minor + patch
  require_nccl(nccl(), nccl().version(&version), "ncclGetVersion");
  return fmt::format("NCCL {}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

void require_nccl(const NcclLibrary& library, NcclLibrary::Result result, const char* call) {
  if (result == NcclLibrary::kSuccess) return;
  const char* detail = library.last_error(nullptr);
  throw Error(ErrorKind::kDevice,
              fmt::format("NCCL: {} failed: {}{}{}", call, library.error_text(result),
                          detail == nullptr || *detail == '\0' ? "" : "; ",
                          detail == nullptr ? "" : detail));
}

}  // namespace likewise::cuda
