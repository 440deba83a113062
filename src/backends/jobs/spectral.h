// SPDX-License-Identifier: Apache-2.0
/// The job `spectral`: the largest singular values of the normalised interactions and their item
/// vectors (docs/reference/math.md, "Spectral factors"). What every device is tested against:
/// src/backends/reference/spectral.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/spectral/normalised.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/matrix.h"
#include "likewise/memory.h"

namespace likewise {

/// How large a training is.
struct SpectralShape {
  Index users = 0;
  Index items = 0;
  Offset interactions = 0;
  int factors = 0;
};

/// Seconds of a training by one core.
[[nodiscard]] double spectral_core_seconds(const SpectralShape& shape);

/// Decomposes. Thread-safe; the same bits for any number of threads.
class SpectralJob {
 public:
  static constexpr Job kJob = Job::kSpectral;
  virtual ~SpectralJob() = default;

  /// What it will take beside the interactions. Throws Error(kOutOfMemory) with the figures where
  /// that is not there.
  [[nodiscard]] virtual MemoryPlan plan(const SpectralShape& shape) const = 0;

  /// `factors` >= 1 may exceed the rank. Errors: kOutOfMemory, kCancelled, and as eigenbasis()
  /// (core/dense.h).
  [[nodiscard]] virtual SpectralFactors decompose(const CsrView& by_user, int factors,
                                                  std::uint64_t seed,
                                                  const RunControl& control) const = 0;

  /// User factors from those of the items: user_sums() (algorithms/spectral/user_sums.h). Errors:
  /// kOutOfMemory, kDevice.
  [[nodiscard]] virtual Matrix users(const CsrView& by_user, std::span<const double> scale,
                                     const Matrix& items) const = 0;
};

}  // namespace likewise
