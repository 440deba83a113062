// SPDX-License-Identifier: Apache-2.0
/// float32 products on the tensor cores of 16 bits. A matrix, scaled by a power of two, is the sum
/// of two of halves, H + L, exact to 22 bits for all that is within 2^-17 of its largest number,
/// and
///
///     A'B = L'H + H'L + H'H    up to 2^-22
///
/// is one product of stacks that are three times as deep: (L, H, H) and (H, L, H). The small
/// products come first: the tensor cores cut off what is below the last bit of a sum, which is more
/// the larger the sum is.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "backends/cuda/device/memory.h"
#include "likewise/types.h"

namespace likewise::cuda {

/// How the parts of a stack lie.
enum class StackOrder { kLowHighHigh, kHighLowHigh };

/// A row-major matrix as stack: all numbers of a part, then those of the next.
class SplitStack {
 public:
  SplitStack(Offset numbers, StackOrder order) : order_(order), parts_(3 * numbers) {}
  [[nodiscard]] static Offset bytes(Offset numbers) { return 3 * numbers * Offset{sizeof(__half)}; }

  /// Takes the first `numbers` numbers of `x`, a multiple of 2. Reads all of them twice.
  void set(const float* x, Offset numbers, cudaStream_t stream);
  [[nodiscard]] const __half* parts() const { return parts_.data(); }
  /// The largest |number|, as bits; on the GPU.
  [[nodiscard]] const unsigned* largest() const { return largest_.data(); }

 private:
  StackOrder order_;
  DeviceArray<__half> parts_;
  DeviceArray<unsigned> largest_{1};
};

/// *factor = sign / (scale of a, scale of b): what the product of two stacks is multiplied by.
void unscale_product(const SplitStack& a, const SplitStack& b, float sign, float* factor,
                     cudaStream_t stream);

}  // namespace likewise::cuda
