// SPDX-License-Identifier: Apache-2.0
#include "likewise/autotune.h"

#include <algorithm>

#include <fmt/format.h>

#include "algorithms/als/first_factors.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr int kWarmUp = 3;
constexpr int kIterations = 5;
/// What a tuning must win over the built-in one.
constexpr double kWorthwhile = 0.99;

[[nodiscard]] double median(std::vector<double>& seconds) {
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

[[nodiscard]] TuningTime measure(const CsrView& by_user, const AlsParams& params,
                                 const Factors& start, const AlsTuner& tuner,
                                 const AlsTuning& tuning, const RunControl& control) {
  const auto solver = tuner.make_solver(by_user, params, start.clone(), tuning);
  std::vector<double> seconds;
  std::vector<double> users;
  std::vector<double> items;
  for (int i = 0; i < kWarmUp + kIterations; ++i) {
    const double begin = tuner.now();
    (void)solver->solve(Side::kUsers, control);
    const double half = tuner.now();
    (void)solver->solve(Side::kItems, control);
    const double end = tuner.now();
    if (i < kWarmUp) continue;
    seconds.push_back(end - begin);
    users.push_back(half - begin);
    items.push_back(end - half);
  }
  const double middle = median(seconds);
  return {tuning, middle, seconds.front(), seconds.back(), median(users), median(items)};
}

/// Whether two tunings differ in nothing but one thing.
using Alike = bool (*)(const AlsTuning&, const AlsTuning&);

bool but_short_rows(const AlsTuning& a, const AlsTuning& b) {
  return a.columns == b.columns && a.wide == b.wide && a.piece == b.piece;
}
bool but_pieces(const AlsTuning& a, const AlsTuning& b) {
  return a.columns == b.columns && a.wide == b.wide && a.short_rows == b.short_rows &&
         a.one_warp == b.one_warp && a.held_rows == b.held_rows;
}

/// Null where the device has none.
[[nodiscard]] const AlsTuner* tuner_of(const Device& device) {
  return device.status(Job::kAls).available ? job<AlsJob>(device).tuner() : nullptr;
}

[[nodiscard]] const AlsTuner& require_tuner(const Device& device) {
  if (const AlsTuner* tuner = tuner_of(device)) return *tuner;
  throw Error(ErrorKind::kDevice,
              fmt::format("device {}: ALS has no tunings there; name a GPU, as cuda or cuda:0",
                          device.name()));
}

}  // namespace

bool has_tunings(const Device& device) { return tuner_of(device) != nullptr; }

ChosenTuning chosen_tuning(const Device& device, const AlsParams& params, const AlsShape& shape) {
  return require_tuner(device).choose(params, shape);
}

std::string keep_tunings(const Device& device, std::span<const TunedAls> winners) {
  return require_tuner(device).keep(winners);
}

std::string tuning_warning(const Device& device) {
  const AlsTuner* tuner = tuner_of(device);
  return tuner == nullptr ? "" : tuner->warning();
}

std::string tuning_text(const AlsTuning& tuning) {
  if (tuning.wide) return fmt::format("{} columns, wide", tuning.columns);
  std::string text = fmt::format("{} columns, ", tuning.columns);
  if (tuning.short_rows > 0) text += fmt::format("short rows to {}", tuning.short_rows);
  if (tuning.short_rows > tuning.one_warp)
    text += fmt::format(" (one warp to {})", tuning.one_warp);
  if (tuning.short_rows > 0) text += ", ";
  if (tuning.held_rows > 0) text += fmt::format("held rows to {}, ", tuning.held_rows);
  return text + fmt::format("pieces of {}", tuning.piece);
}

TuningResult autotune_als(const CsrView& by_user, const AlsParams& params, const Device& device,
                          const RunControl& control) {
  params.validate();
  const AlsTuner& tuner = require_tuner(device);
  const Factors start = first_factors(by_user, params);
  TuningResult result;
  const auto try_out = [&](const AlsTuning& tuning) {
    control.report("tune", static_cast<Offset>(result.times.size()), 0, "variants");
    result.times.push_back(measure(by_user, params, start, tuner, tuning, control));
  };
  const auto fastest = [&] {
    return std::ranges::min_element(result.times, {}, &TuningTime::median);
  };
  for (const AlsTuning& tuning : tuner.built_in(params)) try_out(tuning);
  const std::vector<AlsTuning> variants = tuner.variants(params);
  for (const Alike alike : {but_short_rows, but_pieces}) {
    const AlsTuning best = fastest()->tuning;
    for (const AlsTuning& variant : variants) {
      const bool known =
          std::ranges::find(result.times, variant, &TuningTime::tuning) != result.times.end();
      if (!known && alike(variant, best)) try_out(variant);
    }
  }
  if (fastest()->median < kWorthwhile * result.times.front().median) {
    result.best = static_cast<std::size_t>(fastest() - result.times.begin());
  }
  return result;
}

}  // namespace likewise
