// SPDX-License-Identifier: Apache-2.0
#include "options/new_users.h"

#include <fmt/format.h>

#include "options/ids.h"
#include "options/options.h"

namespace likewise::cli {

NewUsers read_new_users(const Model& model, const std::string& path, Progress& progress) {
  const Interactions data = read_with_report(path, reading_for(model.feedback(), {}), progress);
  const std::vector<Index> items = translate(data.items, model.items);
  NewUsers users;
  Offset unknown = 0;
  const CsrView view = data.by_user.view();
  for (Index u = 0; u < view.rows; ++u) {
    FoldInRow row;
    for (std::size_t e = 0; e < view.row_columns(u).size(); ++e) {
      const Index item = items[static_cast<std::size_t>(view.row_columns(u)[e])];
      if (item < 0) {
        ++unknown;
        continue;
      }
      row.columns.push_back(item);
      row.values.push_back(view.row_values(u)[e]);
    }
    users.names.push_back(data.users.name(u));
    users.rows.push_back(std::move(row));
  }
  if (unknown > 0) {
    progress.say(fmt::format("{}: {} with items that the model does not know, left out",
                             base_name(path), counted(unknown, "interaction")));
  }
  return users;
}

}  // namespace likewise::cli
