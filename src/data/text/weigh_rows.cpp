// SPDX-License-Identifier: Apache-2.0
#include "data/text/weigh_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {}", file, why));
}

/// "2026-01-31T12:00:00Z"
std::string written(Time time) {
  char text[kMostTimeChars];
  return {text, put_time(text, time, TimeForm::kDate)};
}

/// Calls body(block) for all blocks of rows.
template <class Row, class Body>
void for_blocks(Staged<Row>& staged, const Body& body) {
  parallel_for(std::ssize(staged.blocks), 1,
               [&](Offset b) { body(staged.blocks[static_cast<std::size_t>(b)]); });
}

/// Only the rows that `keep` holds for.
template <class Row, class Keep>
void keep_rows(Staged<Row>& staged, const Keep& keep) {
  for_blocks(staged, [&](StagedBlock<Row>& block) {
    const auto count = std::count_if(block.rows.begin(), block.rows.end(), keep);
    if (count == block.rows.size()) return;
    PageBuffer<Row> kept(count, true);
    std::copy_if(block.rows.begin(), block.rows.end(), kept.begin(), keep);
    block.rows = std::move(kept);
  });
  staged.rows = 0;
  for (const auto& block : staged.blocks) staged.rows += block.rows.size();
}

void drop_other_times(Staged<TimedRow>& staged, const ReadOptions& options, const std::string& file,
                      ReadSummary& summary) {
  if (!options.since && !options.until) return;
  const Offset all = staged.rows;
  keep_rows(staged, [&](const TimedRow& row) {
    return (!options.since || row.when >= *options.since) &&
           (!options.until || row.when < *options.until);
  });
  summary.outside_times = all - staged.rows;
  if (staged.rows == 0) {
    refuse(file, fmt::format("no row lies {}{}{}",
                             options.since ? "from " + written(*options.since) + " on" : "",
                             options.since && options.until ? " and " : "",
                             options.until ? "before " + written(*options.until) : ""));
  }
}

Time newest_of(const Staged<TimedRow>& staged) {
  Time newest = Time(std::numeric_limits<std::int64_t>::min());
  for (const auto& block : staged.blocks) {
    for (const TimedRow& row : block.rows) newest = std::max(newest, row.when);
  }
  return newest;
}

double seconds_between(Time from, Time to) {
  return static_cast<double>(to.seconds() - from.seconds()) +
         1e-9 * (static_cast<double>(to.nanoseconds()) - static_cast<double>(from.nanoseconds()));
}

/// value 2^(-(now - time) / half_life)
void fade(Staged<TimedRow>& staged, const ReadOptions& options, const std::string& file) {
  if (!options.half_life) return;
  staged.faded = true;
  const Time newest = newest_of(staged);
  const Time now = options.now.value_or(newest);
  if (newest > now) {
    refuse(file, fmt::format("a row of {} lies after {}: drop such rows with {}", written(newest),
                             mention("now", written(now)), mention("until", written(now))));
  }
  for_blocks(staged, [&](StagedBlock<TimedRow>& block) {
    for (TimedRow& row : block.rows) {
      const double halvings = seconds_between(row.when, now) / *options.half_life;
      row.value = static_cast<float>(double{row.value} * std::exp2(-halvings));
    }
  });
}

}  // namespace

std::string half_life_of_ratings() {
  return fmt::format(
      "{} is for implicit feedback: an old rating is not a lower one. Drop old ratings with {}",
      mention("half_life"), mention("since"));
}

bool needs_times(const ReadOptions& options) {
  return options.since || options.until || options.half_life;
}

std::string no_column_of_times() {
  return fmt::format("no column is known to hold them: name it with {}",
                     mention("columns", "USER,ITEM,VALUE,TIME"));
}

void check_weighing(const ReadOptions& options, Duplicates policy, const std::string& without_times,
                    const std::string& file) {
  if (options.now && !options.half_life) {
    refuse(file,
           fmt::format("{} would do nothing: it needs {}", mention("now"), mention("half_life")));
  }
  if (options.half_life && !(*options.half_life > 0 && std::isfinite(*options.half_life))) {
    refuse(file, fmt::format("the half-life must be above 0 seconds, not {}", *options.half_life));
  }
  if (options.half_life && options.values == Values::kRequired) {
    refuse(file, half_life_of_ratings());
  }
  if (options.since && options.until && *options.since >= *options.until) {
    refuse(file, fmt::format("{} must lie before {}", mention("since", written(*options.since)),
                             mention("until", written(*options.until))));
  }
  if (without_times.empty()) return;
  const std::string needing = options.since                   ? mention("since")
                              : options.until                 ? mention("until")
                              : options.half_life             ? mention("half_life")
                              : policy == Duplicates::kNewest ? mention("duplicates", "newest")
                                                              : "";
  if (needing.empty()) return;
  refuse(file, fmt::format("{} needs times, and {}", needing, without_times));
}

template <class Row>
void weigh_rows(Staged<Row>& staged, const ReadOptions& options, const std::string& file,
                ReadSummary& summary) {
  if constexpr (Row::kTimed) drop_other_times(staged, options, file, summary);
  if (summary.policy == Duplicates::kCount) {
    for_blocks(staged, [](StagedBlock<Row>& block) {
      for (Row& row : block.rows) row.value = 1.0F;
    });
  }
  if constexpr (Row::kTimed) fade(staged, options, file);
}

template void weigh_rows(Staged<PlainRow>&, const ReadOptions&, const std::string&, ReadSummary&);
template void weigh_rows(Staged<TimedRow>&, const ReadOptions&, const std::string&, ReadSummary&);

}  // namespace likewise
