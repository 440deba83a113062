// SPDX-License-Identifier: Apache-2.0
#include "data/columns/stage_columns.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/system/parallel.h"
#include "core/system/per_thread.h"
#include "data/columns/key_table.h"
#include "data/text/numbers.h"
#include "data/text/times.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// The columns, each as one type: what is asked of an id is asked once per row.
struct Integers {
  std::span<const std::int64_t> ids;
  [[nodiscard]] static bool bad(Offset) { return false; }
  [[nodiscard]] Index code(Offset i, IdTable& table) const {
    return table.code(ids[static_cast<std::size_t>(i)]);
  }
};

struct Views {
  std::span<const std::string_view> ids;
  [[nodiscard]] bool bad(Offset i) const { return ids[static_cast<std::size_t>(i)].empty(); }
  [[nodiscard]] Index code(Offset i, IdTable& table) const {
    return table.code(ids[static_cast<std::size_t>(i)]);
  }
};

template <class Integer>
struct Text {
  std::span<const Integer> offsets;
  std::span<const char> bytes;
  [[nodiscard]] std::string_view text(Offset i) const {
    const auto at = static_cast<std::size_t>(i);
    const auto begin = static_cast<std::size_t>(offsets[at]);
    return {bytes.data() + begin, static_cast<std::size_t>(offsets[at + 1]) - begin};
  }
  [[nodiscard]] bool bad(Offset i) const { return text(i).empty(); }
  [[nodiscard]] Index code(Offset i, IdTable& table) const { return table.code(text(i)); }
};

template <class Integer>
struct Indices {
  std::span<const Integer> numbers;
  Index count;
  [[nodiscard]] bool bad(Offset i) const {
    const Integer number = numbers[static_cast<std::size_t>(i)];
    return number < 0 || number >= count;
  }
  [[nodiscard]] Index code(Offset i, IdTable&) const {
    return static_cast<Index>(numbers[static_cast<std::size_t>(i)]);
  }
};

template <class Integer>
struct Encoded {
  std::span<const Integer> codes;
  const KeyTable& keys;
  [[nodiscard]] bool bad(Offset i) const {
    const Integer code = codes[static_cast<std::size_t>(i)];
    return code < 0 || code >= keys.size() || keys.is_empty(static_cast<Index>(code));
  }
  [[nodiscard]] Index code(Offset i, IdTable&) const {
    const auto code = static_cast<Index>(codes[static_cast<std::size_t>(i)]);
    keys.use(code);
    return code;
  }
};

/// Asked of entries that rise: it remembers the row.
template <class Integer>
struct CsrRows {
  std::span<const Integer> offsets;
  std::size_t row;
  [[nodiscard]] static bool bad(Offset) { return false; }
  [[nodiscard]] Index code(Offset i, IdTable&) {
    while (offsets[row + 1] <= i) ++row;
    return static_cast<Index>(row);
  }
};

template <class Span>
using NumberOf = typename Span::value_type;

/// Calls body(ids) with a column as one of the types above, for entries from `begin` on. `keys` are
/// those of an encoded column.
template <class Body>
void with_ids(const IdColumn& column, const KeyTable* keys, Offset, const Body& body) {
  struct Visitor {
    const KeyTable* keys;
    const Body& body;
    void operator()(std::span<const std::int64_t> ids) const { body(Integers{ids}); }
    void operator()(std::span<const std::string_view> ids) const { body(Views{ids}); }
    void operator()(const TextColumn& text) const {
      std::visit(
          [&](auto offsets) {
            body(Text<NumberOf<decltype(offsets)>>{offsets, text.bytes});
          },
          text.offsets);
    }
    void operator()(const IndexColumn& index) const {
      std::visit(
          [&](auto numbers) {
            body(Indices<NumberOf<decltype(numbers)>>{numbers, index.count});
          },
          index.numbers);
    }
    void operator()(const EncodedColumn& encoded) const {
      std::visit(
          [&](auto codes) {
            body(Encoded<NumberOf<decltype(codes)>>{codes, *keys});
          },
          encoded.codes);
    }
  };
  std::visit(Visitor{keys, body}, column);
}

template <class Body>
void with_ids(const UserColumn& column, const KeyTable* keys, Offset begin, const Body& body) {
  if (const auto* ids = std::get_if<IdColumn>(&column)) return with_ids(*ids, keys, begin, body);
  std::visit(
      [&](auto offsets) {
        const auto next = std::upper_bound(offsets.begin(), offsets.end(), begin);
        body(CsrRows<NumberOf<decltype(offsets)>>{
            offsets, static_cast<std::size_t>(next - offsets.begin()) - 1});
      },
      std::get<RowsOfCsr>(column).offsets);
}

/// The keys of an encoded column; nothing for the others.
std::optional<KeyTable> keys_of(const IdColumn& column) {
  const auto* encoded = std::get_if<EncodedColumn>(&column);
  return encoded == nullptr ? std::nullopt : std::optional<KeyTable>(*encoded);
}
std::optional<KeyTable> keys_of(const UserColumn& column) {
  const auto* ids = std::get_if<IdColumn>(&column);
  return ids == nullptr ? std::nullopt : keys_of(*ids);
}
const KeyTable* pointer_to(const std::optional<KeyTable>& keys) { return keys ? &*keys : nullptr; }

/// The count of indices; nothing where ids are met one by one.
std::optional<Index> range_of(const IdColumn& column) {
  const auto* index = std::get_if<IndexColumn>(&column);
  return index == nullptr ? std::nullopt : std::optional(index->count);
}
std::optional<Index> range_of(const UserColumn& column) {
  if (const auto* ids = std::get_if<IdColumn>(&column)) return range_of(*ids);
  return std::visit([](auto offsets) { return static_cast<Index>(std::ssize(offsets) - 1); },
                    std::get<RowsOfCsr>(column).offsets);
}

/// What is wrong with a row; the first in this order counts.
enum class Fault : std::uint8_t { kNone, kUser, kItem, kValue, kTime };

template <class Row>
class ColumnStager {
 public:
  ColumnStager(const RowColumns& columns, bool stop_at_bad, const char* name,
               const RunControl& control, Offset block_rows)
      : columns_(columns),
        user_keys_(keys_of(columns.users)),
        item_keys_(keys_of(columns.items)),
        stop_at_bad_(stop_at_bad),
        name_(name),
        control_(control),
        block_rows_(block_rows),
        first_bad_(columns.rows),
        workers_([&] {
          return Worker{{}, {}, {}, {}, next_table_++};
        }) {}

  Staged<Row> run(ReadSummary& summary) {
    blocks_.resize(static_cast<std::size_t>((columns_.rows + block_rows_ - 1) / block_rows_));
    parallel_blocks(columns_.rows, block_rows_, [&](Offset begin, Offset end, Offset block) {
      control_.check();
      // A bad row found does not end the blocks before it: the first one of all is named.
      if (stop_at_bad_ && begin > first_bad_.load(std::memory_order_relaxed)) return;
      stage(begin, end, block);
      report(end - begin);
    });
    summary.rows = columns_.rows;
    summary.bad_rows = bad_rows_;
    if (first_bad_ < columns_.rows) summary.first_bad_row = describe(first_bad_);
    if (stop_at_bad_ && first_bad_ < columns_.rows) {
      throw Error(ErrorKind::kBadData, summary.first_bad_row);
    }
    return collect();
  }

 private:
  struct Worker {
    IdTable users;
    IdTable items;
    std::vector<Row> rows;
    std::vector<Fault> faults;
    int table;
    TimeForms time_forms = 0;
  };

  void stage(Offset begin, Offset end, Offset block) {
    Worker& worker = workers_.local();
    worker.rows.assign(static_cast<std::size_t>(end - begin), Row{});
    worker.faults.assign(static_cast<std::size_t>(end - begin), Fault::kNone);
    find_faults(begin, worker.faults);
    const auto bad =
        std::ranges::count_if(worker.faults, [](Fault f) { return f != Fault::kNone; });
    if (bad > 0) note_bad(begin, bad, worker.faults);
    if (bad > 0 && stop_at_bad_) return;
    fill_ids(columns_.users, pointer_to(user_keys_), begin, worker, worker.users, &Row::user);
    fill_ids(columns_.items, pointer_to(item_keys_), begin, worker, worker.items, &Row::item);
    fill_values(begin, worker.rows);
    fill_times(begin, worker);
    StagedBlock<Row>& staged = blocks_[static_cast<std::size_t>(block)];
    staged = {block, worker.table, PageBuffer<Row>(end - begin - bad, true)};
    Row* to = staged.rows.begin();
    for (std::size_t r = 0; r < worker.rows.size(); ++r) {
      if (worker.faults[r] == Fault::kNone) *to++ = worker.rows[r];
    }
  }

  /// The ids of bad rows are not among the users and items: faults are found before any id counts.
  void find_faults(Offset begin, std::vector<Fault>& faults) const {
    const auto mark = [&](Fault fault, const auto& is_bad) {
      for (std::size_t r = 0; r < faults.size(); ++r) {
        if (faults[r] == Fault::kNone && is_bad(begin + static_cast<Offset>(r))) faults[r] = fault;
      }
    };
    with_ids(columns_.users, pointer_to(user_keys_), begin,
             [&](const auto& ids) { mark(Fault::kUser, [&](Offset i) { return ids.bad(i); }); });
    with_ids(columns_.items, pointer_to(item_keys_), begin,
             [&](const auto& ids) { mark(Fault::kItem, [&](Offset i) { return ids.bad(i); }); });
    std::visit(
        [&](auto values) {
          if (values.empty()) return;
          mark(Fault::kValue,
               [&](Offset i) { return !fits_value(values[static_cast<std::size_t>(i)]); });
        },
        columns_.values);
    if constexpr (Row::kTimed) {
      mark(Fault::kTime, [&](Offset i) { return !time_at(i).has_value(); });
    }
  }

  void note_bad(Offset begin, Offset bad, const std::vector<Fault>& faults) {
    const auto first =
        std::ranges::find_if(faults, [](Fault fault) { return fault != Fault::kNone; });
    const Offset position = begin + (first - faults.begin());
    Offset seen = first_bad_.load();
    while (position < seen && !first_bad_.compare_exchange_weak(seen, position)) {
    }
    bad_rows_ += bad;
  }

  template <class Column>
  static void fill_ids(const Column& column, const KeyTable* keys, Offset begin, Worker& worker,
                       IdTable& table, Index Row::*member) {
    with_ids(column, keys, begin, [&](auto ids) {
      for (std::size_t r = 0; r < worker.rows.size(); ++r) {
        if (worker.faults[r] != Fault::kNone) continue;
        worker.rows[r].*member = ids.code(begin + static_cast<Offset>(r), table);
      }
    });
  }

  void fill_values(Offset begin, std::vector<Row>& rows) const {
    std::visit(
        [&](auto values) {
          for (std::size_t r = 0; r < rows.size(); ++r) {
            rows[r].value = values.empty()
                                ? 1.0F
                                : static_cast<float>(values[static_cast<std::size_t>(begin) + r]);
          }
        },
        columns_.values);
  }

  void fill_times(Offset begin, Worker& worker) const {
    if constexpr (Row::kTimed) {
      for (std::size_t r = 0; r < worker.rows.size(); ++r) {
        if (worker.faults[r] != Fault::kNone) continue;
        const auto time = time_at(begin + static_cast<Offset>(r));
        worker.rows[r].set_time(time->time);
        worker.time_forms |= bit_of(time->form);
      }
    }
  }

  [[nodiscard]] std::optional<ParsedTime> time_at(Offset i) const {
    return time_of(columns_.times.numbers[static_cast<std::size_t>(i)], columns_.times.unit);
  }

  void report(Offset rows) {
    const std::scoped_lock lock(mutex_);
    done_ += rows;
    control_.report("read", done_, columns_.rows, "rows");
  }

  /// "interactions in memory: position 7: the value nan is not ..."
  [[nodiscard]] std::string describe(Offset position) const {
    std::vector<Fault> fault(1, Fault::kNone);
    find_faults(position, fault);
    return fmt::format("{}: position {}: {}; correct the row, or skip bad rows with {}", name_,
                       position, what_is_wrong(fault.front(), position),
                       mention("on_bad_row", "skip"));
  }

  [[nodiscard]] std::string what_is_wrong(Fault fault, Offset position) const {
    const auto at = static_cast<std::size_t>(position);
    switch (fault) {
      case Fault::kUser:
        return bad_id("user", std::get<IdColumn>(columns_.users), at);
      case Fault::kItem:
        return bad_id("item", columns_.items, at);
      case Fault::kValue:
        return std::visit(
            [&](auto values) {
              return fmt::format("the value {} is not a finite 32-bit number ({})", values[at],
                                 kValueSizes);
            },
            columns_.values);
      case Fault::kTime:
        return columns_.times.numbers[at] == std::numeric_limits<std::int64_t>::min()
                   ? std::string("the time is missing or out of range")
                   : fmt::format("the time {} is missing or out of range",
                                 columns_.times.numbers[at]);
      case Fault::kNone:
        break;
    }
    return {};
  }

  static std::string bad_id(const char* side, const IdColumn& column, std::size_t at) {
    if (const auto* encoded = std::get_if<EncodedColumn>(&column)) {
      const Offset code =
          std::visit([&](auto codes) { return static_cast<Offset>(codes[at]); }, encoded->codes);
      const Offset keys = count_keys(*encoded);
      if (code < 0) return fmt::format("the {} is missing", side);
      if (code >= keys) {
        return fmt::format("the {} is missing: its code {} is not in [0, {})", side, code, keys);
      }
    }
    const auto* index = std::get_if<IndexColumn>(&column);
    if (index == nullptr) return fmt::format("the {} id is empty", side);
    return std::visit(
        [&](auto numbers) {
          return fmt::format("the {} {} is not in [0, {})", side, numbers[at], index->count);
        },
        index->numbers);
  }

  Staged<Row> collect() {
    Staged<Row> staged;
    staged.users.range = range_of(columns_.users);
    staged.items.range = range_of(columns_.items);
    if (user_keys_) staged.users.keys = user_keys_->merge();
    if (item_keys_) staged.items.keys = item_keys_->merge();
    const auto has_tables = [](const StagedIds& ids) { return !ids.range && !ids.keys; };
    const auto tables = static_cast<std::size_t>(next_table_.load());
    if (has_tables(staged.users)) staged.users.tables.resize(tables);
    if (has_tables(staged.items)) staged.items.tables.resize(tables);
    for (Worker& worker : workers_) {
      const auto table = static_cast<std::size_t>(worker.table);
      if (has_tables(staged.users)) staged.users.tables[table] = std::move(worker.users);
      if (has_tables(staged.items)) staged.items.tables[table] = std::move(worker.items);
      staged.time_forms |= worker.time_forms;
    }
    staged.rows = columns_.rows - bad_rows_;
    staged.blocks = std::move(blocks_);
    return staged;
  }

  const RowColumns& columns_;
  std::optional<KeyTable> user_keys_;
  std::optional<KeyTable> item_keys_;
  bool stop_at_bad_;
  const char* name_;
  const RunControl& control_;
  Offset block_rows_;
  std::atomic<Offset> first_bad_;
  std::atomic<Offset> bad_rows_{0};
  std::atomic<int> next_table_{0};
  PerThread<Worker> workers_;
  std::vector<StagedBlock<Row>> blocks_;
  std::mutex mutex_;  ///< guards done_, and reports one at a time
  Offset done_ = 0;
};

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); }

/// Offsets that do not fall, from `begin` to at most `most`.
template <class Integer>
void check_rising(std::span<const Integer> offsets, Offset most, const char* what) {
  if (offsets.front() < 0) fail(fmt::format("{}: the first offset is {}", what, offsets.front()));
  const auto fall = std::is_sorted_until(offsets.begin(), offsets.end());
  if (fall != offsets.end()) {
    fail(fmt::format("{}: offset {} is {}, less than the {} before it", what,
                     fall - offsets.begin(), *fall, *(fall - 1)));
  }
  if (offsets.back() > most) {
    fail(fmt::format("{}: the last offset is {}, but there are only {}", what, offsets.back(),
                     most));
  }
}

}  // namespace

Offset count_rows(const IdColumn& column, const char* what) {
  struct Visitor {
    const char* what;
    Offset operator()(const EncodedColumn& encoded) const {
      if (const auto* text = std::get_if<TextColumn>(&encoded.keys)) {
        (void)(*this)(*text);
      }
      if (count_keys(encoded) > std::numeric_limits<Index>::max()) {
        fail(fmt::format("{}: {} keys are too many", what, count_keys(encoded)));
      }
      return std::visit([](auto codes) { return Offset{std::ssize(codes)}; }, encoded.codes);
    }
    Offset operator()(std::span<const std::int64_t> ids) const { return std::ssize(ids); }
    Offset operator()(std::span<const std::string_view> ids) const { return std::ssize(ids); }
    Offset operator()(const TextColumn& text) const {
      return std::visit(
          [&](auto offsets) -> Offset {
            if (offsets.empty()) return 0;
            check_rising(offsets, std::ssize(text.bytes), what);
            return std::ssize(offsets) - 1;
          },
          text.offsets);
    }
    Offset operator()(const IndexColumn& index) const {
      if (index.count < 0) fail(fmt::format("{}: the count is {}", what, index.count));
      return std::visit([](auto numbers) { return Offset{std::ssize(numbers)}; }, index.numbers);
    }
  };
  return std::visit(Visitor{what}, column);
}

void check_row_offsets(const IntegerSpan& offsets, Offset end) {
  std::visit(
      [&](auto numbers) {
        if (numbers.empty()) fail("rows: there are no offsets; no rows have the one offset 0");
        if (std::ssize(numbers) - 1 > std::numeric_limits<Index>::max()) {
          fail(fmt::format("rows: {} are too many", std::ssize(numbers) - 1));
        }
        check_rising(numbers, end, "rows");
        if (numbers.front() != 0 || numbers.back() != end) {
          fail(fmt::format("rows: the offsets go from {} to {}, but the columns from 0 to {}",
                           numbers.front(), numbers.back(), end));
        }
      },
      offsets);
}

template <class Row>
Staged<Row> stage_columns(const RowColumns& columns, BadRows on_bad_row, const char* name,
                          ReadSummary& summary, const RunControl& control, Offset block_rows) {
  return ColumnStager<Row>(columns, on_bad_row == BadRows::kFail, name, control, block_rows)
      .run(summary);
}

template Staged<PlainRow> stage_columns(const RowColumns&, BadRows, const char*, ReadSummary&,
                                        const RunControl&, Offset);
template Staged<TimedRow> stage_columns(const RowColumns&, BadRows, const char*, ReadSummary&,
                                        const RunControl&, Offset);

}  // namespace likewise
