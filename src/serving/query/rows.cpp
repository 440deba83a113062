// SPDX-License-Identifier: Apache-2.0
/// From ids to rows, and to rows that were not trained.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/merged_value.h"
#include "core/require.h"
#include "likewise/error.h"
#include "likewise/query.h"

namespace likewise {
namespace {

/// value_of_a_like(), looked up once, and only where a like has no value: it may read all ratings.
class UsualValue {
 public:
  explicit UsualValue(const Model& model) : model_(model) {}
  [[nodiscard]] float of(const Like& like) const {
    if (like.value) return *like.value;
    if (!known_) known_ = value_of_a_like(model_);
    return *known_;
  }

 private:
  const Model& model_;
  mutable std::optional<float> known_;
};

/// How to ask for the items that are called so: "; that is the title of item '1': ask for 1". Empty
/// where none is.
[[nodiscard]] std::string title_hint(const IdMap& ids, std::string_view text,
                                     const Titles& titles) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> named;
  for (Index item = 0; !titles.empty() && item < ids.size() && named.size() < kMost; ++item) {
    if (!text.empty() && titles.of(item) == text) named.push_back(printable(ids.name(item)));
  }
  if (named.empty()) return {};
  return fmt::format("; that is the title of item '{}': ask for {}", fmt::join(named, "' and of '"),
                     fmt::join(named, " or "));
}

[[noreturn]] void refuse_columns(const Features& known, const FeatureTable& table) {
  throw Error(
      ErrorKind::kBadData,
      fmt::format("the model has learned no feature '{}'; its features are {}. Leave out "
                  "what it does not know, or name it as there",
                  printable(table.unknown_columns.front()),
                  printable(fmt::format("{}", fmt::join(feature_columns(known.tags), ", ")))));
}

[[noreturn]] void refuse_stranger(const Features& known, const FeatureTable& table, Index row) {
  const auto tags = table.weights.view().row_columns(row);
  throw Error(ErrorKind::kBadData,
              fmt::format("user '{}': the model has learned none of the features, such as '{}'; it "
                          "knows {}, such as '{}'",
                          printable(table.ids.name(row)),
                          tags.empty() ? "" : printable(table.tags.name(tags.front())),
                          counted(known.tags.size(), "tag"), printable(known.tags.name(0))));
}

}  // namespace

Index row_of(const IdMap& ids, std::string_view id, std::string_view kind, std::string_view where,
             const Titles& titles) {
  if (const auto row = ids.find(id)) return *row;
  const std::string example =
      ids.size() == 0 ? "" : fmt::format(", such as '{}'", printable(ids.name(0)));
  const std::size_t comma = id.find(',');
  const bool several = comma != std::string_view::npos && ids.find(id.substr(0, comma));
  throw Error(ErrorKind::kNotFound,
              fmt::format("{}{} '{}' is not in the model (it knows {}{}){}{}", where, kind,
                          printable(id), counted(ids.size(), kind), example,
                          several ? ": give each id by itself" : "", title_hint(ids, id, titles)));
}

FoundRows rows_of(const IdMap& ids, std::span<const std::string> names, std::string_view kind,
                  UnknownIds unknown, const Titles& titles) {
  FoundRows found;
  for (const std::string& name : names) {
    if (const auto row = ids.find(name)) {
      found.rows.push_back(*row);
    } else if (unknown == UnknownIds::kLeaveOut) {
      ++found.unknown;
    } else {
      found.rows.push_back(row_of(ids, name, kind, {}, titles));  // throws
    }
  }
  return found;
}

std::vector<Index> translate(const IdMap& from, const IdMap& to) {
  std::vector<Index> table(static_cast<std::size_t>(from.size()));
  for (Index i = 0; i < from.size(); ++i) {
    table[static_cast<std::size_t>(i)] = to.find(from.name(i)).value_or(-1);
  }
  return table;
}

float value_of_a_like(const Model& model) {
  const Array<float>& values = model.history.values;
  const bool counts = model.feedback() == Feedback::kImplicit || values.empty();
  return counts ? 1.0F : *std::max_element(values.begin(), values.end());
}

FoldInRow history_of(const Model& model, Index user) {
  const CsrView history = model.history.view();
  require(user >= 0 && user < model.users.size(),
          fmt::format("user index {} is outside [0, {})", user, model.users.size()));
  if (history.rows == 0) return {};
  const auto columns = history.row_columns(user);
  const auto values = history.row_values(user);
  return {{columns.begin(), columns.end()}, {values.begin(), values.end()}};
}

FoldInRow with_likes(const Model& model, const FoldInRow& row, std::span<const Like> later,
                     Duplicates duplicates, Offset* unknown) {
  require(duplicates != Duplicates::kAuto && duplicates != Duplicates::kError,
          "what two values of an item become must be said: sum, last or max");
  std::map<Index, float> cells;
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    cells.emplace(row.columns[e], row.values.empty() ? 1.0F : row.values[e]);
  }
  const UsualValue usual(model);
  for (const Like& like : later) {
    const auto item = model.items.find(like.item);
    if (!item) {
      if (unknown != nullptr) ++*unknown;
      continue;
    }
    const float value = usual.of(like);
    const auto [cell, fresh] = cells.emplace(*item, value);
    if (!fresh) cell->second = merged_value(cell->second, value, duplicates);
  }
  FoldInRow merged;
  for (const auto& [item, value] : cells) {
    merged.columns.push_back(item);
    merged.values.push_back(value);
  }
  return merged;
}

void Visitors::add(std::string name, FoldInRow row) {
  names.push_back(std::move(name));
  rows.push_back(std::move(row));
}

void Visitors::add(const Model& model, std::string name, std::span<const Like> likes,
                   UnknownIds unknown_ids) {
  std::vector<std::pair<Index, float>> entries;
  const UsualValue usual(model);
  for (const Like& like : likes) {
    const auto item = model.items.find(like.item);
    if (!item && unknown_ids == UnknownIds::kLeaveOut) {
      ++unknown;
      continue;
    }
    entries.emplace_back(item ? *item : row_of(model.items, like.item, "item", {}, model.titles),
                         usual.of(like));
  }
  std::ranges::sort(entries);
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  FoldInRow row;
  for (const auto& [item, value] : entries) {
    if (!row.columns.empty() && row.columns.back() == item) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{} has item '{}' twice, with the values {} and {}", printable(name),
                              printable(model.items.name(item)), row.values.back(), value));
    }
    row.columns.push_back(item);
    row.values.push_back(value);
  }
  names.push_back(std::move(name));
  rows.push_back(std::move(row));
}

Visitors visitors_of(const Model& model, const Interactions& data) {
  const std::vector<Index> items = translate(data.items, model.items);
  Visitors visitors;
  const CsrView view = data.by_user.view();
  for (Index u = 0; u < view.rows; ++u) {
    FoldInRow row;
    for (std::size_t e = 0; e < view.row_columns(u).size(); ++e) {
      const Index item = items[static_cast<std::size_t>(view.row_columns(u)[e])];
      if (item < 0) {
        ++visitors.unknown;
        continue;
      }
      row.columns.push_back(item);
      row.values.push_back(view.row_values(u)[e]);
    }
    visitors.names.push_back(data.users.name(u));
    visitors.rows.push_back(std::move(row));
  }
  return visitors;
}

Visitors visitors_of(const Model& model, const FeatureTable& table, UnknownIds unknown) {
  const Features& known = model.user_features;
  require(!known.empty(), "the model has learned no features of users: train it with them");
  if (!table.unknown_columns.empty()) refuse_columns(known, table);
  const std::vector<Index> tags = translate(table.tags, known.tags);
  Visitors visitors;
  const CsrView view = table.weights.view();
  for (Index u = 0; u < view.rows; ++u) {
    std::vector<std::pair<Index, float>> carried;
    for (std::size_t t = 0; t < view.row_columns(u).size(); ++t) {
      const Index tag = tags[static_cast<std::size_t>(view.row_columns(u)[t])];
      if (tag >= 0 && known.idf[tag] > 0.0F) carried.emplace_back(tag, view.row_values(u)[t]);
    }
    if (carried.empty()) {
      if (unknown == UnknownIds::kRefuse) refuse_stranger(known, table, u);
      ++visitors.strangers;
      continue;
    }
    std::ranges::sort(carried);
    FoldInRow row;
    for (const auto& [tag, weight] : carried) {
      row.tags.push_back(tag);
      row.tag_weights.push_back(weight);
    }
    visitors.add(table.ids.name(u), std::move(row));
  }
  return visitors;
}

}  // namespace likewise
