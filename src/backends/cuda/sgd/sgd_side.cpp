// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sgd/sgd_side.h"

#include <algorithm>
#include <cuda_fp16.h>

#include "core/system/parallel.h"

namespace likewise::cuda {
namespace {

constexpr Offset kGrain = 512;  ///< rows that a thread copies in one go

void put(float& to, float x) { to = x; }
void put(__half& to, float x) { to = __float2half_rn(x); }
float number(float x) { return x; }
float number(__half x) { return __half2float(x); }

}  // namespace

SgdSideTable::SgdSideTable(const SgdSpan& held, Index scratch, int columns, bool halves,
                           std::span<const Index> order)
    : held_(held),
      columns_(columns),
      half_(halves),
      order_(order),
      rows_((Offset{rows()} + scratch) * row_bytes()),
      numbers_(Offset{rows()} + scratch) {}

SgdTable SgdSideTable::table() {
  return {moved_back(rows_.data(), held_.first * row_bytes()),
          moved_back(numbers_.data(), held_.first)};
}

template <class T>
void SgdSideTable::upload_rows(const Matrix& from, float unit, Staging& staging,
                               cudaStream_t stream) {
  const auto fill = [&](T* lines, Offset begin, Offset n) {
    parallel_for(n, kGrain, [&](Offset i) {
      const float* row = from.row(order_[static_cast<std::size_t>(begin + i)]);
      T* line = lines + i * columns_;
      for (int c = 0; c < columns_; ++c) put(line[c], c < from.cols() ? row[c] / unit : 0.0F);
    });
  };
  staging.upload(reinterpret_cast<T*>(rows_.data()), rows(), columns_, fill, stream);
}

template <class T>
void SgdSideTable::download_rows(const SgdSpan& some, Matrix& to, float unit, Staging& staging,
                                 cudaStream_t stream) {
  const Offset first = some.first - held_.first;
  const auto drain = [&](const T* lines, Offset begin, Offset n) {
    parallel_for(n, kGrain, [&](Offset i) {
      float* row = to.row(order_[static_cast<std::size_t>(first + begin + i)]);
      for (Index c = 0; c < to.cols(); ++c) row[c] = number(lines[i * columns_ + c]) * unit;
    });
  };
  staging.download(reinterpret_cast<const T*>(rows_.data()) + first * columns_,
                   some.end - some.first, columns_, drain, stream);
}

void SgdSideTable::upload(const Factors& from, Side side, std::span<const float> shares,
                          const SgdUnits& units, Staging& staging, cudaStream_t stream) {
  half_ ? upload_rows<__half>(from.side(side), units.factor, staging, stream)
        : upload_rows<float>(from.side(side), units.factor, staging, stream);
  const auto fill = [&](SgdRowNumbers* numbers, Offset begin, Offset n) {
    parallel_for(n, kGrain, [&](Offset i) {
      const auto at = static_cast<std::size_t>(begin + i);
      SgdRowNumbers one;
      if (!from.bias(side).empty()) one.bias = from.bias(side)[order_[at]] / units.bias;
      if (!from.squares(side).empty()) one.squares = from.squares(side)[order_[at]];
      one.share = shares[at];
      numbers[i] = one;
    });
  };
  staging.upload(numbers_.data(), rows(), 1, fill, stream);
}

void SgdSideTable::download(const SgdSpan& some, Factors& to, Side side, const SgdUnits& units,
                            Staging& staging, cudaStream_t stream) {
  half_ ? download_rows<__half>(some, to.side(side), units.factor, staging, stream)
        : download_rows<float>(some, to.side(side), units.factor, staging, stream);
  const Offset first = some.first - held_.first;
  const auto drain = [&](const SgdRowNumbers* numbers, Offset begin, Offset n) {
    parallel_for(n, kGrain, [&](Offset i) {
      const Index row = order_[static_cast<std::size_t>(first + begin + i)];
      if (!to.bias(side).empty()) to.bias(side)[row] = numbers[i].bias * units.bias;
      if (!to.squares(side).empty()) to.squares(side)[row] = numbers[i].squares;
    });
  };
  staging.download(numbers_.data() + first, some.end - some.first, 1, drain, stream);
}

}  // namespace likewise::cuda
