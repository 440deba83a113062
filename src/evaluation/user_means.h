// SPDX-License-Identifier: Apache-2.0
/// Means over users, where a user's value is the mean of one list or more.
#pragma once

#include <span>
#include <vector>

#include "likewise/types.h"

namespace likewise {

/// Values come in the order of the users, those of one user one after another.
class UserMeans {
 public:
  /// With `per_user` it keeps every user's values.
  UserMeans(std::size_t columns, bool per_user)
      : current_(columns, 0.0), sums_(columns, 0.0), per_user_(per_user ? columns : 0) {}

  /// The values of a list, one per column.
  void add(Index user, std::span<const double> values);

  /// What follows is for when all lists were added and end_user() was called.
  void end_user();
  [[nodiscard]] Index users() const { return users_; }
  [[nodiscard]] double mean(std::size_t column) const {
    return sums_[column] / static_cast<double>(users_);
  }
  /// Beside the users; asked for by the constructor.
  [[nodiscard]] const std::vector<float>& values(std::size_t column) const {
    return per_user_[column];
  }

 private:
  Index user_ = -1;
  Offset lists_ = 0;             ///< of the user
  std::vector<double> current_;  ///< sums of the user's lists
  Index users_ = 0;
  std::vector<double> sums_;
  std::vector<std::vector<float>> per_user_;
};

}  // namespace likewise
