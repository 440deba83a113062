// SPDX-License-Identifier: Apache-2.0
/// Spectral factors on one GPU: the blocks of the Krylov iteration and the entries stay there.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/spectral/krylov.h"
#include "backends/cuda/device/stages.h"
#include "backends/cuda/device/staging.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/linalg/cublas.h"
#include "backends/cuda/linalg/cusolver.h"
#include "backends/cuda/spectral/normalised_rows.h"
#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace cuda {
namespace {

constexpr Offset kStaging = Offset{32} << 20;
/// User factors on the GPU at once.
constexpr Offset kUserBytes = Offset{256} << 20;

/// Columns as long as there are items, row-major as in a Matrix.
class GpuBlock {
 public:
  GpuBlock() = default;
  GpuBlock(Index items, Index columns)
      : columns_(columns),
        stride_(padded_stride(columns)),
        numbers_(Offset{items} * padded_stride(columns)) {}

  [[nodiscard]] Index cols() const { return columns_; }
  [[nodiscard]] Index stride() const { return stride_; }
  [[nodiscard]] Offset size() const { return numbers_.size(); }
  [[nodiscard]] float* data() { return numbers_.data(); }
  [[nodiscard]] const float* data() const { return numbers_.data(); }

 private:
  Index columns_ = 0;
  Index stride_ = 0;
  DeviceArray<float> numbers_;
};

/// Copies to ordinary memory at the bus's full speed.
void download(const float* from, Index rows, Index stride, float* to, const Stream& stream) {
  Staging staging(kStaging);
  staging.download(
      from, rows, stride,
      [&](const float* some, Offset first, Offset count) {
        constexpr Offset kBlock = Offset{1} << 16;
        float* const target = to + first * stride;
        parallel_blocks(count * stride, kBlock, [&](Offset begin, Offset end, Offset) {
          std::copy(some + begin, some + end, target + begin);
        });
      },
      stream);
}

/// What Krylov asks of a device.
class GpuBlocks {
 public:
  using Block = GpuBlock;

  explicit GpuBlocks(const CsrView& by_user) : rows_(by_user, stream_), multiplier_(stream_) {
    constants_ = to_device(std::vector<float>{0.0F, 1.0F, -1.0F}, stream_);
  }

  [[nodiscard]] Block upload(const Matrix& x) const {
    Block block(rows_.items(), x.cols());
    copy_to_device(block.data(), x.data(), block.size(), stream_);
    stream_.synchronize();
    return block;
  }
  [[nodiscard]] Matrix download(const Block& x) const {
    Matrix copy(rows_.items(), x.cols());
    cuda::download(x.data(), rows_.items(), x.stride(), copy.data(), stream_);
    return copy;
  }
  [[nodiscard]] Block zeros(Index columns) const {
    Block block(rows_.items(), columns);
    fill_zero(block.data(), block.size(), stream_);
    return block;
  }

  [[nodiscard]] Block image(const Block& q) const {
    const Index stride = q.stride();
    DeviceArray<float> of_users(Offset{rows_.users()} * stride);
    multiply_sparse(rows_.by_user(), q.data(), stride, of_users.data(), stream_);
    Block result(rows_.items(), q.cols());
    multiply_sparse(rows_.by_item(), of_users.data(), stride, result.data(), stream_);
    stream_.synchronize();  // the users' go
    return result;
  }

  [[nodiscard]] std::vector<double> cross(const Block& x, const Block& y) const {
    const Offset numbers = Offset{x.cols()} * y.cols();
    const DeviceArray<float> product = cross_on_gpu(x, y);
    std::vector<float> copy(static_cast<std::size_t>(numbers));
    copy_to_host(copy.data(), product.data(), numbers, stream_);
    stream_.synchronize();
    return {copy.begin(), copy.end()};
  }

  void remove(const Block& q, Block& y) const {
    const DeviceArray<float> shares = cross_on_gpu(q, y);
    add(q, shares.data(), y.cols(), kMinus, y);
  }

  void add_product(const Block& x, const Matrix& c, Block& y) const {
    DeviceArray<float> factors(Offset{c.rows()} * c.stride());
    copy_to_device(factors.data(), c.data(), factors.size(), stream_);
    add(x, factors.data(), c.stride(), kPlus, y);
  }

  [[nodiscard]] Eigenbasis eigenbasis(std::vector<double> h, Index width) const {
    Eigenbasis basis{symmetric_eigen_on_gpu(h, width, stream_), Matrix(width, width), Matrix()};
    constexpr Offset kRows = 32;
    parallel_for(width, kRows, [&](Offset i) {
      float* const row = basis.vectors.row(static_cast<Index>(i));
      for (Index j = 0; j < width; ++j) {
        row[j] = static_cast<float>(h[static_cast<std::size_t>(Offset{j} * width + i)]);
      }
    });
    return basis;
  }

 private:
  /// Places in constants_.
  static constexpr int kNone = 0;
  static constexpr int kPlus = 1;
  static constexpr int kMinus = 2;

  [[nodiscard]] DeviceArray<float> cross_on_gpu(const Block& x, const Block& y) const {
    DeviceArray<float> product(Offset{x.cols()} * y.cols());
    multiplier_.multiply(DenseProduct<float>{
        x.cols(), y.cols(), rows_.items(), x.data(), x.stride(), y.data(), y.stride(),
        product.data(), y.cols(), constants_.data() + kPlus, constants_.data() + kNone});
    return product;
  }

  /// y += sign x c. Waits: what others made for it may go.
  void add(const Block& x, const float* c, Index c_stride, int sign, Block& y) const {
    multiplier_.multiply(DenseProduct<float>{
        rows_.items(), y.cols(), x.cols(), x.data(), x.stride(), c, c_stride, y.data(), y.stride(),
        constants_.data() + sign, constants_.data() + kPlus, false});
    stream_.synchronize();
  }

  Stream stream_;
  NormalisedRows rows_;
  mutable Multiplier multiplier_;
  DeviceArray<float> constants_;
};

/// What blocks take: the basis, the next one twice, all columns of the result, and those of users.
[[nodiscard]] Offset bytes_of_blocks(const SpectralShape& shape) {
  const KrylovWidths widths(shape.items, shape.factors);
  const Offset block = padded_stride(widths.block);
  const Offset of_items = Offset{widths.basis} + 16 * (widths.basis / widths.block + 1) +
                          3 * block + padded_stride(shape.factors);
  return (shape.items * of_items + shape.users * block) * Offset{sizeof(float)};
}

[[nodiscard]] Offset bytes_of_users(const SpectralShape& shape) {
  const Offset row = padded_stride(shape.factors) * Offset{sizeof(float)};
  return std::min(kUserBytes, shape.users * row) + row;
}

}  // namespace
}  // namespace cuda

std::string cuda_spectral_problem() {
  const std::string problem = cuda::cublas_problem();
  return problem.empty() ? cuda::cusolver_problem() : problem;
}

MemoryPlan plan_cuda_spectral(const GpuUse& use, const SpectralShape& shape) {
  if (shape.interactions == 0) return {};
  LIKEWISE_CUDA_CHECK(cudaSetDevice(use.devices.front()));
  const KrylovWidths widths(shape.items, shape.factors);
  MemoryPlan plan;
  plan.placement = "everything on the GPU";
  plan.available = cuda::available_bytes(use.memory);
  plan.parts = {
      {"interactions, normalised, by user and by item",
       cuda::NormalisedRows::bytes(shape.users, shape.items, shape.interactions)},
      {"basis and blocks of users and items", cuda::bytes_of_blocks(shape)},
      {"its eigenvectors", cuda::eigen_bytes(widths.basis) + cuda::Multiplier::kBytes},
      {"user factors, some at a time", cuda::bytes_of_users(shape)},
  };
  for (const MemoryPlan::Part& part : plan.parts) plan.total += part.bytes;
  const Offset rows = Offset{shape.users} + shape.items;
  plan.machine = rows * padded_stride(shape.factors) * Offset{sizeof(float)} + 2 * cuda::kStaging +
                 3 * Offset{widths.basis} * widths.basis * Offset{sizeof(double)};
  if (plan.total <= plan.available) return plan;
  throw Error(ErrorKind::kOutOfMemory,
              fmt::format("the GPU has too little memory for this training:\n{}\n"
                          "use fewer {}, or the cpu",
                          describe(plan), mention("factors")));
}

SpectralFactors cuda_spectral_factors(const GpuUse& use, const CsrView& by_user, int factors,
                                      std::uint64_t seed, const RunControl& control) {
  if (by_user.nnz() == 0) return SpectralFactors::none(by_user.cols, factors);
  (void)plan_cuda_spectral(use, {by_user.rows, by_user.cols, by_user.nnz(), factors});
  cuda::Stages stages;
  const cuda::GpuBlocks blocks(by_user);
  stages.end("entries to the GPU");
  Krylov<cuda::GpuBlocks> krylov(blocks, by_user.cols, factors, seed);
  krylov.widen(control);
  stages.end("the basis");
  SpectralFactors found = krylov.largest(factors);
  stages.end("singular vectors to the machine");
  control.remark(fmt::format("spectral on the GPU: {}", stages.text()));
  return found;
}

Matrix cuda_spectral_users(const GpuUse& use, const CsrView& by_user, std::span<const double> scale,
                           const Matrix& items) {
  using namespace cuda;
  Matrix users(by_user.rows, items.cols());
  if (by_user.nnz() == 0 || items.cols() == 0) return users;
  LIKEWISE_CUDA_CHECK(cudaSetDevice(use.devices.front()));
  const Stream stream;
  const Index stride = items.stride();
  const DeviceArray<double> scale_on_gpu = to_device(scale, stream);
  DeviceArray<Offset> offsets(Offset{by_user.rows} + 1);
  DeviceArray<Index> columns(by_user.nnz());
  DeviceArray<float> values(by_user.nnz());
  DeviceArray<float> y(Offset{items.rows()} * stride);
  copy_to_device(offsets.data(), by_user.offsets, offsets.size(), stream);
  copy_to_device(columns.data(), by_user.columns, columns.size(), stream);
  copy_to_device(values.data(), by_user.values, values.size(), stream);
  copy_to_device(y.data(), items.data(), y.size(), stream);
  const auto most = static_cast<Index>(
      std::clamp<Offset>(kUserBytes / (stride * Offset{sizeof(float)}), 1, by_user.rows));
  DeviceArray<float> some(Offset{most} * stride);
  for (Index first = 0; first < by_user.rows; first += most) {
    const Index count = std::min(most, by_user.rows - first);
    multiply_scaled(
        {offsets.data(), columns.data(), values.data(), first, count, scale_on_gpu.data()},
        y.data(), stride, some.data(), stream);
    cuda::download(some.data(), count, stride, users.row(first), stream);
  }
  return users;
}

}  // namespace likewise
