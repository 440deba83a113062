// SPDX-License-Identifier: Apache-2.0
/// `Split`: the models that are served, by name, and which of them answers whom.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace likewise::server {

class Split {
 public:
  /// One model, which has no name.
  Split() : names_(1), ends_{1.0} {}
  /// Models by name, and the share of the users that each answers: of their sum, or the same for
  /// all where there are none. Throws Error(kInvalidArgument) for names that are none or twice, and
  /// for shares that are no share of anything.
  Split(std::vector<std::string> names, const std::vector<double>& shares);

  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] bool is_of_one() const { return names_.size() == 1; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Of 1.
  [[nodiscard]] double share(std::size_t model) const;
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  /// The model of a user: by the id alone, so the same whenever, and on every server, it is asked
  /// with these shares. Where the last share grows at the cost of the one before it, only users of
  /// that one move.
  [[nodiscard]] std::size_t of_user(std::string_view id) const;

 private:
  std::vector<std::string> names_;
  std::vector<double> ends_;  ///< of each model's part of [0, 1)
};

}  // namespace likewise::server
