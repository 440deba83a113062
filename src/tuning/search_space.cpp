// SPDX-License-Identifier: Apache-2.0
#include "tuning/search_space.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "algorithms/parameters/rules.h"
#include "core/random.h"
#include "likewise/error.h"
#include "tuning/sobol.h"

namespace likewise {
namespace {

constexpr std::uint32_t kStarts = 0x74756e65;  // streams of random numbers
constexpr std::uint32_t kNear = 0x6e656172;
/// How often a choice is drawn again near a point.
constexpr double kRedrawn = 0.2;
constexpr double kBelowOne = 1.0 - 0x1p-53;

[[nodiscard]] std::string text_at(const SearchedParameter& parameter, double unit) {
  if (!parameter.choices.empty()) {
    const auto count = static_cast<double>(parameter.choices.size());
    return parameter.choices[static_cast<std::size_t>(unit * count)];
  }
  const double low = parameter.low;
  const double high = parameter.high;
  const double value = parameter.log ? low * std::pow(high / low, unit) : low + (high - low) * unit;
  return parameter.whole ? fmt::format("{}", std::llround(value)) : fmt::format("{:.3g}", value);
}

/// The inverse; the middle for what is not among the choices, or no number.
[[nodiscard]] double unit_of(const SearchedParameter& parameter, const std::string& text) {
  if (!parameter.choices.empty()) {
    const auto found = std::ranges::find(parameter.choices, text);
    if (found == parameter.choices.end()) return 0.5;
    return (static_cast<double>(found - parameter.choices.begin()) + 0.5) /
           static_cast<double>(parameter.choices.size());
  }
  double value = 0.0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return 0.5;
  const double low = parameter.low;
  const double high = parameter.high;
  if (parameter.log && value <= 0.0) return 0.0;
  const double unit =
      parameter.log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return std::clamp(unit, 0.0, kBelowOne);
}

/// Reflected at the ends of [0, 1).
[[nodiscard]] double reflected(double x) {
  x = std::abs(std::fmod(x, 2.0));
  return std::min(x < 1.0 ? x : 2.0 - x, kBelowOne);
}

[[nodiscard]] std::uint32_t place_of(std::string_view algorithm) {
  const auto names = algorithm_names();
  return static_cast<std::uint32_t>(std::ranges::find(names, algorithm) - names.begin());
}

}  // namespace

SearchSpace::SearchSpace(TrainingParams usual, std::uint64_t seed)
    : usual_(std::move(usual)), seed_(seed), stream_(place_of(algorithm())) {
  for (const SearchedParameter& one : searched_parameters(usual_, usual_)) {
    if (one.name == "iterations") {
      most_iterations_ = static_cast<int>(one.high);
    } else {
      dimensions_.push_back(one.name);
      choices_.push_back(one.choices.size());
    }
  }
  if (dimensions_.size() > kMostSobolDimensions) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("algorithm {} has {} parameters to search, more than {}", algorithm(),
                            dimensions_.size(), kMostSobolDimensions));
  }
  if (dimensions_.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("algorithm {} has no parameters to search", algorithm()));
  }
}

/// By name: its range beside the values of `params`.
SearchedParameter SearchSpace::found(const TrainingParams& params, std::string_view name) const {
  const std::vector<SearchedParameter> all = searched_parameters(params, usual_);
  return *std::ranges::find(all, name, &SearchedParameter::name);
}

int SearchSpace::usual_iterations() const {
  return most_iterations_ == 0 ? 0 : std::stoi(parameter_text(usual_, "iterations"));
}

std::optional<TrainingParams> SearchSpace::smallest() const {
  constexpr std::string_view kFactors = "factors";
  if (std::ranges::find(dimensions_, kFactors) == dimensions_.end()) return std::nullopt;
  TrainingParams params = usual_;
  set_parameter(params, kFactors, fmt::format("{}", found(usual_, kFactors).low));
  if (parameter_text(params, kFactors) == parameter_text(usual_, kFactors)) return std::nullopt;
  return params;
}

TrainingParams SearchSpace::at(const Point& point) const {
  TrainingParams params = usual_;
  // Twice: a range may depend on a parameter that comes later.
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
      set_parameter(params, dimensions_[d], text_at(found(params, dimensions_[d]), point[d]));
    }
  }
  for (const std::string_view name : dimensions_) {
    if (parameter_needs(params, name).empty()) continue;
    set_parameter(params, name, parameter_text(usual_, name));
  }
  return params;
}

Point SearchSpace::point_of(const TrainingParams& params) const {
  Point point;
  for (const std::string_view name : dimensions_) {
    point.push_back(unit_of(found(params, name), parameter_text(params, name)));
  }
  return point;
}

TrainingParams moved(const TrainingParams& params, const TrainingParams& usual,
                     const TrainingParams& other) {
  const std::vector<SearchedParameter> from = searched_parameters(params, usual);
  TrainingParams result = params;
  // Twice: a range may depend on a parameter that comes later.
  for (int pass = 0; pass < 2; ++pass) {
    for (const SearchedParameter& one : from) {
      const std::vector<SearchedParameter> all = searched_parameters(result, other);
      const auto to = std::ranges::find(all, one.name, &SearchedParameter::name);
      const bool is_about_data = one.choices.empty() && !one.whole;
      if (!is_about_data || (to->low == one.low && to->high == one.high)) continue;
      const double unit = unit_of(one, parameter_text(params, one.name));
      set_parameter(result, one.name, text_at(*to, unit));
    }
  }
  return result;
}

Point SearchSpace::quasi_random(int n) const {
  // Sobol's points with a digital shift: all moved by the same random bits of each dimension.
  CounterRandom shift(seed_, kStarts + stream_, 0);
  Point point;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const std::uint32_t bits =
        sobol(static_cast<int>(d), static_cast<std::uint32_t>(n)) ^ shift.next_u32();
    point.push_back(0x1p-32 * bits);
  }
  return point;
}

Point SearchSpace::near(const Point& centre, double spread, int n) const {
  CounterRandom random(seed_, kNear + stream_, static_cast<std::uint64_t>(n));
  Point point = centre;
  for (std::size_t d = 0; d < point.size(); ++d) {
    if (choices_[d] == 0) {
      point[d] = reflected(point[d] + spread * random.normal());
    } else if (random.uniform() < kRedrawn) {
      point[d] = random.uniform();
    }
  }
  return point;
}

}  // namespace likewise
