// SPDX-License-Identifier: Apache-2.0
#include "data/text/assemble.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/system/parallel.h"
#include "data/text/fields.h"
#include "data/text/merge_rows.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr Offset kRowsPerBucket = Offset{1} << 16;
constexpr Offset kMostBuckets = 512;
constexpr Offset kMostGroups = 256;

/// Buckets of 2^shift neighbouring users.
struct Buckets {
  int shift = 0;
  Index users = 0;

  Buckets(Index user_count, Offset rows) : users(user_count) {
    const Offset wanted = std::clamp<Offset>(rows / kRowsPerBucket, 1, kMostBuckets);
    while (count() > wanted) ++shift;
  }
  [[nodiscard]] Index of(Index user) const { return user >> shift; }
  [[nodiscard]] Offset count() const { return users == 0 ? 0 : Offset{of(users - 1)} + 1; }
  [[nodiscard]] Index first_user(Offset bucket) const {
    return static_cast<Index>(std::min<Offset>(users, bucket << shift));
  }
};

/// Runs of blocks: few enough that a count per run and bucket stays small.
struct Group {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<Offset> next;  ///< by bucket: first the count, then where the next row goes
};

template <class Row>
class Assembler {
 public:
  Assembler(Staged<Row> staged, const std::string& file, const RunControl& control)
      : staged_(std::move(staged)),
        file_(file),
        control_(control),
        users_(merge(std::move(staged_.users))),
        items_(merge(std::move(staged_.items))),
        buckets_(users_.map.size(), staged_.rows) {}

  Interactions run(Duplicates duplicates, ReadSummary& summary) {
    translate_and_count();
    deal_out();
    merge_buckets(duplicates);
    check_faults();
    Interactions result = lay_out();
    summary.duplicates = staged_.rows - result.by_user.nnz();
    return result;
  }

 private:
  static MergedIds merge(StagedIds ids) {
    if (ids.range) return {IdMap::range(*ids.range), {}};
    if (ids.keys) return std::move(*ids.keys);
    return merge_ids(std::move(ids.tables));
  }

  /// Codes become indices; each group counts its rows per bucket.
  void translate_and_count() {
    const auto blocks = static_cast<Offset>(staged_.blocks.size());
    groups_.resize(static_cast<std::size_t>(std::min(blocks, kMostGroups)));
    const auto count = static_cast<Offset>(groups_.size());
    parallel_for(count, 1, [&](Offset g) {
      control_.check();
      Group& group = groups_[static_cast<std::size_t>(g)];
      group.begin = static_cast<std::size_t>(blocks * g / count);
      group.end = static_cast<std::size_t>(blocks * (g + 1) / count);
      group.next.assign(static_cast<std::size_t>(buckets_.count()), 0);
      for (std::size_t b = group.begin; b < group.end; ++b) translate(staged_.blocks[b], group);
    });
    users_.index_of.clear();
    items_.index_of.clear();
  }

  void translate(StagedBlock<Row>& block, Group& group) {
    const auto index_of = [&](const MergedIds& ids) -> const Index* {
      if (ids.index_of.empty()) return nullptr;
      const bool shared = ids.index_of.size() == 1;
      return ids.index_of[shared ? 0 : static_cast<std::size_t>(block.table)].data();
    };
    const Index* user_of = index_of(users_);
    const Index* item_of = index_of(items_);
    for (Row& row : block.rows) {
      if (user_of != nullptr) row.user = user_of[row.user];
      if (item_of != nullptr) row.item = item_of[row.item];
      ++group.next[static_cast<std::size_t>(buckets_.of(row.user))];
    }
  }

  /// Moves every row to its bucket. The counts fix each row's place, so a bucket's rows are in file
  /// order whichever thread moved them.
  void deal_out() {
    Offset position = 0;
    for (std::size_t bucket = 0; bucket < static_cast<std::size_t>(buckets_.count()); ++bucket) {
      begins_.push_back(position);
      for (Group& group : groups_) {
        const Offset count = std::exchange(group.next[bucket], position);
        position += count;
      }
    }
    begins_.push_back(position);
    rows_ = PageBuffer<Row>(staged_.rows, false);
    parallel_for(static_cast<Offset>(groups_.size()), 1, [&](Offset g) {
      Group& group = groups_[static_cast<std::size_t>(g)];
      for (std::size_t b = group.begin; b < group.end; ++b) {
        control_.check();
        PageBuffer<Row> gone = std::exchange(staged_.blocks[b].rows, {});
        for (const Row& row : gone) {
          rows_[group.next[static_cast<std::size_t>(buckets_.of(row.user))]++] = row;
        }
      }
    });
    staged_.blocks.clear();
    groups_.clear();
  }

  void merge_buckets(Duplicates duplicates) {
    offsets_ = Array<Offset>(Offset{buckets_.users} + 1);
    merged_.resize(static_cast<std::size_t>(buckets_.count()));
    parallel_for(buckets_.count(), 1, [&](Offset b) {
      control_.check();
      const auto bucket = static_cast<std::size_t>(b);
      const std::span<Row> rows(rows_.begin() + begins_[bucket],
                                static_cast<std::size_t>(begins_[bucket + 1] - begins_[bucket]));
      const Index first = buckets_.first_user(b);
      merged_[bucket] = sort_and_merge(rows, first, buckets_.first_user(b + 1), duplicates,
                                       offsets_.data() + first + 1);
    });
    for (Index user = 0; user < buckets_.users; ++user) offsets_[user + 1] += offsets_[user];
  }

  void check_faults() const {
    for (const MergeResult& merged : merged_) {
      if (!merged.fault) continue;
      const std::string pair =
          fmt::format("user '{}' and item '{}'", printable(users_.map.name(merged.fault.user)),
                      printable(items_.map.name(merged.fault.item)));
      throw Error(ErrorKind::kBadData,
                  merged.fault.duplicate
                      ? fmt::format("{}: several rows hold {}; remove all but one, or choose "
                                    "{} newest, sum, mean, max, first, last or count",
                                    file_, pair, mention("duplicates"))
                      : fmt::format("{}: the sum of the values of {} is too large for a 32-bit "
                                    "float",
                                    file_, pair));
    }
  }

  Interactions lay_out() {
    const Offset nnz = offsets_[buckets_.users];
    Interactions result;
    result.by_user = {buckets_.users, items_.map.size(), std::move(offsets_),
                      Array<Index>::uninitialized(nnz), Array<float>::uninitialized(nnz)};
    if (Row::kTimed) result.times = Array<Time>::uninitialized(nnz);
    parallel_for(buckets_.count(), 1, [&](Offset b) {
      const auto bucket = static_cast<std::size_t>(b);
      Offset to = result.by_user.offsets[buckets_.first_user(b)];
      const Row* row = rows_.begin() + begins_[bucket];
      for (const Row* end = row + merged_[bucket].rows; row < end; ++row, ++to) {
        result.by_user.columns[to] = row->item;
        result.by_user.values[to] = row->value;
        if constexpr (Row::kTimed) result.times[to] = row->time();
      }
      rows_.release(begins_[bucket], begins_[bucket + 1]);
    });
    result.time_form = common_form(staged_.time_forms);
    result.faded = staged_.faded;
    result.users = std::move(users_.map);
    result.items = std::move(items_.map);
    return result;
  }

  Staged<Row> staged_;
  const std::string& file_;
  const RunControl& control_;
  MergedIds users_;
  MergedIds items_;
  Buckets buckets_;
  std::vector<Group> groups_;
  std::vector<Offset> begins_;  ///< by bucket: its first row in rows_
  PageBuffer<Row> rows_;
  std::vector<MergeResult> merged_;  ///< by bucket
  Array<Offset> offsets_;
};

}  // namespace

template <class Row>
Interactions assemble(Staged<Row> staged, Duplicates duplicates, const std::string& file,
                      ReadSummary& summary, const RunControl& control) {
  return Assembler<Row>(std::move(staged), file, control).run(duplicates, summary);
}

template Interactions assemble(Staged<PlainRow>, Duplicates, const std::string&, ReadSummary&,
                               const RunControl&);
template Interactions assemble(Staged<TimedRow>, Duplicates, const std::string&, ReadSummary&,
                               const RunControl&);

}  // namespace likewise
