// SPDX-License-Identifier: Apache-2.0
#include "evaluation/user_means.h"

namespace likewise {

void UserMeans::add(Index user, std::span<const double> values) {
  if (user != user_) end_user();
  user_ = user;
  ++lists_;
  for (std::size_t c = 0; c < values.size(); ++c) current_[c] += values[c];
}

void UserMeans::end_user() {
  if (lists_ == 0) return;
  for (std::size_t c = 0; c < current_.size(); ++c) {
    const double value = current_[c] / static_cast<double>(lists_);
    sums_[c] += value;
    if (!per_user_.empty()) per_user_[c].push_back(static_cast<float>(value));
    current_[c] = 0.0;
  }
  lists_ = 0;
  ++users_;
}

}  // namespace likewise
