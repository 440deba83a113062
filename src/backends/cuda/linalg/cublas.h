// SPDX-License-Identifier: Apache-2.0
/// Large products of row-major matrices by cuBLAS, which is found when it is needed: the plug-in
/// works without it elsewhere. Its functions are declared here, so that it is built without it too.
#pragma once

#include <cstddef>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <string>

#include "backends/cuda/device/memory.h"
#include "likewise/types.h"

namespace likewise::cuda {

struct CublasLibrary {
  using Handle = struct cublasContext*;
  using Status = int;
  static constexpr Status kSuccess = 0;

  const char* (*status_text)(Status);
  Status (*create)(Handle*);
  Status (*destroy)(Handle);
  Status (*set_stream)(Handle, cudaStream_t);
  Status (*set_workspace)(Handle, void*, std::size_t);
  Status (*set_pointer_mode)(Handle, int);
  Status (*set_math_mode)(Handle, int);
  Status (*gemm)(Handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
                 cudaDataType type_a, int lda, const void* b, cudaDataType type_b, int ldb,
                 const void* beta, void* c, cudaDataType type_c, int ldc, int compute,
                 int algorithm);
};

/// That of this process: next to the plug-in, else the system's. Loaded once. Throws
/// Error(kDevice) saying what is missing and what to install.
[[nodiscard]] const CublasLibrary& cublas();

/// Why cublas() throws; empty where it does not.
[[nodiscard]] std::string cublas_problem();

/// c = *alpha a' b + *beta c, for a (depth x rows), b (depth x columns) and c (rows x columns), all
/// row-major with so many numbers from one row to the next. Not `by_column`: a b, for a (rows x
/// depth). The factors are on the GPU.
template <class T>
struct DenseProduct {
  Index rows = 0;
  Index columns = 0;
  Index depth = 0;
  const T* a = nullptr;
  Index a_stride = 0;
  const T* b = nullptr;
  Index b_stride = 0;
  float* c = nullptr;
  Index c_stride = 0;
  const float* alpha = nullptr;
  const float* beta = nullptr;
  bool by_column = true;
};

/// Multiplies in one stream. Sums are in float32, never in TF32, and the same in every run on the
/// same GPU.
class Multiplier {
 public:
  /// What it takes of the GPU.
  static constexpr Offset kBytes = Offset{32} << 20;

  explicit Multiplier(cudaStream_t stream);
  ~Multiplier();
  Multiplier(const Multiplier&) = delete;
  Multiplier& operator=(const Multiplier&) = delete;

  void multiply(const DenseProduct<float>& product);
  void multiply(const DenseProduct<__half>& product);

 private:
  DeviceArray<std::byte> workspace_{kBytes};
  CublasLibrary::Handle handle_ = nullptr;
};

}  // namespace likewise::cuda
