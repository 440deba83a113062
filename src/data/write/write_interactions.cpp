// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <tbb/parallel_pipeline.h>

#include "data/text/times.h"
#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

constexpr Offset kEntriesPerBlock = Offset{1} << 16;
// Of a float, a time or an index, and the separators around it.
constexpr std::size_t kMostNumberChars = 32;
static_assert(kMostTimeChars + 2 <= kMostNumberChars);

struct Layout {
  TableFormat format;
  char delimiter;
};

Layout layout_of(const std::string& path) {
  const TableFormat format = table_format(path, kInteractionFormats);
  if (format == TableFormat::kMatrixMarket) return {format, ' '};
  return {format, format == TableFormat::kTsv ? '\t' : ','};
}

template <class Number>
char* put_number(char* to, Number value) {
  return std::to_chars(to, to + kMostNumberChars, value).ptr;
}

/// The shortest text that reads back to the same float; small integers take the short way.
char* put_value(char* to, float value) {
  if (value >= 0.0F && value < 10.0F && value == static_cast<float>(static_cast<int>(value)) &&
      !std::signbit(value)) {
    *to = static_cast<char>('0' + static_cast<int>(value));
    return to + 1;
  }
  return put_number(to, value);
}

/// How an id is written: itself, or its 1-based position in Matrix Market.
class IdText {
 public:
  IdText(const IdMap& ids, Layout layout) : ids_(ids), layout_(layout) {}

  [[nodiscard]] std::string operator()(Index index) const {
    if (layout_.format == TableFormat::kMatrixMarket) return std::to_string(Offset{index} + 1);
    if (ids_.is_integer()) return ids_.name(index);
    std::string field;
    append_field(field, ids_.name(index), layout_.delimiter);
    return field;
  }

 private:
  const IdMap& ids_;
  Layout layout_;
};

/// All items' texts with a delimiter before and after, side by side: items repeat, users do not.
class ItemTable {
 public:
  ItemTable(const IdMap& items, Layout layout) {
    const IdText text(items, layout);
    ends_.reserve(static_cast<std::size_t>(items.size()) + 1);
    ends_.push_back(0);
    for (Index item = 0; item < items.size(); ++item) {
      chars_ += layout.delimiter;
      chars_ += text(item);
      chars_ += layout.delimiter;
      ends_.push_back(chars_.size());
    }
  }
  [[nodiscard]] std::string_view operator[](Index item) const {
    const auto i = static_cast<std::size_t>(item);
    return {chars_.data() + ends_[i], ends_[i + 1] - ends_[i]};
  }

 private:
  std::string chars_;
  std::vector<std::size_t> ends_;
};

/// A run of text that is written through a pointer: `room` makes sure of the space first.
class TextBlock {
 public:
  [[nodiscard]] char* room(std::size_t bytes) {
    if (chars_.size() - used_ < bytes) chars_.resize(std::max(chars_.size() * 2, used_ + bytes));
    return chars_.data() + used_;
  }
  void clear() { used_ = 0; }
  void wrote_up_to(const char* end) { used_ = static_cast<std::size_t>(end - chars_.data()); }
  [[nodiscard]] std::string_view text() const { return {chars_.data(), used_}; }

 private:
  std::vector<char> chars_ = std::vector<char>(std::size_t{1} << 20);
  std::size_t used_ = 0;
};

class Formatter {
 public:
  Formatter(const Interactions& data, Layout layout)
      : data_(data), layout_(layout), users_(data.users, layout), items_(data.items, layout) {}

  [[nodiscard]] std::string header() const {
    const CsrMatrix& m = data_.by_user;
    if (layout_.format == TableFormat::kMatrixMarket) {
      return fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n", m.rows,
                         m.cols, m.nnz());
    }
    return fmt::format("user{0}item{0}value{1}\n", layout_.delimiter,
                       has_times() ? std::string{layout_.delimiter} + "time" : "");
  }

  /// The lines of entries [begin, end), which may start and stop within rows.
  void lines(Offset begin, Offset end, TextBlock& block) const {
    const Array<Offset>& offsets = data_.by_user.offsets;
    block.clear();
    auto row = static_cast<Index>(std::upper_bound(offsets.begin(), offsets.end(), begin) -
                                  offsets.begin() - 1);
    for (; begin < end; ++row) {
      const Offset row_end = std::min(end, offsets[Offset{row} + 1]);
      if (begin < row_end) put_row(users_(row), begin, row_end, block);
      begin = row_end;
    }
  }

 private:
  [[nodiscard]] bool has_times() const {
    return layout_.format != TableFormat::kMatrixMarket && data_.has_times();
  }

  void put_row(const std::string& user, Offset begin, Offset end, TextBlock& block) const {
    for (Offset i = begin; i < end; ++i) {
      const std::string_view item = items_[data_.by_user.columns[i]];
      char* at = block.room(user.size() + item.size() + 2 * kMostNumberChars);
      at = std::copy(user.begin(), user.end(), at);
      at = std::copy(item.begin(), item.end(), at);
      at = put_value(at, data_.by_user.values[i]);
      if (has_times()) {
        *at++ = layout_.delimiter;
        at = put_time(at, data_.times[i], data_.time_form);
      }
      *at++ = '\n';
      block.wrote_up_to(at);
    }
  }

  const Interactions& data_;
  Layout layout_;
  IdText users_;
  ItemTable items_;
};

/// Blocks are formatted in parallel and written in order. As they also end in order, those in
/// flight are neighbours: block b may use the text of slot b modulo their number.
void write_blocks(const Formatter& formatter, Offset nnz, OutputFile& file,
                  const RunControl& control) {
  const Offset blocks = (nnz + kEntriesPerBlock - 1) / kEntriesPerBlock;
  std::vector<TextBlock> slots(2 * static_cast<std::size_t>(thread_count()));
  const auto slot = [&](Offset block) -> TextBlock& {
    return slots[static_cast<std::size_t>(block) % slots.size()];
  };
  Offset next = 0;
  const auto start = [&](tbb::flow_control& flow) {
    if (next == blocks) flow.stop();
    return next++;
  };
  const auto format = [&](Offset block) {
    const Offset begin = block * kEntriesPerBlock;
    formatter.lines(begin, std::min(nnz, begin + kEntriesPerBlock), slot(block));
    return block;
  };
  const auto write = [&](Offset block) {
    control.check();
    file.write(slot(block).text());
    control.report("write", std::min(nnz, (block + 1) * kEntriesPerBlock), nnz, "interactions");
  };
  using tbb::filter_mode;
  using tbb::make_filter;
  tbb::parallel_pipeline(slots.size(),
                         make_filter<void, Offset>(filter_mode::serial_in_order, start) &
                             make_filter<Offset, Offset>(filter_mode::parallel, format) &
                             make_filter<Offset, void>(filter_mode::serial_in_order, write));
}

void check_sizes(const Interactions& data) {
  const CsrMatrix& m = data.by_user;
  if (m.rows == data.users.size() && m.cols == data.items.size() &&
      (!data.has_times() || data.times.size() == m.nnz())) {
    return;
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("interactions of {} users, {} items and {} times do not fit a {} x {} "
                          "matrix of {} entries",
                          data.users.size(), data.items.size(), data.times.size(), m.rows, m.cols,
                          m.nnz()));
}

}  // namespace

void write_interactions(const Interactions& data, const std::string& path,
                        const RunControl& control) {
  check_sizes(data);
  const Layout layout = layout_of(path);
  OutputFile file(path);
  const Formatter formatter(data, layout);
  file.write(formatter.header());
  write_blocks(formatter, data.by_user.nnz(), file, control);
  file.commit();
}

}  // namespace likewise
