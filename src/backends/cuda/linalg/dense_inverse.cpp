// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/linalg/dense_inverse.h"

#include <algorithm>

#include "backends/cuda/linalg/cholesky.h"
#include "backends/cuda/linalg/sweep_panels.h"

namespace likewise::cuda {
namespace {

/// Columns of a product: wider ones do more of the lower triangle for nothing, narrower ones leave
/// multiprocessors idle at their ends.
constexpr Index kColumns = 2048;

[[nodiscard]] Offset square(Index rows) { return Offset{rows} * rows; }

}  // namespace

DenseInverse::DenseInverse(Index order, Index block)
    : order_(order),
      block_(std::min(block, order)),
      blocks_((order + block - 1) / block),
      ahead_(Stream::first_in_line()),
      multiplier_(main_),
      ahead_multiplier_(ahead_),
      ready_(static_cast<std::size_t>(blocks_)),
      panels_{Panels(Offset{block_} * order), Panels(Offset{block_} * order)},
      panel_(Offset{block_} * order),
      pivot_(square(block_)),
      pivot_panel_(Offset{block_} * kPanel),
      lower_(square(block_)),
      transposed_(square(block_)),
      unused_(2 * Offset{block_}),
      inverse_(square(block_)),
      inverse_stack_(square(block_), StackOrder::kHighLowHigh),
      status_(blocks_),
      host_status_(blocks_) {
  constants_ = to_device(std::vector<float>{0.0F, 1.0F}, main_);
  fill_zero(status_.data(), blocks_, main_);
  main_.synchronize();
}

DenseInverse::~DenseInverse() {
  static_cast<void>(cudaStreamSynchronize(main_));
  static_cast<void>(cudaStreamSynchronize(ahead_));
}

Offset DenseInverse::bytes(Index order, Index block) {
  const Index rows = std::min(block, order);
  const Offset panel = Offset{rows} * order;
  constexpr Offset kFloat = sizeof(float);
  return 4 * SplitStack::bytes(panel) + panel * kFloat + SplitStack::bytes(square(rows)) +
         square(rows) * (3 * kFloat + Offset{sizeof(double)}) +
         Offset{rows} * kPanel * Offset{sizeof(double)} + 2 * Multiplier::kBytes;
}

Index DenseInverse::run(float* a, const std::function<void(Index)>& between) {
  prepare(a, 0);
  for (Index k = 0; k < blocks_; ++k) {
    apply(a, k);
    if (k + 1 < blocks_) prepare(a, k + 1);
    between(rows_of(k).end);
    // So far ahead of the GPU, and no further.
    if (k > 0) ready_[static_cast<std::size_t>(k - 1)].wait();
    if (k > 0 && host_status_.data()[k - 1] != 0) return bad_row(k - 1);
  }
  ahead_.synchronize();
  main_.synchronize();
  return host_status_.data()[blocks_ - 1] != 0 ? bad_row(blocks_ - 1) : -1;
}

DenseInverse::Rows DenseInverse::rows_of(Index k) const {
  return {k * block_, std::min(order_, (k + 1) * block_)};
}

Index DenseInverse::bad_row(Index k) const { return rows_of(k).first + host_status_.data()[k] - 1; }

/// The panels of block k, and the block's new rows.
void DenseInverse::prepare(float* a, Index k) {
  if (k > 0) reached_.hold(ahead_);
  const Rows block = rows_of(k);
  const SymmetricRows rows{a, order_, block.first, block.count()};
  gather_rows(rows, panel_.data(), pivot_.data(), ahead_);
  invert_pivot(k);
  multiply_by_pivot(k);
  put_rows(rows, panel_.data(), inverse_.data(), ahead_);
  ready_[static_cast<std::size_t>(k)].record(ahead_);
}

/// D^-1 = L^-T L^-1
void DenseInverse::invert_pivot(Index k) {
  const Index n = rows_of(k).count();
  invert_cholesky(pivot_.data(), n, kLeastGpuPivot, pivot_panel_.data(),
                  {lower_.data(), transposed_.data(), unused_.data(), unused_.data() + n},
                  status_.data() + k, ahead_);
  copy_to_host(host_status_.data() + k, status_.data() + k, 1, ahead_);
  ahead_multiplier_.multiply(DenseProduct<float>{n, n, n, lower_.data(), n, lower_.data(), n,
                                                 inverse_.data(), n, constants_.data() + 1,
                                                 constants_.data()});
  inverse_stack_.set(inverse_.data(), square(n), ahead_);
}

/// The panel becomes D^-1 times itself.
void DenseInverse::multiply_by_pivot(Index k) {
  const Index n = rows_of(k).count();
  Panels& panels = panels_[static_cast<std::size_t>(k % 2)];
  const Offset numbers = Offset{n} * order_;
  panels.rows.set(panel_.data(), numbers, ahead_);
  unscale_product(inverse_stack_, panels.rows, 1.0F, inverse_factor_.data(), ahead_);
  ahead_multiplier_.multiply(
      DenseProduct<__half>{n, order_, 3 * n, inverse_stack_.parts(), n, panels.rows.parts(), order_,
                           panel_.data(), order_, inverse_factor_.data(), constants_.data()});
  panels.products.set(panel_.data(), numbers, ahead_);
  unscale_product(panels.rows, panels.products, -1.0F, panels.factor.data(), ahead_);
}

/// The products of block k: first those of the rows that block k + 1 takes.
void DenseInverse::apply(float* a, Index k) {
  ready_[static_cast<std::size_t>(k)].hold(main_);
  const Rows next = k + 1 < blocks_ ? rows_of(k + 1) : Rows{order_, order_};
  update(a, k, {0, next.end}, next);
  update(a, k, next, {next.end, order_});
  reached_.record(main_);
  update_rest(a, k, next);
}

void DenseInverse::update_rest(float* a, Index k, Rows next) {
  for (const Rows side : {Rows{0, next.first}, Rows{next.end, order_}}) {
    for (Index first = side.first; first < side.end; first += kColumns) {
      const Rows columns{first, std::min(side.end, first + kColumns)};
      update(a, k, {0, std::min(columns.end, next.first)}, columns);
      update(a, k, {next.end, columns.end}, columns);
    }
  }
}

/// A_ij -= A_ki' D^-1 A_kj
void DenseInverse::update(float* a, Index k, Rows rows, Rows columns) {
  if (rows.count() <= 0 || columns.count() <= 0) return;
  const Panels& panels = panels_[static_cast<std::size_t>(k % 2)];
  multiplier_.multiply(DenseProduct<__half>{rows.count(), columns.count(), 3 * rows_of(k).count(),
                                            panels.rows.parts() + rows.first, order_,
                                            panels.products.parts() + columns.first, order_,
                                            a + Offset{rows.first} * order_ + columns.first, order_,
                                            panels.factor.data(), constants_.data() + 1});
}

}  // namespace likewise::cuda
