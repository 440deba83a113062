// SPDX-License-Identifier: Apache-2.0
#include "training/data_notes.h"

#include <algorithm>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

std::vector<std::string> notes_on_likes(const Interactions& data) {
  const auto& values = data.by_user.values;
  const auto zeros = std::count(values.begin(), values.end(), 0.0F);
  const auto dislikes =
      std::count_if(values.begin(), values.end(), [](float value) { return value < 0; });
  if (zeros > 0 && zeros == values.size()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("all {} values are 0, which is no like: implicit feedback learns from "
                            "values above 0. Is another column the value, or is it {}?",
                            zeros, mention("feedback", "explicit")));
  }
  std::vector<std::string> notes;
  if (zeros > 0) {
    notes.push_back(fmt::format("{} of {} values are 0, which is no like", zeros, values.size()));
  }
  if (dislikes > 0) {
    notes.push_back(
        fmt::format("{} of {} values are below 0, which is a dislike", dislikes, values.size()));
  }
  return notes;
}

}  // namespace

std::vector<std::string> notes_on(const Interactions& data, Feedback feedback) {
  const auto& values = data.by_user.values;
  if (values.empty()) return {};
  if (feedback == Feedback::kImplicit) return notes_on_likes(data);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (values.size() < 2 || *low != *high) return {};
  return {
      fmt::format("all ratings are {}: there is nothing to tell apart, and rmse will be 0", *low)};
}

}  // namespace likewise
