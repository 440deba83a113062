// SPDX-License-Identifier: Apache-2.0
#include "backends/jobs/device_jobs.h"

#include <cstddef>

#include <fmt/format.h>

#include "backends/distributed/als/als_ranks.h"
#include "backends/distributed/rank_device.h"
#include "likewise/error.h"

namespace likewise {

RankDevice AlsJob::rank_device() const {
  return {"this device", {}, {}, {}, "a rank among others trains on the cpu or on one GPU"};
}

std::unique_ptr<AlsRank> AlsJob::make_rank(Communicator& /*ranks*/, const AlsRankJob& /*job*/,
                                           AlsRankPart /*part*/) const {
  throw Error(ErrorKind::kInvalidArgument, rank_device().problem);
}

namespace {

template <std::size_t... I>
constexpr bool in_order(std::index_sequence<I...>) {
  return ((std::tuple_element_t<I, JobTable>::Type::kJob == kJobs[I]) && ...);
}
static_assert(std::tuple_size_v<JobTable> == kJobs.size());
static_assert(std::size(kJobNames) == kJobs.size());
static_assert(in_order(std::make_index_sequence<kJobs.size()>{}));

}  // namespace

Device make_device(std::string name, std::function<std::string()> description, JobTable table) {
  return Device(std::make_shared<const Device::Jobs>(
      Device::Jobs{std::move(name), std::move(description), std::move(table)}));
}

Device with_help(const Device& device, const Device& helper) {
  Device::Jobs mixed = device.jobs();
  const auto help = [&]<class J>(Offer<J>& offer) {
    const Offer<J>& other = std::get<Offer<J>>(helper.jobs().table);
    if (offer.job != nullptr || other.job == nullptr) return;
    offer.job = other.job;
    offer.other = helper.name();
  };
  std::apply([&](auto&... offers) { (help(offers), ...); }, mixed.table);
  return Device(std::make_shared<const Device::Jobs>(std::move(mixed)));
}

DeviceStatus status_of(const Device& device) {
  DeviceStatus line{std::string(device.name()), true, device.description(), {}, {}, {}};
  const std::shared_ptr<const AlsJob>& als = std::get<Offer<AlsJob>>(device.jobs().table).job;
  if (als != nullptr && als->tuner() != nullptr) line.tuning = als->tuner()->source();
  for (const Job one : kJobs) line.jobs.push_back(device.status(one));
  return line;
}

std::string_view Device::name() const { return jobs_->name; }

std::string Device::description() const { return jobs_->description(); }

JobStatus Device::status(Job wanted) const {
  JobStatus found;
  const auto look = [&]<class J>(const Offer<J>& offer) {
    if (J::kJob != wanted) return;
    found = {offer.job != nullptr, offer.other.empty() ? jobs_->name : offer.other, offer.reason};
  };
  std::apply([&](const auto&... offers) { (look(offers), ...); }, jobs_->table);
  return found;
}

void Device::require(Job job) const {
  const JobStatus found = status(job);
  if (found.available) return;
  throw Error(ErrorKind::kDevice,
              fmt::format("device {} cannot do the job {}: {}; name a device that can (`likewise "
                          "info` says which), or let auto choose",
                          name(), kJobNames[static_cast<std::size_t>(job)], found.reason));
}

std::string device_text(const Device& device) {
  return fmt::format("{} ({})", device.name(), device.description());
}

}  // namespace likewise
