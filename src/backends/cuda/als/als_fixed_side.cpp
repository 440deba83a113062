// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_fixed_side.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "algorithms/als/weights.h"
#include "backends/cuda/als/tables/als_tables.h"
#include "backends/cuda/linalg/fixed_sum.h"

namespace likewise::cuda {

AlsFixedSide::AlsFixedSide(const AlsSetup& setup, Index most_rows, AlsLink* link,
                           cudaStream_t stream)
    : setup_(setup),
      link_(link),
      gram_sum_(setup.padded),
      transform_(setup.padded),
      back_(setup.padded),
      enter_(setup.padded),
      small_(2 * Offset{setup.padded} * setup.padded),
      builders_{BasisBuilder(setup.width, setup.padded), BasisBuilder(setup.width, setup.padded)},
      gram_(Offset{setup.padded} * setup.padded),
      partial_(FixedSum::kBlocks),
      stored_(Offset{most_rows} * setup.padded * stored_bytes(setup.precision)),
      scale_(1),
      all_bias_(link != nullptr && setup.biased ? most_rows : 0) {
  if (link == nullptr) return;
  // Tools that look for memory never written do not see what a kernel copies from other GPUs.
  fill_zero(stored_.data(), stored_.size(), stream);
  fill_zero(all_bias_.data(), all_bias_.size(), stream);
}

void AlsFixedSide::start(Side side, const AlsData& data, AlsFactorTables& tables,
                         const Scratch& scratch, const RunControl& control, cudaStream_t stream) {
  start_basis(side, data, tables, control, stream);
  if (starts_all()) store_rows(side, data, tables, scratch, control, stream);
  started_ = side;
}

void AlsFixedSide::prepare(Side side, const AlsData& data, AlsFactorTables& tables,
                           const Scratch& scratch, const RunControl& control, cudaStream_t stream) {
  const bool started = started_ == side;
  if (started_ && !started) bring_rows(stream);  // nobody else has brought them
  started_.reset();
  if (!started) start_basis(side, data, tables, control, stream);
  if (!started || !starts_all()) store_rows(side, data, tables, scratch, control, stream);
}

void AlsFixedSide::start_basis(Side side, const AlsData& data, AlsFactorTables& tables,
                               const RunControl& control, cudaStream_t stream) {
  sum_gram(side, data.side(side), tables, control, stream);
  if (own_basis()) return;
  const auto [missing, lambda] = basis_terms(data, side);
  if (takes_cholesky()) {
    builder(side).start_cholesky(gram_.data(), missing, lambda, stream);
  } else if (builder(side).is_on_gpu()) {
    builder(side).by_eigenvectors(gram_.data(), missing, lambda, stream);
  }
}

void AlsFixedSide::store_rows(Side side, const AlsData& data, AlsFactorTables& tables,
                              const Scratch& scratch, const RunControl& control,
                              cudaStream_t stream) {
  const AlsSide& fixed = data.side(side);
  const Index rows = fixed.rows.rows;
  builder_ = &builder(side);
  first_row_ = link_ == nullptr ? 0 : link_->first_row(side);
  const double bound = row_bound(data.totals(), side);
  host_scale_ = table_scale(bound);
  row_bound_ = static_cast<float>(bound) * host_scale_;
  fill_column(scale_.data(), 1, 1, 0, host_scale_, stream);
  finish_basis(data, side, stream);
  if (!own_basis()) transform_.set(builder_->basis().transform(), stream);
  bias_ = biases(side, rows, tables.bias(side), stream);
  store_table_of(side, fixed, tables, scratch, control, stream);
  // While rows travel.
  FixedSum::run(scratch.rows, rows, partial_.data(), scratch.objective, stream);
  split_ways_back(data, side, stream);
}

void AlsFixedSide::bring_rows(cudaStream_t stream) const {
  if (link_ != nullptr) link_->bring_rows(stream);
}

void AlsFixedSide::sum_gram(Side side, const AlsSide& fixed, AlsFactorTables& tables,
                            const RunControl& control, cudaStream_t stream) {
  const Index rows = fixed.rows.rows;
  const float* weights = setup_.is_explicit() ? fixed.plan.shares.data() : nullptr;
  if (rows == 0) fill_zero(gram_.data(), gram_.size(), stream);
  tables.read(side, gram_sum_.rows_per_split(rows), control,
              [&](const float* table, Index first, Index count) {
                gram_sum_.add(table, first, count, rows, weights, gram_.data(), stream);
              });
  if (link_ != nullptr) link_->add_up(gram_, stream);
}

const float* AlsFixedSide::biases(Side side, Index rows, const float* own, cudaStream_t stream) {
  if (all_bias_.size() == 0) return own;
  if (rows > 0) {
    LIKEWISE_CUDA_CHECK(cudaMemcpyAsync(all_bias_.data() + first_row_, own,
                                        static_cast<std::size_t>(rows) * sizeof(float),
                                        cudaMemcpyDeviceToDevice, stream));
  }
  link_->share(side, reinterpret_cast<std::byte*>(all_bias_.data()), sizeof(float), stream);
  return all_bias_.data();
}

void AlsFixedSide::store_table_of(Side side, const AlsSide& fixed, AlsFactorTables& tables,
                                  const Scratch& scratch, const RunControl& control,
                                  cudaStream_t stream) {
  const Offset line = Offset{setup_.padded} * stored_bytes(setup_.precision);
  std::optional<TableShare> share;
  if (link_ != nullptr) {
    share.emplace(*link_, side, reinterpret_cast<std::byte*>(stored_.data()), line, stream);
  }
  // Blocks of rows that are streamed wait for those before, and these for the basis.
  const bool streamed = setup_.plan.placement == Placement::kStreamedTables;
  if (link_ != nullptr) link_->wait(streamed);
  const float* const bias = tables.bias(side);
  tables.read(side, 1, control, [&](const float* table, Index first, Index count) {
    for (Index done = 0; done < count;) {
      const Index most = share ? share->chunk_end() - first - done : count;
      const Index now = std::min(most, count - done);
      store_in_basis(table + Offset{done} * setup_.padded, first + done, now, scratch.block,
                     stream);
      done += now;
      if (share) share->made(first + done);
    }
    regularize_rows(table, count, setup_.padded, setup_.params.factors,
                    bias == nullptr ? nullptr : bias + first,
                    fixed.plan.regularization.data() + first, scratch.rows + first, stream);
  });
  if (share) share->send();
}

/// One lambda for all rows. Plain steps are those of an orthogonal basis with its columns scaled.
bool AlsFixedSide::takes_cholesky() const {
  const AlsParams& params = setup_.params;
  return !setup_.is_explicit() && params.regularization_exponent == 0.0 &&
         params.regularization > 0.0 && !params.plain_steps();
}

AlsFixedSide::BasisTerms AlsFixedSide::basis_terms(const AlsData& data, Side side) const {
  const SideTotals& solved = data.totals().side(other(side));
  if (setup_.is_explicit()) return {1.0, solved.typical_regularization};
  return {missing_weight(setup_.params),
          takes_cholesky() ? setup_.params.regularization : solved.smallest_regularization};
}

void AlsFixedSide::finish_basis(const AlsData& data, Side side, cudaStream_t stream) {
  const auto [missing, lambda] = basis_terms(data, side);
  if (!starts_all()) {
    if (link_ != nullptr) link_->wait(makes_basis());  // the host reads
    if (takes_cholesky()) {
      builder_->finish_cholesky(gram_.data(), missing, lambda, stream);
    } else if (makes_basis()) {
      builder_->by_eigenvectors(gram_.data(), missing, lambda, stream);
    }
    if (link_ != nullptr && !takes_cholesky()) {
      link_->take_from_first(builder_->basis().numbers(), stream);
    }
  }
}

void AlsFixedSide::split_ways_back(const AlsData& data, Side side, cudaStream_t stream) {
  if (own_basis()) return;
  const auto [missing, lambda] = basis_terms(data, side);
  back_.set(builder_->basis().back(), stream);
  if (setup_.exact) return;
  // The inverse of `back`: T^-T = (w G + lambda I) T, since T T^T = (w G + lambda I)^-1.
  const int padded = setup_.padded;
  float* product = small_.data() + Offset{padded} * padded;
  regularized_gram(gram_.data(), setup_.width, padded, missing, lambda, small_.data(), stream);
  multiply_rows(small_.data(), padded, transform_, product, stream);
  enter_.set(product, stream);
}

void AlsFixedSide::store_in_basis(const float* table, Index first, Index count, float* scratch,
                                  cudaStream_t stream) {
  const Offset line = setup_.padded;
  unsigned char* const stored =
      stored_.data() + (first_row_ + first) * line * stored_bytes(setup_.precision);
  if (setup_.precision == Precision::kFp16) {
    return multiply_rows_half(table, count, transform_, scale_.data(),
                              reinterpret_cast<__half*>(stored), stream);
  }
  if (own_basis()) {
    return store_table(setup_.precision, table, Offset{count} * line, host_scale_, stored, stream);
  }
  const Index block = setup_.plan.block_rows;
  for (Index done = 0; done < count; done += std::min(block, count - done)) {
    const Offset numbers = std::min(block, count - done) * line;
    multiply_rows(table + done * line, std::min(block, count - done), transform_, scratch, stream);
    store_table(setup_.precision, scratch, numbers, host_scale_,
                stored + done * line * stored_bytes(setup_.precision), stream);
  }
}

/// Rows in the basis are bounded: |v|^2 <= 1 / w0 (implicit), <= ratings / ratings of the row
/// (explicit). Those of own_basis() are not; kernels for float32 do not ask.
double AlsFixedSide::row_bound(const AlsTotals& totals, Side fixed) const {
  if (!setup_.is_explicit()) return 1.0 / std::sqrt(missing_weight(setup_.params));
  return std::sqrt(static_cast<double>(totals.shape.interactions) /
                   static_cast<double>(std::max<Offset>(1, totals.side(fixed).smallest_count)));
}

/// Uses float16's range well and cannot overflow it.
float AlsFixedSide::table_scale(double row_bound) const {
  const double most =
      setup_.is_explicit() ? std::min(64.0, 30000.0 / row_bound) : 4096.0 / row_bound;
  return own_basis() ? 1.0F : static_cast<float>(std::exp2(std::floor(std::log2(most))));
}

void AlsFixedSide::describe(RowProblem& problem) const {
  problem.table = stored_.data();
  problem.scale = host_scale_;
  problem.row_bound = row_bound_;
  problem.padded = setup_.padded;
  problem.base = builder_->basis().base();
  problem.shrink = builder_->basis().shrink();
  problem.weights.bias = bias_;
  if (!own_basis()) return;
  problem.bounded = setup_.params.factors;
  problem.unknowns = setup_.width;
  if (setup_.is_explicit()) return;
  problem.gram = gram_.data();
  problem.missing = missing_weight(setup_.params);
}

void AlsFixedSide::enter(const float* table, Index rows, float* inside, cudaStream_t stream) const {
  if (own_basis()) return copy_rows(table, rows, inside, stream);
  multiply_rows(table, rows, enter_, inside, stream);
}

void AlsFixedSide::leave(const float* inside, Index rows, float* table, cudaStream_t stream) const {
  if (own_basis()) return copy_rows(inside, rows, table, stream);
  multiply_rows(inside, rows, back_, table, stream);
}

void AlsFixedSide::copy_rows(const float* from, Index rows, float* to, cudaStream_t stream) const {
  LIKEWISE_CUDA_CHECK(
      cudaMemcpyAsync(to, from, static_cast<std::size_t>(rows) * setup_.padded * sizeof(float),
                      cudaMemcpyDeviceToDevice, stream));
}

void AlsFixedSide::fetch_status(Side side, cudaStream_t stream) {
  if (makes_basis()) builder(side).fetch_status(stream);
}

void AlsFixedSide::check(Side side) const {
  if (makes_basis()) builder(side).check();
}

}  // namespace likewise::cuda
