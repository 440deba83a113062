// SPDX-License-Identifier: Apache-2.0
#include "trainings.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/random.h"

namespace likewise {
namespace {

/// Every row has equally many, anywhere.
[[nodiscard]] Interactions uniform_square(const std::string& shape) {
  const auto cross = shape.find('x');
  const Index rows = std::stoi(shape.substr(0, cross));
  const auto of_a_row = static_cast<Index>(std::stod(shape.substr(cross + 1)) * rows);
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<float> values;
  std::vector<Index> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  CounterRandom random(1, kStreamSynthetic, 0);
  for (Index row = 0; row < rows; ++row) {
    for (Index at = 0; at < of_a_row; ++at) {
      const auto other =
          at + static_cast<Index>(random.below(static_cast<std::uint64_t>(rows - at)));
      std::swap(all[static_cast<std::size_t>(at)], all[static_cast<std::size_t>(other)]);
      columns.push_back(all[static_cast<std::size_t>(at)]);
      values.push_back(1.0F + static_cast<float>(random.below(5)));
    }
    offsets.push_back(std::ssize(columns));
  }
  return make_interactions(CsrColumns{std::span<const std::int64_t>(offsets),
                                      std::span<const std::int32_t>(columns), rows},
                           std::span<const float>(values));
}

}  // namespace

Interactions open_data(const std::string& text) {
  if (text.starts_with("uniform:")) return uniform_square(text.substr(8));
  if (std::filesystem::exists(text)) return read_interactions(text);
  return generate(parse_shape(text), 1);
}

Feedback feedback_of(const std::string& data) {
  return data.ends_with(":implicit") ? Feedback::kImplicit : Feedback::kExplicit;
}

TrainingParams parse_training(const std::string& text, Feedback feedback) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  TrainingParams params = default_params(words.front(), feedback);
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::size_t equals = words[at].find('=');
    if (equals == std::string::npos) {
      throw Error(ErrorKind::kInvalidArgument, fmt::format("'{}' is not NAME=VALUE", words[at]));
    }
    set_parameter(params, words[at].substr(0, equals), words[at].substr(equals + 1));
  }
  validate(params);
  return params;
}

}  // namespace likewise
