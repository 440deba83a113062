// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "columns.h"
#include "interactions.h"
#include "likewise/error.h"
#include "names.h"

namespace likewise::python {
namespace {

/// Those of other interactions, shared; or ids that rise: an int64 array, or a list of text.
[[nodiscard]] IdMap kept_ids(nb::handle given) {
  if (IdNames known; nb::try_cast<IdNames>(given, known)) return known.map->share();
  if (In<std::int64_t> integers; nb::try_cast<In<std::int64_t>>(given, integers, false)) {
    return IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(span_of(integers)));
  }
  std::string chars;
  std::vector<Offset> offsets{0};
  for (const nb::handle text : nb::cast<nb::list>(given)) {
    nb::object bytes;
    chars += text_of(text, bytes);
    offsets.push_back(std::ssize(chars));
  }
  return IdMap::from_sorted_text(Array<char>::copy_of(chars), Array<Offset>::copy_of(offsets));
}

void require_entries(std::size_t count, std::size_t wanted, const char* what) {
  if (count == wanted) return;
  throw Error(ErrorKind::kBadData,
              std::to_string(count) + " " + what + " for " + std::to_string(wanted) + " entries");
}

[[nodiscard]] Array<Time> times_from(const In<std::int64_t>& seconds,
                                     const In<std::uint32_t>& nanoseconds) {
  auto times = Array<Time>::uninitialized(static_cast<Offset>(seconds.size()));
  for (std::size_t e = 0; e < seconds.size(); ++e) {
    times[static_cast<Offset>(e)] = Time(seconds.data()[e], nanoseconds.data()[e]);
  }
  return times;
}

}  // namespace

IdNames ids_of(nb::handle given) {
  auto ids = std::make_shared<const IdMap>(kept_ids(given));
  return {ids, ids.get()};
}

Data from_entries(nb::handle users, nb::handle items, const In<Offset>& offsets,
                  const In<Index>& columns, const In<float>& values,
                  const std::optional<In<std::int64_t>>& seconds,
                  const std::optional<In<std::uint32_t>>& nanoseconds, int time_form,
                  const std::string& policy, const std::vector<std::string>& names, bool faded) {
  Interactions made;
  made.users = kept_ids(users);
  made.items = kept_ids(items);
  require_entries(values.size(), columns.size(), "values");
  if (offsets.size() != static_cast<std::size_t>(made.users.size()) + 1) {
    throw Error(ErrorKind::kBadData, "the rows are not those of the users");
  }
  made.by_user = {made.users.size(), made.items.size(), Array<Offset>::copy_of(span_of(offsets)),
                  Array<Index>::copy_of(span_of(columns)), Array<float>::copy_of(span_of(values))};
  require_entries(static_cast<std::size_t>(made.by_user.offsets[made.users.size()]), columns.size(),
                  "places");
  validate(made.by_user.view(), "interactions");
  if (seconds && nanoseconds) {
    require_entries(seconds->size(), columns.size(), "times");
    require_entries(nanoseconds->size(), columns.size(), "parts of times");
    made.times = times_from(*seconds, *nanoseconds);
  }
  if (time_form < 0 || time_form > static_cast<int>(TimeForm::kDateTime)) {
    throw Error(ErrorKind::kBadData, "the form of times is unknown");
  }
  made.time_form = static_cast<TimeForm>(time_form);
  made.faded = faded;
  ReadSummary summary;
  summary.policy = named<Duplicates>(policy, kDuplicateNames, "duplicates");
  summary.columns = names;
  return {std::move(made), std::move(summary)};
}

nb::tuple whole_times(const Data& data) {
  const Interactions& all = *data.interactions;
  nb::object seconds = nb::none();
  nb::object nanoseconds = nb::none();
  if (all.has_times()) {
    auto whole = Array<std::int64_t>::uninitialized(all.times.size());
    auto parts = Array<std::uint32_t>::uninitialized(all.times.size());
    for (Offset e = 0; e < all.times.size(); ++e) {
      whole[e] = all.times[e].seconds();
      parts[e] = all.times[e].nanoseconds();
    }
    seconds = nb::cast(give(std::move(whole)));
    nanoseconds = nb::cast(give(std::move(parts)));
  }
  return nb::make_tuple(seconds, nanoseconds, static_cast<int>(all.time_form));
}

}  // namespace likewise::python
