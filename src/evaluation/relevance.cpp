// SPDX-License-Identifier: Apache-2.0
#include "evaluation/relevance.h"

#include <algorithm>

namespace likewise {

Relevance find_relevant(const CsrView& test, const CsrView& seen, float min_value,
                        bool with_history) {
  Relevance relevance;
  relevance.offsets.push_back(0);
  for (Index user = 0; user < test.rows; ++user) {
    const auto items = test.row_columns(user);
    const auto values = test.row_values(user);
    const auto seen_items = row_or_nothing(seen, user);
    for (std::size_t i = 0; i < items.size(); ++i) {
      // As in training 0 is no like; a threshold below it says otherwise.
      if (values[i] < min_value || (min_value == 0.0F && values[i] == 0.0F)) {
        ++relevance.below_threshold;
      } else if (std::binary_search(seen_items.begin(), seen_items.end(), items[i])) {
        ++relevance.seen;
      } else {
        relevance.items.push_back(items[i]);
      }
    }
    const auto end = static_cast<Offset>(relevance.items.size());
    if (end == relevance.offsets.back()) continue;
    relevance.users_without_history += seen_items.empty() ? 1 : 0;
    if (with_history && seen_items.empty()) {
      relevance.items.resize(static_cast<std::size_t>(relevance.offsets.back()));
      continue;
    }
    relevance.users.push_back(user);
    relevance.offsets.push_back(end);
  }
  return relevance;
}

}  // namespace likewise
