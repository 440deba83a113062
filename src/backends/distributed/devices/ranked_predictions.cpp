// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/devices/ranked_predictions.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "algorithms/knn/similarity.h"
#include "backends/jobs/device_jobs.h"
#include "backends/jobs/knn.h"
#include "core/lazy.h"

namespace likewise {
namespace {

/// One device's predictions, with its own search where they need one.
struct OfDevice {
  Lazy<KnnSearch> search{};
  std::unique_ptr<Predictions> predictions{};
};

class RankedPredictions final : public Predictions {
 public:
  /// make(device, of_device) -> its predictions.
  template <class Make>
  RankedPredictions(const RankDevices& ranks, Index columns, const Make& make)
      : ranks_(ranks), columns_(columns), parts_(ranks.devices.size()) {
    run_on_devices(ranks_, 0, {}, [&](const Device& device, Communicator& rank, const RunControl&) {
      OfDevice& part = parts_[static_cast<std::size_t>(rank.rank())];
      part.predictions = make(device, part);
    });
  }

  void of_pairs(std::span<const Index> rows, std::span<const Index> columns, float* out,
                const RunControl& control) const override {
    // There may be more pairs than an Index counts.
    const auto ranks = static_cast<Offset>(parts_.size());
    run_on_devices(ranks_, std::ssize(rows), control,
                   [&](const Device&, Communicator& rank, const RunControl& own) {
                     const Offset r = rank.rank();
                     const auto first = static_cast<std::size_t>(std::ssize(rows) * r / ranks);
                     const auto end = static_cast<std::size_t>(std::ssize(rows) * (r + 1) / ranks);
                     if (first == end) return;
                     of(rank.rank())
                         .of_pairs(rows.subspan(first, end - first),
                                   columns.subspan(first, end - first), out + first, own);
                   });
  }

  double of_rows(std::span<const Index> rows, float* out) const override {
    const Partition parts = even_parts(ranks_, static_cast<Index>(rows.size()));
    if (parts.ranks() == 1) return of(0).of_rows(rows, out);
    std::vector<double> seconds(static_cast<std::size_t>(parts.ranks()));
    run_on_devices(
        ranks_, parts.counts(1), {}, [&](const Device&, Communicator& rank, const RunControl&) {
          const auto first = static_cast<std::size_t>(parts.first(rank.rank()));
          const auto count = static_cast<std::size_t>(parts.count(rank.rank()));
          seconds[static_cast<std::size_t>(rank.rank())] =
              of(rank.rank())
                  .of_rows(rows.subspan(first, count), out + static_cast<Offset>(first) * columns_);
        });
    return std::ranges::max(seconds);
  }

  /// Of all devices together.
  [[nodiscard]] MemoryPlan memory() const override {
    MemoryPlan sum;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const MemoryPlan own = of(rank).memory();
      sum.placement = own.placement;
      sum.total += own.total;
      sum.available += own.available;
      sum.machine += own.machine;
      for (const MemoryPlan::Part& part : own.parts) {
        sum.parts.push_back({fmt::format("{}: {}", ranks_.of(rank).name(), part.name), part.bytes});
      }
    }
    return sum;
  }

 private:
  [[nodiscard]] const Predictions& of(int rank) const {
    return *parts_[static_cast<std::size_t>(rank)].predictions;
  }

  RankDevices ranks_;
  Offset columns_;
  std::vector<OfDevice> parts_;  ///< what is in it stays where it is
};

}  // namespace

std::unique_ptr<Predictions> RankedPredictionJob::by_factors(const Factors& factors) const {
  return std::make_unique<RankedPredictions>(
      ranks_, factors.items.rows(), [&](const Device& device, OfDevice&) {
        return job<PredictionJob>(device).by_factors(factors);
      });
}

std::unique_ptr<Predictions> RankedPredictionJob::by_knn(const KnnModel& model) const {
  const Index columns = model.problem.rows().weights.cols;
  return std::make_unique<RankedPredictions>(
      ranks_, columns, [&](const Device& device, OfDevice& part) {
        KnnModel own = model;
        own.search = [&part, device, &problem = model.problem]() -> const KnnSearch& {
          return part.search.get([&] { return job<KnnJob>(device).make_search(problem); });
        };
        return job<PredictionJob>(device).by_knn(own);
      });
}

}  // namespace likewise
