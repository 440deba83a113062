// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/linalg/cusolver.h"

#include <cstdint>
#include <library_types.h>

#include <fmt/format.h>

#include "backends/cuda/device/shared_library.h"
#include "core/system/own_folder.h"
#include "likewise/error.h"

namespace likewise::cuda {
namespace {

// Of cusolver_common.h and cublas_api.h.
constexpr int kVectors = 1;
constexpr int kLower = 0;

struct CusolverLibrary {
  using Handle = struct cusolverDnContext*;
  using Params = struct cusolverDnParams*;
  using Status = int;
  static constexpr Status kSuccess = 0;

  Status (*create)(Handle*);
  Status (*destroy)(Handle);
  Status (*set_stream)(Handle, cudaStream_t);
  Status (*create_params)(Params*);
  Status (*destroy_params)(Params);
  Status (*eigen_size)(Handle, Params, int vectors, int side, std::int64_t n, cudaDataType type_a,
                       const void* a, std::int64_t lda, cudaDataType type_w, const void* w,
                       cudaDataType compute, std::size_t* on_gpu, std::size_t* on_host);
  Status (*eigen)(Handle, Params, int vectors, int side, std::int64_t n, cudaDataType type_a,
                  void* a, std::int64_t lda, cudaDataType type_w, void* w, cudaDataType compute,
                  void* on_gpu, std::size_t gpu_bytes, void* on_host, std::size_t host_bytes,
                  int* info);
};

[[nodiscard]] CusolverLibrary load_cusolver() {
  // Its number is one below that of CUDA.
  const std::string file = own_file(fmt::format("libcusolver.so.{}", cuda_major() - 1).c_str());
  const SharedLibrary library(
      file, {"a GPU needs cuSOLVER for this job",
             fmt::format("Install cuSOLVER for CUDA {} (NVIDIA's package libcusolver; of pip "
                         "nvidia-cusolver, with the folder of its library in LD_LIBRARY_PATH), or "
                         "take the cpu",
                         cuda_major())});
  CusolverLibrary found{};
  library.find(found.create, "cusolverDnCreate");
  library.find(found.destroy, "cusolverDnDestroy");
  library.find(found.set_stream, "cusolverDnSetStream");
  library.find(found.create_params, "cusolverDnCreateParams");
  library.find(found.destroy_params, "cusolverDnDestroyParams");
  library.find(found.eigen_size, "cusolverDnXsyevd_bufferSize");
  library.find(found.eigen, "cusolverDnXsyevd");
  return found;
}

[[nodiscard]] const CusolverLibrary& cusolver() {
  static const CusolverLibrary library = load_cusolver();
  return library;
}

void require_cusolver(CusolverLibrary::Status status, const char* call) {
  if (status == CusolverLibrary::kSuccess) return;
  throw Error(ErrorKind::kDevice, fmt::format("cuSOLVER: {} failed with status {}", call, status));
}

class EigenSolver {
 public:
  explicit EigenSolver(const Stream& stream) : stream_(stream) {
    require_cusolver(cusolver().create(&handle_), "cusolverDnCreate");
    require_cusolver(cusolver().create_params(&params_), "cusolverDnCreateParams");
    require_cusolver(cusolver().set_stream(handle_, stream), "cusolverDnSetStream");
  }
  ~EigenSolver() {
    if (params_ != nullptr) static_cast<void>(cusolver().destroy_params(params_));
    if (handle_ != nullptr) static_cast<void>(cusolver().destroy(handle_));
  }
  EigenSolver(const EigenSolver&) = delete;
  EigenSolver& operator=(const EigenSolver&) = delete;

  /// Whether they converged.
  [[nodiscard]] bool solve(double* a, double* values, Index order) {
    std::size_t gpu_bytes = 0;
    std::size_t host_bytes = 0;
    require_cusolver(
        cusolver().eigen_size(handle_, params_, kVectors, kLower, order, CUDA_R_64F, a, order,
                              CUDA_R_64F, values, CUDA_R_64F, &gpu_bytes, &host_bytes),
        "cusolverDnXsyevd_bufferSize");
    DeviceArray<std::byte> on_gpu(static_cast<Offset>(gpu_bytes));
    std::vector<std::byte> on_host(host_bytes);
    DeviceArray<int> info(1);
    require_cusolver(cusolver().eigen(handle_, params_, kVectors, kLower, order, CUDA_R_64F, a,
                                      order, CUDA_R_64F, values, CUDA_R_64F, on_gpu.data(),
                                      gpu_bytes, on_host.data(), host_bytes, info.data()),
                     "cusolverDnXsyevd");
    int failed = 0;
    copy_to_host(&failed, info.data(), 1, stream_);
    stream_.synchronize();
    return failed == 0;
  }

 private:
  const Stream& stream_;
  CusolverLibrary::Handle handle_ = nullptr;
  CusolverLibrary::Params params_ = nullptr;
};

}  // namespace

std::string cusolver_problem() { return problem_of(cusolver); }

Offset eigen_bytes(Index order) {
  // The matrix, and as room three more and what the library holds.
  constexpr Offset kOwn = Offset{64} << 20;
  return 4 * Offset{order} * order * Offset{sizeof(double)} + kOwn;
}

std::vector<double> symmetric_eigen_on_gpu(std::vector<double>& a, Index order,
                                           const Stream& stream) {
  std::vector<double> values(static_cast<std::size_t>(order));
  if (order == 0) return values;
  DeviceArray<double> on_gpu = to_device(a, stream);
  DeviceArray<double> found(order);
  if (!EigenSolver(stream).solve(on_gpu.data(), found.data(), order)) {
    throw Error(
        ErrorKind::kNumerical,
        fmt::format("the eigenvalues of a {0} x {0} matrix do not converge: use smaller values",
                    order));
  }
  copy_to_host(a.data(), on_gpu.data(), on_gpu.size(), stream);
  copy_to_host(values.data(), found.data(), order, stream);
  stream.synchronize();
  return values;
}

}  // namespace likewise::cuda
