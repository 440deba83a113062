// SPDX-License-Identifier: Apache-2.0
/// Estimates of scores with a proven error: they decide which items deserve an exact score.
///
/// A table holds the packed items in some format and is shared by all threads; an estimator is one
/// block of queries in the same format. Whatever the format, no winner is lost: a threshold is
/// lowered by more than the estimate can be wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "backends/cpu/top_k/item_panels.h"

namespace likewise {

class Estimator {
 public:
  virtual ~Estimator() = default;
  /// For queries[s] of the block: sets in hits[s] at least the bits of those items of the panel
  /// whose true score is >= thresholds[s]. Bits beyond the panel's items mean nothing.
  virtual void find(Index panel, std::span<const Index> queries, const float* thresholds,
                    std::uint64_t* hits) = 0;
};

class EstimateTable {
 public:
  virtual ~EstimateTable() = default;
  /// `queries` must outlive the estimator.
  [[nodiscard]] virtual std::unique_ptr<Estimator> load(const MatrixView& queries) const = 0;
};

/// kAuto: bytes where the processor multiplies them fast, else float32.
enum class EstimateKind { kAuto, kFloat32 };

/// `panels` must outlive the table. Copies the factors: items x factors numbers of the format.
[[nodiscard]] std::unique_ptr<EstimateTable> make_estimate_table(const CentredRows& items,
                                                                 const ItemPanels& panels,
                                                                 EstimateKind kind);

/// The formats behind it.
[[nodiscard]] std::unique_ptr<EstimateTable> make_float_estimates(const CentredRows& items,
                                                                  const ItemPanels& panels);
[[nodiscard]] std::unique_ptr<EstimateTable> make_byte_estimates(const CentredRows& items,
                                                                 const ItemPanels& panels);

}  // namespace likewise
