// SPDX-License-Identifier: Apache-2.0
#include "training/value_readers.h"

#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "likewise/error.h"

namespace likewise {
namespace {

/// The iALS form has no confidences.
[[nodiscard]] bool reads(const AlsParams& p) {
  return p.feedback == Feedback::kExplicit || !p.unobserved_weight;
}
[[nodiscard]] bool reads(const PopularParams& p) { return p.feedback == Feedback::kExplicit; }
[[nodiscard]] bool reads(const BprParams&) { return false; }
/// Similarities of some look at columns alone; their scores add up values all the same.
[[nodiscard]] bool reads(const KnnParams&) { return true; }
[[nodiscard]] bool reads(const BiasParams&) { return true; }
[[nodiscard]] bool reads(const SgdParams&) { return true; }
[[nodiscard]] bool reads(const EaseParams&) { return true; }
[[nodiscard]] bool reads(const SpectralParams&) { return true; }

}  // namespace

bool reads_values(const TrainingParams& params) {
  return std::visit([](const auto& own) { return reads(own); }, params);
}

std::string alike_text(const TrainingParams& params) {
  return fmt::format(
      "{} takes all values above 0 alike; als with {}, ease, spectral, item-knn and user-knn weigh "
      "them",
      algorithm_name(params), mention("alpha"));
}

void require_fading_read(const Interactions& data, const TrainingParams& params) {
  if (!data.faded || reads_values(params)) return;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{} would do nothing here: {}",
                                                       mention("half_life"), alike_text(params)));
}

std::string note_on_fading(const Interactions& data, std::span<const TrainingParams> searched) {
  std::vector<std::string_view> blind;
  for (const TrainingParams& params : searched) {
    if (!reads_values(params)) blind.push_back(algorithm_name(params));
  }
  if (!data.faded || blind.empty()) return {};
  if (blind.size() == searched.size()) require_fading_read(data, searched.front());
  return fmt::format("{} does nothing for {}: all values above 0 count alike there",
                     mention("half_life"), fmt::join(blind, ", "));
}

}  // namespace likewise
