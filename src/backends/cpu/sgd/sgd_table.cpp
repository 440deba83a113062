// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/sgd/sgd_table.h"

#include <algorithm>

#include "backends/cpu/kernels/als_vectors.h"
#include "core/system/parallel.h"

namespace likewise {

SgdTable::SgdTable(const SgdGrid& grid, const SgdRange& of, const SgdParams& params,
                   const Factors& from, std::span<const Index> piece_of)
    : range(of) {
  const SgdSide& order = side_of(grid, range.side);
  const Matrix& all = from.side(range.side);
  const bool biased = !from.bias(range.side).empty();
  const bool adaptive = !from.squares(range.side).empty();
  const Index lines = range.rows() + static_cast<Index>(piece_of.size());
  factors = Matrix(lines, all.cols());
  if (biased) bias = Array<float>(lines);
  if (adaptive) squares = Array<float>(lines);
  decay = Array<float>(lines);
  bias_decay = Array<float>(lines);
  parallel_for(range.rows(), 1024, [&](Offset at) {
    const Index r = order.row[range.first + at];
    std::copy_n(all.row(r), all.stride(), factors.row(static_cast<Index>(at)));
    if (biased) bias[at] = from.bias(range.side)[r];
    if (adaptive) squares[at] = from.squares(range.side)[r];
    const Offset count = order.count[range.first + at];
    const double nu = params.regularization_exponent;
    decay[at] = static_cast<float>(rating_decay(params.regularization, nu, count));
    bias_decay[at] = static_cast<float>(rating_decay(bias_lambda(params), nu, count));
  });
  for (std::size_t at = 0; at < piece_of.size(); ++at) {
    const Offset line = range.rows() + static_cast<Offset>(at);
    decay[line] = decay[piece_of[at]];
    bias_decay[line] = bias_decay[piece_of[at]];
  }
}

void SgdTable::store(const SgdGrid& grid, Factors& to) const {
  const SgdSide& order = side_of(grid, range.side);
  if (factors.rows() < range.rows()) return;  // on their way to another rank when an epoch failed
  parallel_for(range.rows(), 1024, [&](Offset at) {
    const Index r = order.row[range.first + at];
    std::copy_n(factors.row(static_cast<Index>(at)), factors.stride(), to.side(range.side).row(r));
    if (!bias.empty()) to.bias(range.side)[r] = bias[at];
    if (!squares.empty()) to.squares(range.side)[r] = squares[at];
  });
}

void SgdTable::split(const SgdRowEntries& lines) {
  parallel_for(std::ssize(lines.piece_of), 64, [&](Offset at) {
    const Index row = lines.piece_of[static_cast<std::size_t>(at)];
    const Index line = lines.rows() + static_cast<Index>(at);
    std::copy_n(factors.row(row), factors.stride(), factors.row(line));
    if (!bias.empty()) bias[line] = bias[row];
    if (!squares.empty()) squares[line] = squares[row];
  });
}

void SgdTable::join(const SgdRowEntries& lines, std::span<const SgdPieces> long_rows,
                    std::span<const float> start) {
  parallel_for(std::ssize(long_rows), 1, [&](Offset at) {
    const SgdPieces& pieces = long_rows[static_cast<std::size_t>(at)];
    const Index row = pieces.row;
    const auto weigh = [&](Index line) {
      return static_cast<float>(static_cast<double>(lines.size(line)) /
                                static_cast<double>(pieces.entries));
    };
    float* const x = factors.row(row);
    const float own = weigh(row);
    for (Index j = 0; j < factors.cols(); ++j) x[j] *= own;
    if (!bias.empty()) bias[row] *= own;
    for (Index line = pieces.first; line < pieces.last; ++line) {
      const float share = weigh(line);
      for (Index j = 0; j < factors.cols(); ++j) x[j] += share * factors.row(line)[j];
      if (!bias.empty()) bias[row] += share * bias[line];
      if (!squares.empty()) squares[row] += squares[line] - start[static_cast<std::size_t>(at)];
    }
  });
}

kernels::SgdRows SgdTable::rows() {
  return {factors.data(), bias.empty() ? nullptr : bias.data(), decay.data(), bias_decay.data(),
          squares.empty() ? nullptr : squares.data()};
}

void SgdTable::regularization(const SgdGrid& grid, std::span<double> terms) const {
  const SgdSide& order = side_of(grid, range.side);
  parallel_for(range.rows(), 4096, [&](Offset at) {
    const float* x = factors.row(static_cast<Index>(at));
    const double b = bias.empty() ? 0.0 : double{bias[at]};
    terms[static_cast<std::size_t>(at)] =
        static_cast<double>(order.count[range.first + at]) *
        (double{decay[at]} * kernels::dot(x, x, factors.stride()) + double{bias_decay[at]} * b * b);
  });
}

}  // namespace likewise
