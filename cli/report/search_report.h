// SPDX-License-Identifier: Apache-2.0
/// What `likewise tune` shows of a search: text, JSON and a page.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "likewise/tune.h"

namespace likewise::cli {

struct SearchReport {
  const TuneResult& result;
  std::string source;      ///< the name of the data
  std::string validation;  ///< the name of the held-out file; empty: a part of the data
  std::string budget;      ///< as it was asked for
  std::string command;     ///< that trains the winner's parameters on the data

  /// The best trials and the baseline.
  [[nodiscard]] std::string as_text() const;
  [[nodiscard]] nlohmann::ordered_json as_json() const;
  [[nodiscard]] std::string as_page() const;
  /// Why a better trial did not win, what the winner was trained on, and what `command` leaves out
  /// of that.
  [[nodiscard]] std::string winner_text() const;

 private:
  [[nodiscard]] std::string model_text() const;
};

/// "ndcg@10 0.3121 by als", after a final round "ndcg@10 0.3121 (mean of 3 parts) by als".
[[nodiscard]] std::string best_so_far(const TuneResult& result);
/// Of a parameter, for people; nothing where it has no effect, or no value.
[[nodiscard]] std::optional<std::string> shown_value(const SearchedParameter& parameter,
                                                     const TuneTrial& trial);
/// Empty where all users with something held out are ranked.
[[nodiscard]] std::string not_ranked(const TuneResult& result);

}  // namespace likewise::cli
