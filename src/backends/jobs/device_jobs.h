// SPDX-License-Identifier: Apache-2.0
/// What a device is made of: a table with an offer for every job. Whoever computes takes the job it
/// needs by its type, `job<TopKJob>(device).make_scorer(...)`, and knows nothing of the rest.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "backends/jobs/als.h"
#include "backends/jobs/bpr.h"
#include "backends/jobs/ease.h"
#include "backends/jobs/knn.h"
#include "backends/jobs/predictions.h"
#include "backends/jobs/sgd.h"
#include "backends/jobs/spectral.h"
#include "backends/jobs/top_k.h"
#include "likewise/device.h"

namespace likewise {

/// A job in the table of a device.
template <class J>
struct Offer {
  using Type = J;
  std::shared_ptr<const J> job{};  ///< null: the device cannot
  std::string reason{};            ///< why the device itself cannot; empty where it can
  std::string other{};             ///< the device that does it in its place, chosen by `auto`
};

/// One line for each Job, in their order.
using JobTable = std::tuple<  //
    Offer<AlsJob>,            //
    Offer<KnnJob>,            //
    Offer<TopKJob>,           //
    Offer<SgdJob>,            //
    Offer<BprJob>,            //
    Offer<PredictionJob>,     //
    Offer<EaseJob>,           //
    Offer<SpectralJob>>;

struct Device::Jobs {
  std::string name;
  std::function<std::string()> description;
  JobTable table;
};

/// A device that does all of it.
[[nodiscard]] Device make_device(std::string name, std::function<std::string()> description,
                                 JobTable table);

/// `device` with those jobs of `helper` that it lacks, each with the reason: only for `auto`.
[[nodiscard]] Device with_help(const Device& device, const Device& helper);

/// The line of a device that can be used.
[[nodiscard]] DeviceStatus status_of(const Device& device);

/// The job of that type. Throws as Device::require().
template <class J>
[[nodiscard]] const J& job(const Device& device) {
  const Offer<J>& offer = std::get<Offer<J>>(device.jobs().table);
  if (offer.job == nullptr) device.require(J::kJob);
  return *offer.job;
}

}  // namespace likewise
