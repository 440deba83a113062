// SPDX-License-Identifier: Apache-2.0
/// The side that a half-step holds fixed: the basis in which rows are solved, and the side's table
/// in it, stored as the row kernels read it.
#pragma once

#include <optional>

#include "backends/cuda/als/als_factor_tables.h"
#include "backends/cuda/als/als_link.h"
#include "backends/cuda/als/als_side.h"
#include "backends/cuda/linalg/dense.h"

namespace likewise::cuda {

class AlsFixedSide {
 public:
  /// For sides of at most `most_rows`, those of other GPUs included. `link` leads to these, and
  /// must outlive this; null: there are none.
  AlsFixedSide(const AlsSetup& setup, Index most_rows, AlsLink* link, cudaStream_t stream);

  /// What a half-step lends.
  struct Scratch {
    float* block = nullptr;       ///< a block's rows
    double* rows = nullptr;       ///< a number for every row
    double* objective = nullptr;  ///< becomes the side's share of the objective
  };

  /// Makes the basis and the stored table of all rows: a collective call. With a link the host must
  /// wait() for the other GPUs before it waits for `stream`.
  void prepare(Side side, const AlsData& data, AlsFactorTables& tables, const Scratch& scratch,
               const RunControl& control, cudaStream_t stream);
  /// Puts what of prepare() needs no host into the stream: a collective call, for a GPU that would
  /// wait for the host otherwise. The rows must stay as they are until prepare().
  void start(Side side, const AlsData& data, AlsFactorTables& tables, const Scratch& scratch,
             const RunControl& control, cudaStream_t stream);

  /// Fills in what is the fixed side's in a problem.
  void describe(RowProblem& problem) const;
  /// Where rows of this table, the warm starts, are in the basis.
  void enter(const float* table, Index rows, float* inside, cudaStream_t stream) const;
  /// Solutions back from the basis.
  void leave(const float* inside, Index rows, float* table, cudaStream_t stream) const;

  /// What comes into the stream from now on has the others' rows, after prepare(). What does not
  /// read the stored table may come before.
  void bring_rows(cudaStream_t stream) const;
  /// Whether start() does all of prepare().
  [[nodiscard]] bool starts_all() const { return own_basis() || builders_[0].is_on_gpu(); }

  /// As BasisBuilder's, for the last half-step with this fixed side.
  void fetch_status(Side side, cudaStream_t stream);
  void check(Side side) const;

 private:
  /// Nonnegative factors stay as they are: signs are those of no other basis.
  [[nodiscard]] bool own_basis() const { return setup_.params.nonnegative; }
  void sum_gram(Side side, const AlsSide& fixed, AlsFactorTables& tables, const RunControl& control,
                cudaStream_t stream);
  /// The Gram matrix and what of the basis needs no host.
  void start_basis(Side side, const AlsData& data, AlsFactorTables& tables,
                   const RunControl& control, cudaStream_t stream);
  void finish_basis(const AlsData& data, Side side, cudaStream_t stream);
  /// For leave() and enter().
  void split_ways_back(const AlsData& data, Side side, cudaStream_t stream);
  /// From the same sums GPUs of a kind make the same basis. On the host it takes long, and one
  /// does.
  [[nodiscard]] bool makes_basis() const {
    if (own_basis()) return false;
    return starts_all() || link_ == nullptr || takes_cholesky() || link_->rank() == 0;
  }
  [[nodiscard]] bool takes_cholesky() const;
  void store_rows(Side side, const AlsData& data, AlsFactorTables& tables, const Scratch& scratch,
                  const RunControl& control, cudaStream_t stream);
  void store_table_of(Side side, const AlsSide& fixed, AlsFactorTables& tables,
                      const Scratch& scratch, const RunControl& control, cudaStream_t stream);
  /// The fixed side's biases, of all rows.
  [[nodiscard]] const float* biases(Side side, Index rows, const float* own, cudaStream_t stream);
  /// This GPU's rows of the fixed side from `first` on.
  void store_in_basis(const float* table, Index first, Index count, float* scratch,
                      cudaStream_t stream);
  /// What the basis is made of besides the Gram matrix.
  struct BasisTerms {
    double missing = 0.0;  ///< weight of the Gram matrix
    double lambda = 0.0;
  };
  [[nodiscard]] BasisTerms basis_terms(const AlsData& data, Side side) const;
  [[nodiscard]] BasisBuilder& builder(Side side) { return builders_[side == Side::kItems]; }
  [[nodiscard]] const BasisBuilder& builder(Side side) const {
    return builders_[side == Side::kItems];
  }
  void copy_rows(const float* from, Index rows, float* to, cudaStream_t stream) const;
  [[nodiscard]] double row_bound(const AlsTotals& totals, Side fixed) const;
  [[nodiscard]] float table_scale(double row_bound) const;

  const AlsSetup& setup_;
  AlsLink* link_;
  GramSum gram_sum_;
  SplitMatrix transform_;
  SplitMatrix back_;
  SplitMatrix enter_;
  DeviceArray<float> small_;  ///< two padded x padded matrices
  BasisBuilder builders_[2];  ///< by fixed side
  DeviceArray<double> gram_;
  DeviceArray<double> partial_;
  DeviceArray<unsigned char> stored_;
  DeviceArray<float> scale_;     ///< of the stored table
  DeviceArray<float> all_bias_;  ///< where other GPUs have some
  std::optional<Side> started_;
  // Of the half-step that was prepared last.
  BasisBuilder* builder_ = nullptr;
  Index first_row_ = 0;  ///< of this GPU's rows among all
  const float* bias_ = nullptr;
  float host_scale_ = 1.0F;
  float row_bound_ = 1.0F;  ///< no stored row is longer
};

}  // namespace likewise::cuda
