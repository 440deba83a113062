// SPDX-License-Identifier: Apache-2.0
#include "serving/query/tag_reasons.h"

#include <algorithm>
#include <numeric>

#include "likewise/features.h"

namespace likewise {

std::vector<Reason> tag_reasons(const Recommender& recommender, const FoldInRow& history,
                                Index item, int most) {
  const Features& features = recommender.model().item_features;
  const FoldedIn user = recommender.fold_in(Side::kUsers, std::span(&history, 1));
  const auto x = user.factors.row_span(0);
  std::vector<Reason> reasons;
  for (const auto& [tag, share] : tag_shares(features, item)) {
    const auto w = features.factors.row_span(tag);
    double part = std::inner_product(w.begin(), w.end(), x.begin(), 0.0);
    if (!features.bias.empty()) part += double{features.bias[tag]};
    const std::string name = features.tags.name(tag);
    reasons.push_back({name, {}, static_cast<float>(share), share * part, true});
  }
  std::ranges::stable_sort(reasons, std::ranges::greater(), &Reason::share);
  const auto speaks = [](const Reason& one) { return one.share > 0.0; };
  const auto end = std::ranges::find_if_not(reasons, speaks);
  reasons.erase(end, reasons.end());
  if (std::ssize(reasons) > most) reasons.resize(static_cast<std::size_t>(most));
  return reasons;
}

}  // namespace likewise
