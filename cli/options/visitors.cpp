// SPDX-License-Identifier: Apache-2.0
#include "options/visitors.h"

#include <fmt/format.h>

#include "options/options.h"

namespace likewise::cli {

Visitors read_visitors(const Model& model, const std::string& path, const ReadOptions& options,
                       Progress& progress) {
  const Interactions data =
      read_with_report(path, reading_for(model.feedback(), options), progress);
  Visitors visitors = visitors_of(model, data);
  if (visitors.unknown > 0) {
    progress.say(fmt::format("{}: {} with items that the model does not know, left out",
                             base_name(path), counted(visitors.unknown, "interaction")));
  }
  return visitors;
}

}  // namespace likewise::cli
