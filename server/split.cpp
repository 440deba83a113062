// SPDX-License-Identifier: Apache-2.0
#include "server/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"
#include "server/text_hash.h"

namespace likewise::server {
namespace {

constexpr std::size_t kMostModels = 16;
constexpr std::size_t kLongestName = 40;
constexpr std::uint64_t kUsers = 0x73706C6974;  // not as pairs of users and items are hashed

[[nodiscard]] bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, fits);
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, message);
}

void check_names(const std::vector<std::string>& names) {
  if (names.empty() || names.size() > kMostModels) {
    refuse(fmt::format("{} models are served at once, not {}", fmt::format("1 to {}", kMostModels),
                       names.size()));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_name(names[i])) {
      refuse(
          fmt::format("'{}' is no name of a model: letters, digits, '.', '-' and '_', at most {}",
                      printable(names[i]), kLongestName));
    }
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      refuse(fmt::format("two models are called '{}'", names[i]));
    }
  }
}

void check_shares(const std::vector<double>& shares, std::size_t models) {
  if (shares.size() != models) {
    refuse(fmt::format("{} for {}: give one for each, in their order",
                       counted(static_cast<Offset>(shares.size()), "share"),
                       counted(static_cast<Offset>(models), "model")));
  }
  for (const double share : shares) {
    if (!std::isfinite(share) || share < 0.0 || share > 1e9) {
      refuse(fmt::format("{} is no share: give 0 or more", share));
    }
  }
  if (std::accumulate(shares.begin(), shares.end(), 0.0) <= 0.0) {
    refuse("all shares are 0: somebody has to answer");
  }
}

}  // namespace

Split::Split(std::vector<std::string> names, const std::vector<double>& shares)
    : names_(std::move(names)) {
  check_names(names_);
  const std::vector<double> parts =
      shares.empty() ? std::vector<double>(names_.size(), 1.0) : shares;
  check_shares(parts, names_.size());
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  double end = 0.0;
  for (const double part : parts) ends_.push_back((end += part) / sum);
  // What is left by rounding belongs to the last that has a share.
  for (std::size_t m = ends_.size(); m-- > 0;) {
    ends_[m] = 1.0;
    if (parts[m] > 0.0) break;
  }
}

double Split::share(std::size_t model) const {
  return ends_[model] - (model == 0 ? 0.0 : ends_[model - 1]);
}

std::optional<std::size_t> Split::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return {};
  return static_cast<std::size_t>(found - names_.begin());
}

std::size_t Split::of_user(std::string_view id) const {
  if (is_of_one()) return 0;
  const double place = static_cast<double>(hash_of(id, kUsers) >> 11) * 0x1p-53;
  return static_cast<std::size_t>(std::ranges::upper_bound(ends_, place) - ends_.begin());
}

}  // namespace likewise::server
