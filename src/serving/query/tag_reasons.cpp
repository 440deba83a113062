// SPDX-License-Identifier: Apache-2.0
#include "serving/query/tag_reasons.h"

#include <algorithm>
#include <numeric>

#include "likewise/features.h"

namespace likewise {

namespace {

/// What each tag of a row adds to its score with a row of the other side.
[[nodiscard]] std::vector<Reason> parts_of(const Features& features,
                                           std::span<const TagShare> shares,
                                           std::span<const float> other) {
  std::vector<Reason> reasons;
  for (const auto& [tag, share] : shares) {
    const auto w = features.factors.row_span(tag);
    double part = std::inner_product(w.begin(), w.end(), other.begin(), 0.0);
    if (!features.bias.empty()) part += double{features.bias[tag]};
    const std::string name = features.tags.name(tag);
    reasons.push_back({name, {}, static_cast<float>(share), share * part, true});
  }
  return reasons;
}

}  // namespace

std::vector<Reason> tag_reasons(const Recommender& recommender, const FoldInRow& history,
                                Index item, int most) {
  const Model& model = recommender.model();
  std::vector<Reason> reasons;
  if (history.tags.empty()) {
    const FoldedIn user = recommender.fold_in(Side::kUsers, std::span(&history, 1));
    reasons = parts_of(model.item_features, tag_shares(model.item_features, item),
                       user.factors.row_span(0));
  } else {
    reasons = parts_of(model.user_features,
                       tag_shares(model.user_features, history.tags, history.tag_weights),
                       model.factors()->items.row_span(item));
  }
  std::ranges::stable_sort(reasons, std::ranges::greater(), &Reason::share);
  const auto speaks = [](const Reason& one) { return one.share > 0.0; };
  const auto end = std::ranges::find_if_not(reasons, speaks);
  reasons.erase(end, reasons.end());
  if (std::ssize(reasons) > most) reasons.resize(static_cast<std::size_t>(most));
  return reasons;
}

}  // namespace likewise
