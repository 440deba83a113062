// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/distributed/nccl_library.h"

#include <string>

#include <fmt/format.h>

#include "backends/cuda/device/shared_library.h"
#include "core/system/own_folder.h"
#include "likewise/error.h"

namespace likewise::cuda {
namespace {

constexpr const char* kLibrary = "libnccl.so.2";

}  // namespace

NcclLibrary load_nccl(const char* file) {
  const SharedLibrary library(
      file, {"GPUs of several processes train together by NCCL",
             fmt::format("Install NCCL for CUDA {0} (NVIDIA's package libnccl2; of pip "
                         "nvidia-nccl-cu{0}, with the folder of its library in LD_LIBRARY_PATH), "
                         "or train on processors",
                         cuda_major())});
  NcclLibrary found{};
  library.find(found.error_text, "ncclGetErrorString");
  library.find(found.last_error, "ncclGetLastError");
  library.find(found.version, "ncclGetVersion");
  library.find(found.unique_id, "ncclGetUniqueId");
  library.find(found.init_rank, "ncclCommInitRankConfig");
  library.find(found.finalize, "ncclCommFinalize");
  library.find(found.destroy, "ncclCommDestroy");
  library.find(found.abort, "ncclCommAbort");
  library.find(found.async_error, "ncclCommGetAsyncError");
  library.find(found.group_start, "ncclGroupStart");
  library.find(found.group_end, "ncclGroupEnd");
  library.find(found.send, "ncclSend");
  library.find(found.receive, "ncclRecv");
  return found;
}

const NcclLibrary& nccl() {
  static const NcclLibrary library = load_nccl(own_file(kLibrary).c_str());
  return library;
}

std::string connection_problem() { return problem_of(nccl); }

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
