// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binding.h"
#include "likewise/interactions.h"
#include "likewise/read.h"

namespace likewise::python {

/// Of SplitMethod, in its order.
inline constexpr std::string_view kSplitNames[] = {"random", "last",     "time",
                                                   "kfold",  "per-user", "cold-items"};

/// `Interactions` for Python, with what reading met.
struct Data {
  std::shared_ptr<const Interactions> interactions;
  ReadSummary summary;

  Data(Interactions given, ReadSummary met)
      : interactions(std::make_shared<const Interactions>(std::move(given))),
        summary(std::move(met)) {}
};

/// Ids of an owner that keeps the map alive, for Python.
struct IdNames {
  std::shared_ptr<const void> owner;
  const IdMap* map = nullptr;
};

/// Ids that rise: an int64 array, or a list of text.
[[nodiscard]] IdNames ids_of(nb::handle given);

/// Interactions of entries as csr_of() has them. `users` and `items` are those of other
/// interactions, or their ids; `names` are the columns that were read.
[[nodiscard]] Data from_entries(nb::handle users, nb::handle items, const In<Offset>& offsets,
                                const In<Index>& columns, const In<float>& values,
                                const std::optional<In<std::int64_t>>& seconds,
                                const std::optional<In<std::uint32_t>>& nanoseconds, int time_form,
                                const std::string& policy, const std::vector<std::string>& names,
                                bool faded);
/// (seconds, nanoseconds, form) of the times, to the nanosecond; arrays are None without times.
[[nodiscard]] nb::tuple whole_times(const Data& data);

/// A moment as files write it; ValueError that names the argument.
[[nodiscard]] Time moment_of(const std::string& name, const std::string& given);

[[nodiscard]] nb::tuple csr_of(const CsrView& matrix, nb::handle owner);

}  // namespace likewise::python
