// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/devices/ranked_device.h"

#include <utility>

#include "backends/distributed/devices/ranked_knn.h"
#include "backends/distributed/devices/ranked_predictions.h"
#include "backends/distributed/devices/ranked_top_k.h"

namespace likewise {
namespace {

/// A job that all of the devices have; else why one of them has not.
template <class J, class Ranked>
[[nodiscard]] Offer<J> share(const RankDevices& ranks) {
  for (const Device& device : ranks.devices) {
    const JobStatus status = device.status(J::kJob);
    if (!status.available) return {nullptr, status.reason, {}};
  }
  return {std::make_shared<Ranked>(ranks), {}, {}};
}

}  // namespace

Device make_ranked_device(std::string name, std::function<std::string()> description,
                          RankDevices ranks, const std::string& unlike,
                          const SharedTraining& training) {
  Offer<KnnJob> neighbours{nullptr, unlike, {}};
  if (unlike.empty()) neighbours = share<KnnJob, RankedKnnJob>(ranks);
  return make_device(std::move(name), std::move(description),
                     {training.als,
                      std::move(neighbours),
                      share<TopKJob, RankedTopKJob>(ranks),
                      training.sgd,
                      {nullptr, training.one_alone, {}},
                      share<PredictionJob, RankedPredictionJob>(ranks),
                      {nullptr, training.one_alone, {}},
                      {nullptr, "this version does it on the CPU only", {}}});
}

}  // namespace likewise
