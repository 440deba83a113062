// SPDX-License-Identifier: Apache-2.0
/// Which algorithms there are. Which one suits data is decided in training/choose.cpp.
#include <algorithm>
#include <array>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/als/als.h"
#include "algorithms/bias/bias.h"
#include "algorithms/bpr/bpr.h"
#include "algorithms/ease/ease.h"
#include "algorithms/knn/knn.h"
#include "algorithms/parameters/rules.h"
#include "algorithms/popular/popular.h"
#include "algorithms/sgd/sgd.h"
#include "algorithms/spectral/spectral.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// A new one goes to the end: a search for parameters draws its random numbers by this order.
constexpr AlgorithmRow kAlgorithms[] = {kAlsRow, kItemKnnRow, kUserKnnRow, kPopularRow, kBiasRow,
                                        kSgdRow, kBprRow,     kEaseRow,    kSpectralRow};

constexpr bool all_have_rows() {
  for (std::size_t one = 0; one < std::variant_size_v<TrainingParams>; ++one) {
    if (std::ranges::find(kAlgorithms, one, &AlgorithmRow::alternative) == std::end(kAlgorithms)) {
      return false;
    }
  }
  return true;
}
static_assert(all_have_rows(), "an alternative of TrainingParams is no row of kAlgorithms");

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kAlgorithms)> names;
  std::ranges::transform(kAlgorithms, names.begin(), &AlgorithmRow::name);
  return names;
}();

[[nodiscard]] const AlgorithmRow& row_of(std::string_view algorithm) {
  const auto* found = std::ranges::find(kAlgorithms, algorithm, &AlgorithmRow::name);
  if (found != std::end(kAlgorithms)) return *found;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("there is no algorithm '{}'; there are {}",
                                                       algorithm, fmt::join(kNames, ", ")));
}

}  // namespace

/// The one place where parameters choose: those without a room do not compile.
std::unique_ptr<const Algorithm> algorithm_of(const TrainingParams& params) {
  return std::visit([](const auto& some) { return make_algorithm(some); }, params);
}

std::string_view algorithm_name(const TrainingParams& params) {
  return algorithm_of(params)->name();
}

std::span<const std::string_view> algorithm_names() { return kNames; }

std::string_view algorithm_help(std::string_view algorithm) { return row_of(algorithm).help; }

TrainingParams default_params(std::string_view algorithm, Feedback feedback) {
  return row_of(algorithm).defaults(feedback);
}

TrainingParams with_data_defaults(const CsrView& by_user, TrainingParams params,
                                  std::span<const std::string> given) {
  return algorithm_of(params)->data_default_params(by_user, GivenNames(given));
}

}  // namespace likewise
