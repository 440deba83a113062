// SPDX-License-Identifier: Apache-2.0
/// Local EASE on one GPU: S of all items is made once, as for dense weights, and each system
/// gathers its part of it.
#include "backends/cuda/ease/local_ease.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/ease/ease_scales.h"
#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/stages.h"
#include "backends/cuda/device/staging.h"
#include "backends/cuda/ease/ease_gram.h"
#include "backends/cuda/ease/local_systems.h"
#include "backends/cuda/jobs.h"
#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace cuda {
namespace {

constexpr Offset kListStaging = Offset{8} << 20;
constexpr Offset kItemsOfTask = 64;
/// Numbers that a thread copies in one go.
constexpr Offset kCopiedAtATime = Offset{1} << 16;
/// Items between two looks at whether to stop.
constexpr Index kItemsAtATime = 4096;

[[nodiscard]] LocalRoom room_on_gpu(Index candidates) {
  return local_room(candidates, largest_shared_memory(), multiprocessor_count());
}

/// What systems are of, item by item.
struct Candidates {
  std::vector<Offset> offsets;
  std::vector<Index> rows;
  Index most = 0;  ///< of an item

  explicit Candidates(const KnnLists& given) : offsets(static_cast<std::size_t>(given.size()) + 1) {
    std::vector<std::vector<Index>> all(static_cast<std::size_t>(given.size()));
    parallel_for(given.size(), kItemsOfTask, [&](Offset item) {
      all[static_cast<std::size_t>(item)] = system_candidates(given, static_cast<Index>(item));
    });
    for (std::size_t item = 0; item < all.size(); ++item) {
      offsets[item + 1] = offsets[item] + std::ssize(all[item]);
      most = std::max(most, static_cast<Index>(all[item].size()));
    }
    rows.resize(static_cast<std::size_t>(offsets.back()));
    parallel_for(std::ssize(all), kItemsOfTask, [&](Offset item) {
      const auto at = static_cast<std::size_t>(item);
      std::ranges::copy(all[at], rows.begin() + offsets[at]);
    });
  }
  [[nodiscard]] Index items() const { return static_cast<Index>(offsets.size() - 1); }
};

/// The lists of all items, each with room for all of its candidates.
struct RoomyLists {
  std::vector<Index> counts;
  Array<Index> rows;
  Array<float> weights;

  [[nodiscard]] KnnLists packed(const Candidates& candidates) const {
    const auto items = std::ssize(counts);
    KnnLists lists{Array<Offset>(items + 1), {}, {}};
    for (Offset item = 0; item < items; ++item) {
      lists.offsets[item + 1] = lists.offsets[item] + counts[static_cast<std::size_t>(item)];
    }
    lists.rows = Array<Index>::uninitialized(lists.offsets[items]);
    lists.similarities = Array<float>::uninitialized(lists.offsets[items]);
    parallel_for(items, kItemsOfTask, [&](Offset item) {
      const auto at = static_cast<std::size_t>(item);
      const Offset from = candidates.offsets[at];
      std::copy_n(rows.data() + from, counts[at], lists.rows.data() + lists.offsets[item]);
      std::copy_n(weights.data() + from, counts[at],
                  lists.similarities.data() + lists.offsets[item]);
    });
    return lists;
  }
};

class LocalEase {
 public:
  LocalEase(const CsrView& by_user, const EaseSystem& system, Candidates candidates,
            const RunControl& control)
      : system_(system),
        control_(control),
        candidates_(std::move(candidates)),
        order_(padded_stride(by_user.cols)),
        scales_(make_ease_scales(by_user, system)),
        entries_(by_user, scales_, stream_),
        of_row_(to_device(scales_.row, stream_)),
        cosines_(Offset{order_} * order_),
        offsets_(to_device(candidates_.offsets, stream_)),
        rows_(to_device(candidates_.rows, stream_)),
        listed_(rows_.size()),
        weights_(rows_.size()),
        counts_(by_user.cols),
        singular_(by_user.cols) {
    stages_.end("entries and candidates to the GPU");
  }

  [[nodiscard]] KnnLists weights() {
    entries_.fill(cosines_.data(), order_, stream_);
    // Short lists are copied with what lies behind them.
    fill_zero(listed_.data(), listed_.size(), stream_);
    fill_zero(weights_.data(), weights_.size(), stream_);
    stream_.synchronize();
    stages_.end("the system of all items");
    solve();
    stages_.end("systems of candidates");
    refuse_singular();
    KnnLists lists = download().packed(candidates_);
    stages_.end("weights to the machine");
    control_.remark(fmt::format("ease on the GPU: {}", stages_.text()));
    return lists;
  }

 private:
  void solve() {
    const LocalRoom room = room_on_gpu(candidates_.most);
    DeviceArray<float> spare(room.spare * room.blocks);
    const Index items = candidates_.items();
    for (Index first = 0; first < items; first += kItemsAtATime) {
      control_.check();
      const Index end = std::min(items - first, kItemsAtATime) + first;
      solve_local_systems(systems(), room, first, end, spare.data(), stream_);
      stream_.synchronize();
      control_.report("ease", end, items, "items");
    }
  }

  [[nodiscard]] LocalSystems systems() {
    LocalSystems systems;
    systems.cosines = cosines_.data();
    systems.order = order_;
    systems.shrinks = entries_.shrinks();
    systems.of_row = of_row_.data();
    systems.offsets = offsets_.data();
    systems.candidates = rows_.data();
    systems.listed = listed_.data();
    systems.weights = weights_.data();
    systems.counts = counts_.data();
    systems.singular = singular_.data();
    return systems;
  }

  /// Of the first item whose system has no solution.
  void refuse_singular() const {
    std::vector<Index> singular(static_cast<std::size_t>(singular_.size()));
    copy_to_host(singular.data(), singular_.data(), singular_.size(), stream_);
    stream_.synchronize();
    for (std::size_t item = 0; item < singular.size(); ++item) {
      if (singular[item] < 0) continue;
      const Offset place = candidates_.offsets[item] + singular[item];
      refuse_singular_ease(candidates_.rows[static_cast<std::size_t>(place)], system_);
    }
  }

  [[nodiscard]] RoomyLists download() const {
    RoomyLists lists{std::vector<Index>(static_cast<std::size_t>(counts_.size())),
                     Array<Index>::uninitialized(listed_.size()),
                     Array<float>::uninitialized(weights_.size())};
    copy_to_host(lists.counts.data(), counts_.data(), counts_.size(), stream_);
    Staging staging(kListStaging);
    to_host(listed_, lists.rows.data(), staging);
    to_host(weights_, lists.weights.data(), staging);
    stream_.synchronize();
    return lists;
  }

  template <class T>
  void to_host(const DeviceArray<T>& from, T* to, Staging& staging) const {
    const auto drain = [&](const T* part, Offset first, Offset count) {
      parallel_blocks(count, kCopiedAtATime, [&](Offset begin, Offset end, Offset) {
        std::copy(part + begin, part + end, to + first + begin);
      });
    };
    if (from.size() > 0) staging.download(from.data(), from.size(), 1, drain, stream_);
  }

  const EaseSystem& system_;
  const RunControl& control_;
  Stages stages_;
  Candidates candidates_;
  Index order_;
  Stream stream_;
  EaseScales scales_;
  EaseEntries entries_;
  DeviceArray<double> of_row_;
  DeviceArray<float> cosines_;
  DeviceArray<Offset> offsets_;
  DeviceArray<Index> rows_;
  DeviceArray<Index> listed_;
  DeviceArray<float> weights_;
  DeviceArray<Index> counts_;
  DeviceArray<Index> singular_;
};

/// Without entries S is 0.
[[nodiscard]] KnnLists lists_of_nothing(const Candidates& candidates, const EaseSystem& system) {
  if (!candidates.rows.empty() && system.regularization <= 0.0) {
    refuse_singular_ease(candidates.rows.front(), system);
  }
  return {Array<Offset>(Offset{candidates.items()} + 1), {}, {}};
}

}  // namespace

MemoryPlan plan_local_ease(const GpuUse& use, const EaseShape& shape) {
  constexpr Offset kNumber = sizeof(float);
  const Offset order = padded_stride(shape.items);
  const Index most = std::min(shape.candidates, shape.items);
  const Offset entry = sizeof(Index) + sizeof(float);
  const Offset lists = Offset{shape.items} * most;
  const LocalRoom room = room_on_gpu(most);
  MemoryPlan plan;
  plan.placement = "everything on the GPU";
  plan.available = available_bytes(use.memory);
  plan.parts = {
      {"interactions, by user and by item",
       EaseEntries::bytes(shape.users, shape.items, shape.interactions)},
      {"what all pairs of items have in common", order * order * kNumber},
      {"lists of candidates and of weights",
       lists * (entry + Offset{sizeof(Index)}) + Offset{shape.items} * 24},
      {"systems at a time", room.spare * room.blocks * kNumber},
  };
  for (const MemoryPlan::Part& part : plan.parts) plan.total += part.bytes;
  plan.machine = 4 * lists * entry + 2 * kListStaging;
  if (plan.total <= plan.available) return plan;
  throw Error(ErrorKind::kOutOfMemory,
              fmt::format("the GPU has too little memory for this training:\n{}\nuse the cpu",
                          describe(plan)));
}

}  // namespace cuda

KnnLists cuda_local_ease(const GpuUse& use, const CsrView& by_user, const EaseSystem& system,
                         const KnnLists& candidates, const RunControl& control) {
  check_candidates(by_user, candidates);
  cuda::Candidates of_systems(candidates);
  if (by_user.nnz() == 0) return cuda::lists_of_nothing(of_systems, system);
  LIKEWISE_CUDA_CHECK(cudaSetDevice(use.devices.front()));
  (void)cuda::plan_local_ease(use, {by_user.rows, by_user.cols, by_user.nnz(), of_systems.most});
  return cuda::LocalEase(by_user, system, std::move(of_systems), control).weights();
}

}  // namespace likewise
