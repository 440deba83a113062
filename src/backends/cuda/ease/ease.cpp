// SPDX-License-Identifier: Apache-2.0
/// EASE on one GPU: S, its inverse and B in one matrix there.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "algorithms/ease/ease_scales.h"
#include "backends/cuda/device/stages.h"
#include "backends/cuda/device/staging.h"
#include "backends/cuda/ease/ease_gram.h"
#include "backends/cuda/ease/ease_weights.h"
#include "backends/cuda/ease/local_ease.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/linalg/dense_inverse.h"
#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace cuda {
namespace {

constexpr Offset kStaging = Offset{32} << 20;

/// Rows of the GPU's matrix.
[[nodiscard]] Index order_of(Index items) { return padded_stride(items); }

[[nodiscard]] Offset square(Index order) { return Offset{order} * order; }

/// Has the machine give the pages of rows [first, end), for copies to find them there.
void touch(Matrix& b, Index first, Index end) {
  constexpr Offset kPage = 4096 / sizeof(float);
  float* const from = b.row(first);
  const Offset pages = (Offset{end - first} * b.stride() + kPage - 1) / kPage;
  parallel_for(pages, 512, [&](Offset page) { from[page * kPage] = 0.0F; });
}

class DenseEase {
 public:
  DenseEase(const CsrView& by_user, const EaseSystem& system, const RunControl& control)
      : system_(system),
        control_(control),
        items_(by_user.cols),
        order_(order_of(items_)),
        scales_(make_ease_scales(by_user, system)),
        entries_(by_user, scales_, stream_),
        of_row_(to_device(scales_.row, stream_)),
        b_(items_, items_),
        a_(square(order_)) {
    stages_.end("entries to the GPU");
  }

  [[nodiscard]] Matrix weights() {
    control_.report("ease", 0, items_, "rows");
    entries_.fill(a_.data(), order_, stream_);
    stream_.synchronize();
    stages_.end("the system");
    invert();
    stages_.end("its inverse");
    DeviceArray<float> room(2 * Offset{order_});
    make_ease_weights({a_.data(), order_, items_, entries_.shrinks(), of_row_.data(), room.data()},
                      stream_);
    download();
    stages_.end("weights to the machine");
    control_.remark(fmt::format("ease on the GPU: {}", stages_.text()));
    return std::move(b_);
  }

 private:
  void invert() {
    DenseInverse inverse(order_);
    Index touched = 0;
    const Index bad = inverse.run(a_.data(), [&](Index rows) {
      control_.check();
      control_.report("ease", touched, items_, "rows");
      const Index end = std::min(rows, items_);
      touch(b_, touched, end);
      touched = end;
    });
    if (bad >= 0) refuse_singular_ease(bad, system_);
    control_.report("ease", items_, items_, "rows");
  }

  void download() {
    Staging staging(kStaging);
    const Offset stride = b_.stride();
    staging.download(
        a_.data(), items_, stride,
        [&](const float* rows, Offset first, Offset count) {
          constexpr Offset kBlock = Offset{1} << 16;
          float* const to = b_.data() + first * stride;
          parallel_blocks(count * stride, kBlock, [&](Offset begin, Offset end, Offset) {
            std::copy(rows + begin, rows + end, to + begin);
          });
        },
        stream_);
  }

  const EaseSystem& system_;
  const RunControl& control_;
  Stages stages_;
  Index items_;
  Index order_;
  Stream stream_;
  EaseScales scales_;
  EaseEntries entries_;
  DeviceArray<double> of_row_;
  Matrix b_;
  DeviceArray<float> a_;
};

/// Without entries S is 0.
[[nodiscard]] Matrix weights_of_nothing(Index items, const EaseSystem& system) {
  if (items > 0 && system.regularization <= 0.0) refuse_singular_ease(0, system);
  return {items, items};
}

}  // namespace
}  // namespace cuda

MemoryPlan plan_cuda_ease(const GpuUse& use, const EaseShape& shape) {
  if (shape.interactions == 0) return {};
  LIKEWISE_CUDA_CHECK(cudaSetDevice(use.devices.front()));
  if (shape.candidates > 0) return cuda::plan_local_ease(use, shape);
  const Index order = cuda::order_of(shape.items);
  MemoryPlan plan;
  plan.placement = "everything on the GPU";
  plan.available = cuda::available_bytes(use.memory);
  plan.parts = {
      {"interactions, by user and by item",
       cuda::EaseEntries::bytes(shape.users, shape.items, shape.interactions)},
      {"weights of all pairs of items (form dense)", cuda::square(order) * Offset{sizeof(float)}},
      {"panels of the inverse", cuda::DenseInverse::bytes(order)},
  };
  for (const MemoryPlan::Part& part : plan.parts) plan.total += part.bytes;
  plan.machine = Offset{shape.items} * order * Offset{sizeof(float)} + 2 * cuda::kStaging;
  if (plan.total <= plan.available) return plan;
  throw Error(ErrorKind::kOutOfMemory,
              fmt::format("the GPU has too little memory for this training:\n{}\n"
                          "use {}, or the cpu",
                          describe(plan), mention("form", "local")));
}

Matrix cuda_ease_weights(const GpuUse& use, const CsrView& by_user, const EaseSystem& system,
                         const RunControl& control) {
  if (by_user.nnz() == 0) return cuda::weights_of_nothing(by_user.cols, system);
  (void)plan_cuda_ease(use, {by_user.rows, by_user.cols, by_user.nnz(), 0});
  return cuda::DenseEase(by_user, system, control).weights();
}

}  // namespace likewise
