// SPDX-License-Identifier: Apache-2.0
#include "training/growth.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "algorithms/sgd/setup.h"
#include "core/exchanged.h"
#include "core/linalg/fill_rows.h"
#include "core/linalg/row_copies.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[nodiscard]] Array<float> some_rows(const Array<float>& from, std::span<const Index> rows) {
  if (from.empty()) return {};
  auto to = Array<float>::uninitialized(std::ssize(rows));
  for (std::size_t at = 0; at < rows.size(); ++at) to[static_cast<Offset>(at)] = from[rows[at]];
  return to;
}

/// Row r of `from` becomes row places[r].
[[nodiscard]] Matrix at_places(const Matrix& from, std::span<const Index> places, Index rows) {
  Matrix to(rows, from.cols());
  scatter_rows(from, places, to);
  return to;
}

[[nodiscard]] Array<float> at_places(const Array<float>& from, std::span<const Index> places,
                                     Index rows) {
  if (from.empty()) return {};
  Array<float> to(rows);
  for (std::size_t at = 0; at < places.size(); ++at) {
    to[places[at]] = from[static_cast<Offset>(at)];
  }
  return to;
}

[[nodiscard]] RowChanges some_rows(const RowChanges& from, Index from_rows,
                                   std::span<const Index> rows) {
  const Offset width = from.width(from_rows);
  RowChanges to{Array<std::uint16_t>::uninitialized(width * std::ssize(rows)), from.ratio};
  for (std::size_t at = 0; at < rows.size(); ++at) {
    std::copy_n(from.numbers.data() + rows[at] * width, width,
                to.numbers.data() + static_cast<Offset>(at) * width);
  }
  return to;
}

void put(const RowChanges& from, std::span<const Index> rows, Index to_rows, RowChanges& to) {
  const Offset width = to.width(to_rows);
  for (std::size_t at = 0; at < rows.size() && width > 0; ++at) {
    std::copy_n(from.numbers.data() + static_cast<Offset>(at) * width, width,
                to.numbers.data() + rows[at] * width);
  }
}

void put(const Array<float>& from, std::span<const Index> rows, Array<float>& to) {
  if (from.empty()) return;
  for (std::size_t at = 0; at < rows.size(); ++at) to[rows[at]] = from[static_cast<Offset>(at)];
}

}  // namespace

Growth grow(const Model& model, const Interactions& more, Duplicates duplicates) {
  refuse_exchanged(model.users, model.items, more);
  Growth growth{
      unite_ids(model.users, more.users), unite_ids(model.items, more.items), {}, 0, {}, {}};
  auto [history, repeated] = merge_matrices(model.history.view(), more.by_user.view(), growth.users,
                                            growth.items, duplicates);
  growth.history = std::move(history);
  growth.repeated = repeated;
  std::vector<bool> users(static_cast<std::size_t>(growth.history.rows));
  std::vector<bool> items(static_cast<std::size_t>(growth.history.cols));
  const CsrView added = more.by_user.view();
  for (Index row = 0; row < added.rows; ++row) {
    if (added.row_size(row) == 0) continue;
    users[static_cast<std::size_t>(growth.users.second[static_cast<std::size_t>(row)])] = true;
    for (const Index column : added.row_columns(row)) {
      items[static_cast<std::size_t>(growth.items.second[static_cast<std::size_t>(column)])] = true;
    }
  }
  growth.touched_users = rows_with(users);
  growth.touched_items = rows_with(items);
  return growth;
}

std::vector<Index> rows_with(const std::vector<bool>& flags) {
  std::vector<Index> rows;
  for (std::size_t row = 0; row < flags.size(); ++row) {
    if (flags[row]) rows.push_back(static_cast<Index>(row));
  }
  return rows;
}

CsrMatrix rows_of(const CsrView& matrix, std::span<const Index> rows) {
  const auto row_at = [&](Index row) { return rows[static_cast<std::size_t>(row)]; };
  return fill_rows(
      static_cast<Index>(rows.size()), matrix.cols,
      [&](Index row) { return matrix.row_size(row_at(row)); },
      [&](Index row, Index* columns, float* values) {
        std::ranges::copy(matrix.row_columns(row_at(row)), columns);
        std::ranges::copy(matrix.row_values(row_at(row)), values);
      });
}

CsrMatrix columns_of(const CsrView& matrix, std::span<const Index> columns) {
  std::vector<Index> place(static_cast<std::size_t>(matrix.cols), -1);
  for (std::size_t at = 0; at < columns.size(); ++at) {
    place[static_cast<std::size_t>(columns[at])] = static_cast<Index>(at);
  }
  const auto place_of = [&](Index column) { return place[static_cast<std::size_t>(column)]; };
  return fill_rows(
      matrix.rows, static_cast<Index>(columns.size()),
      [&](Index row) {
        return std::ranges::count_if(matrix.row_columns(row),
                                     [&](Index column) { return place_of(column) >= 0; });
      },
      [&](Index row, Index* to, float* values) {
        for (Offset e = matrix.offsets[row]; e < matrix.offsets[row + 1]; ++e) {
          const Index at = place_of(matrix.columns[e]);
          if (at < 0) continue;
          *to++ = at;
          *values++ = matrix.values[e];
        }
      });
}

CsrMatrix new_cells(const UpdateTask& task, std::span<const Index> columns) {
  const CsrView added = task.more.by_user.view();
  const CsrView history = task.growth.history.view();
  const UnionOfIds& users = task.growth.users;
  const std::vector<Index> origins = origins_of(users.second, history.rows);
  const auto origin = [&](Index row) {
    const Index user = task.growth.touched_users[static_cast<std::size_t>(row)];
    return origins[static_cast<std::size_t>(user)];
  };
  return fill_rows(
      static_cast<Index>(task.growth.touched_users.size()), static_cast<Index>(columns.size()),
      [&](Index row) { return added.row_size(origin(row)); },
      [&](Index row, Index* to, float* values) {
        const Index user = task.growth.touched_users[static_cast<std::size_t>(row)];
        std::vector<Index> items;
        for (const Index item : added.row_columns(origin(row))) {
          items.push_back(task.growth.items.second[static_cast<std::size_t>(item)]);
        }
        std::ranges::sort(items);
        const auto known = history.row_columns(user);
        for (const Index item : items) {
          const auto cell = std::ranges::lower_bound(known, item) - known.begin();
          *to++ = static_cast<Index>(std::ranges::lower_bound(columns, item) - columns.begin());
          *values++ = history.row_values(user)[static_cast<std::size_t>(cell)];
        }
      });
}

Factors placed_factors(const UpdateTask& task, bool user_biases, bool item_biases) {
  const Factors& old = *task.model.factors();
  const auto require = [&](Side side, bool needed) {
    if (old.bias(side).empty() != needed || old.side(side).rows() == 0) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("the model has {}{} biases, and its parameters ask for {}: it was not "
                            "trained here; train anew",
                            needed ? "no " : "", side_name(side), needed ? "some" : "none"));
  };
  require(Side::kUsers, user_biases);
  require(Side::kItems, item_biases);
  Factors placed;
  placed.global_mean = old.global_mean;
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const UnionOfIds& ids = task.growth.ids(side);
    placed.side(side) = at_places(old.side(side), ids.first, ids.ids.size());
    placed.bias(side) = at_places(old.bias(side), ids.first, ids.ids.size());
    placed.squares(side) = at_places(old.squares(side), ids.first, ids.ids.size());
  }
  if (user_biases && placed.user_bias.empty()) placed.user_bias = Array<float>(placed.users.rows());
  if (item_biases && placed.item_bias.empty()) placed.item_bias = Array<float>(placed.items.rows());
  return placed;
}

Factors side_rows(const Factors& from, Side side, std::span<const Index> rows) {
  Factors to;
  to.global_mean = from.global_mean;
  to.side(side) = gather_rows(from.side(side), rows);
  to.bias(side) = some_rows(from.bias(side), rows);
  to.squares(side) = some_rows(from.squares(side), rows);
  to.changes(side) = some_rows(from.changes(side), from.side(side).rows(), rows);
  return to;
}

void put_rows(const Factors& from, Side side, std::span<const Index> rows, Factors& to) {
  scatter_rows(from.side(side), rows, to.side(side));
  put(from.bias(side), rows, to.bias(side));
  put(from.squares(side), rows, to.squares(side));
  put(from.changes(side), rows, to.side(side).rows(), to.changes(side));
}

std::vector<Index> new_rows(const UpdateTask& task, Side side) {
  const UnionOfIds& ids = task.growth.ids(side);
  const std::vector<Index> origins = origins_of(ids.first, ids.ids.size());
  std::vector<Index> rows;
  for (const Index row : task.growth.touched(side)) {
    if (origins[static_cast<std::size_t>(row)] < 0) rows.push_back(row);
  }
  return rows;
}

Titles titles_at(const Titles& titles, const std::vector<Index>& places, Index items) {
  if (titles.empty()) return {};
  std::vector<std::string> by_item(static_cast<std::size_t>(items));
  for (std::size_t i = 0; i < places.size(); ++i) {
    by_item[static_cast<std::size_t>(places[i])] = titles.of(static_cast<Index>(i));
  }
  return make_titles(by_item);
}

std::vector<Index> all_rows(Index size) {
  std::vector<Index> rows(static_cast<std::size_t>(size));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

double trained_spread(const UpdateTask& task, const SgdParams& params) {
  const Model& model = task.model;
  if (model.trained_spread > 0.0) return model.trained_spread;
  const bool of_nothing = model.history.nnz() == 0;
  return value_spread(of_nothing ? task.growth.history.view() : model.history.view(), params)
      .spread;
}

}  // namespace likewise
