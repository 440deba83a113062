// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "core/exchanged.h"
#include "core/places_of.h"
#include "core/system/parallel.h"
#include "likewise/evaluation.h"

namespace likewise {
namespace {

constexpr Index kUnknown = -1;  // of places_of()

/// Finds the pairs whose user or item is unknown, in the order of the test rows.
void collect_unknown(const CsrView& test, const std::vector<Index>& users,
                     const std::vector<Index>& items, TestSet& set) {
  for (Index row = 0; row < test.rows; ++row) {
    const Index user = users[static_cast<std::size_t>(row)];
    for (Offset at = test.offsets[row]; at < test.offsets[row + 1]; ++at) {
      const Index item = items[static_cast<std::size_t>(test.columns[at])];
      if (user != kUnknown && item != kUnknown) continue;
      set.unknown_users += user == kUnknown ? 1 : 0;
      set.unknown_items += item == kUnknown ? 1 : 0;
      set.fallback_users.push_back(user);
      set.fallback_items.push_back(item);
      set.fallback_values.push_back(test.values[at]);
    }
  }
}

/// How many known pairs each user of the model has, as row offsets.
Array<Offset> known_offsets(const CsrView& test, const std::vector<Index>& users,
                            const std::vector<Index>& items, Index model_users) {
  Array<Offset> offsets(Offset{model_users} + 1);
  for (Index row = 0; row < test.rows; ++row) {
    const Index user = users[static_cast<std::size_t>(row)];
    if (user == kUnknown) continue;
    const auto columns = test.row_columns(row);
    offsets[user + 1] = std::count_if(columns.begin(), columns.end(), [&](Index column) {
      return items[static_cast<std::size_t>(column)] != kUnknown;
    });
  }
  for (Index user = 0; user < model_users; ++user) offsets[user + 1] += offsets[user];
  return offsets;
}

/// Writes one test row in the model's item numbers. Text and integer ids sort differently, so the
/// new numbers need not rise with the old ones.
void write_row(const CsrView& test, Index row, const std::vector<Index>& items, Offset to,
               CsrMatrix& out) {
  std::vector<std::pair<Index, float>> entries;
  for (Offset at = test.offsets[row]; at < test.offsets[row + 1]; ++at) {
    const Index item = items[static_cast<std::size_t>(test.columns[at])];
    if (item != kUnknown) entries.emplace_back(item, test.values[at]);
  }
  std::ranges::sort(entries, {}, [](const auto& entry) { return entry.first; });
  for (const auto& [item, value] : entries) {
    out.columns[to] = item;
    out.values[to++] = value;
  }
}

}  // namespace

TestSet make_test_set(const Model& model, const Interactions& test) {
  refuse_exchanged(model.users, model.items, test);
  const CsrView from = test.by_user.view();
  const std::vector<Index> users = places_of(test.users, model.users);
  const std::vector<Index> items = places_of(test.items, model.items);
  TestSet set;
  set.faded = test.faded;
  collect_unknown(from, users, items, set);
  CsrMatrix& out = set.by_user;
  out.rows = model.users.size();
  out.cols = model.items.size();
  out.offsets = known_offsets(from, users, items, out.rows);
  out.columns = Array<Index>::uninitialized(out.offsets[out.rows]);
  out.values = Array<float>::uninitialized(out.offsets[out.rows]);
  parallel_for(from.rows, 256, [&](Offset row) {
    const Index user = users[static_cast<std::size_t>(row)];
    if (user == kUnknown) return;
    write_row(from, static_cast<Index>(row), items, out.offsets[user], out);
  });
  return set;
}

}  // namespace likewise
