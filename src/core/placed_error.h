// SPDX-License-Identifier: Apache-2.0
/// Errors about rows and values of the data. Who finds one has numbers alone; whoever has the ids
/// says what people call them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "likewise/error.h"
#include "likewise/interactions.h"
#include "likewise/types.h"

namespace likewise {

/// A user or an item, by its number.
struct DataRow {
  Side side;
  Index index;
};

class PlacedError : public Error {
 public:
  /// The message, given what each row is called.
  using Text = std::function<std::string(std::span<const std::string> names)>;

  /// Rows are called "user row 3" until somebody knows better. A user and an item are the place of
  /// a value.
  PlacedError(ErrorKind kind, std::vector<DataRow> rows, Text text);

  [[nodiscard]] const std::vector<DataRow>& rows() const noexcept { return rows_; }
  /// The same error where row r of a side is row places(side, r) of another numbering.
  [[nodiscard]] PlacedError moved(const std::function<Index(Side, Index)>& places) const;
  /// The same error by ids ("user 'ann'"), behind the line of the file where it is about a value
  /// and `data` knows it.
  [[nodiscard]] Error named(const IdMap& users, const IdMap& items, const Interactions& data) const;

 private:
  std::vector<DataRow> rows_;
  Text text_;
};

/// work(), whose errors about rows of `users` and `items` name their ids, and the line of the file
/// that `data` came from.
template <class Work>
auto naming_ids(const IdMap& users, const IdMap& items, const Interactions& data,
                const Work& work) {
  try {
    return work();
  } catch (const PlacedError& error) {
    throw error.named(users, items, data);
  }
}

/// work(), whose rows are numbers of another matrix: row r of a side is places(side, r) there.
template <class Work>
auto renumbering(const std::function<Index(Side, Index)>& places, const Work& work) {
  try {
    return work();
  } catch (const PlacedError& error) {
    throw error.moved(places);
  }
}

}  // namespace likewise
