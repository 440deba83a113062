// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/linalg/cublas.h"

#include <fmt/format.h>

#include "backends/cuda/device/shared_library.h"
#include "core/system/own_folder.h"
#include "likewise/error.h"

namespace likewise::cuda {
namespace {

// Of cublas_api.h.
constexpr int kTransposed = 1;
constexpr int kPlain = 0;
constexpr int kFactorsOnGpu = 1;
constexpr int kNoReducedSums = 16;
constexpr int kFloatSums = 68;
constexpr int kUsualAlgorithm = -1;

[[nodiscard]] CublasLibrary load_cublas(const std::string& file) {
  const SharedLibrary library(
      file, {"a GPU needs cuBLAS for this job",
             fmt::format("Install cuBLAS for CUDA {} (NVIDIA's package libcublas; of pip "
                         "nvidia-cublas, with the folder of its library in LD_LIBRARY_PATH), or "
                         "take the cpu",
                         cuda_major())});
  CublasLibrary found{};
  library.find(found.status_text, "cublasGetStatusString");
  library.find(found.create, "cublasCreate_v2");
  library.find(found.destroy, "cublasDestroy_v2");
  library.find(found.set_stream, "cublasSetStream_v2");
  library.find(found.set_workspace, "cublasSetWorkspace_v2");
  library.find(found.set_pointer_mode, "cublasSetPointerMode_v2");
  library.find(found.set_math_mode, "cublasSetMathMode");
  library.find(found.gemm, "cublasGemmEx");
  return found;
}

void require_cublas(CublasLibrary::Status status, const char* call) {
  if (status == CublasLibrary::kSuccess) return;
  throw Error(ErrorKind::kDevice,
              fmt::format("cuBLAS: {} failed: {}", call, cublas().status_text(status)));
}

/// cuBLAS has columns where we have rows: c' = b' a.
template <class T>
void run(CublasLibrary::Handle handle, cudaDataType type, const DenseProduct<T>& p) {
  if (p.rows == 0 || p.columns == 0) return;
  const int op_a = p.by_column ? kTransposed : kPlain;
  require_cublas(cublas().gemm(handle, kPlain, op_a, p.columns, p.rows, p.depth, p.alpha, p.b, type,
                               p.b_stride, p.a, type, p.a_stride, p.beta, p.c, CUDA_R_32F,
                               p.c_stride, kFloatSums, kUsualAlgorithm),
                 "cublasGemmEx");
}

}  // namespace

const CublasLibrary& cublas() {
  static const CublasLibrary library =
      load_cublas(own_file(fmt::format("libcublas.so.{}", cuda_major()).c_str()));
  return library;
}

std::string cublas_problem() { return problem_of(cublas); }

Multiplier::Multiplier(cudaStream_t stream) {
  require_cublas(cublas().create(&handle_), "cublasCreate");
  require_cublas(cublas().set_stream(handle_, stream), "cublasSetStream");
  require_cublas(cublas().set_workspace(handle_, workspace_.data(), workspace_.bytes()),
                 "cublasSetWorkspace");
  require_cublas(cublas().set_pointer_mode(handle_, kFactorsOnGpu), "cublasSetPointerMode");
  require_cublas(cublas().set_math_mode(handle_, kNoReducedSums), "cublasSetMathMode");
}

Multiplier::~Multiplier() {
  if (handle_ != nullptr) static_cast<void>(cublas().destroy(handle_));
}

void Multiplier::multiply(const DenseProduct<float>& product) { run(handle_, CUDA_R_32F, product); }

void Multiplier::multiply(const DenseProduct<__half>& product) {
  run(handle_, CUDA_R_16F, product);
}

}  // namespace likewise::cuda
