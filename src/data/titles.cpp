// SPDX-License-Identifier: Apache-2.0
#include "likewise/titles.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/text/utf8.h"
#include "data/fail_at.h"
#include "data/text/format.h"
#include "data/title_text.h"
#include "likewise/error.h"
#include "likewise/read.h"

namespace likewise {
namespace {

/// A quoted field with line ends in it; a stray quote must not swallow the file.
constexpr std::size_t kLongestRow = std::size_t{1} << 16;
[[nodiscard]] std::string remedy() {
  return fmt::format("choose the columns with {}", mention("titles_columns", "ID,TITLE"));
}

/// The bytes from 0x80 to 0x9f; the five that are free keep their numbers, as in browsers.
constexpr std::array<std::uint16_t, 32> kWindows1252 = {
    0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008d, 0x017d, 0x008f, 0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178};

std::string from_windows_1252(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    append_utf8(result, byte >= 0x80 && byte < 0xa0 ? kWindows1252[byte - 0x80U] : byte);
  }
  return result;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (c.bytes == 0) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

/// What cannot stand in a line becomes a blank; none are left at the edges.
std::string on_one_line(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    result += is_control(c.value) ? std::string_view(" ") : text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  const auto begin = result.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return result.substr(begin, result.find_last_not_of(' ') - begin + 1);
}

/// The first column with one of the names, in the names' order.
std::optional<int> find_any(std::span<const std::string_view> known,
                            const std::vector<std::string>& names) {
  for (const std::string_view name : known) {
    const auto at = std::ranges::find(names, name, [](const auto& n) { return normalised(n); });
    if (at != names.end()) return static_cast<int>(at - names.begin());
  }
  return std::nullopt;
}

std::optional<int> find_title(const std::vector<std::string>& names) {
  constexpr std::string_view kTitles[] = {
      "title",     "name",         "itemtitle",  "itemname",   "movietitle", "moviename",
      "filmtitle", "filmname",     "booktitle",  "bookname",   "tracktitle", "trackname",
      "songtitle", "songname",     "albumname",  "albumtitle", "artistname", "gametitle",
      "gamename",  "producttitle", "productname"};
  return find_any(kTitles, names);
}

struct Columns {
  int id = 0;
  int title = 1;
};

/// The column of ids by its name. Where there is "id" beside "movieId", it could be either.
int find_id(const FileFormat& format, int title) {
  std::vector<int> ids;
  int other = -1;
  for (int c = 0; c < static_cast<int>(format.names.size()); ++c) {
    const std::string name = normalised(format.names[static_cast<std::size_t>(c)]);
    if (c == title || (name != "id" && !is_known_name(kItem, name))) continue;
    if (name.ends_with("id")) ids.push_back(c);
    if (other < 0) other = c;
  }
  if (ids.size() == 1) return ids.front();
  if (ids.empty() && other >= 0) return other;
  fail_at(ErrorKind::kInvalidArgument, format.file,
          fmt::format("cannot tell which column holds the item ids: the columns are {}; {}",
                      listing(format.names), remedy()));
}

Columns choose(const FileFormat& format, const TitleOptions& options) {
  const auto& given = options.columns;
  if (!given.empty()) {
    if (given.size() != 2) {
      fail_at(ErrorKind::kInvalidArgument, format.file,
              fmt::format("{} must name 2 columns (item id, title), not {}",
                          mention("titles_columns"), given.size()));
    }
    const Columns columns{find_column(format, given[0]), find_column(format, given[1])};
    if (columns.id != columns.title) return columns;
    fail_at(ErrorKind::kInvalidArgument, format.file,
            fmt::format("column '{}' is named twice", printable(given[1])));
  }
  if (format.fields < 2)
    fail_at(ErrorKind::kBadData, format.file, "the first row has a single column");
  const bool two = format.fields == 2;
  const auto title = find_title(format.names);
  if (!title && (two || format.names.empty())) return {};  // in their order
  if (!title) {
    fail_at(ErrorKind::kInvalidArgument, format.file,
            fmt::format("cannot tell which column holds the titles: the columns are {}; {}",
                        listing(format.names), remedy()));
  }
  return {two ? 1 - *title : find_id(format, *title), *title};
}

class TitleReader {
 public:
  TitleReader(std::string file, const IdMap& items, const TitleOptions& options)
      : items_(items),
        options_(options),
        titles_(static_cast<std::size_t>(items.size())),
        line_of_(static_cast<std::size_t>(items.size()), 0) {
    format_.file = std::move(file);
  }

  void line(std::string_view text, Offset number) {
    if (text.find('\0') != std::string_view::npos ||
        (number == 1 && (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")))) {
      fail_at(ErrorKind::kBadData, place(number), "is not text: UTF-8 is expected, or Latin-1");
    }
    if (number == 1 && text.find('\r') != std::string_view::npos) {
      fail_at(ErrorKind::kBadData, format_.file,
              "its lines end in CR alone: convert them to LF first");
    }
    if (started_) return row(text, number);
    head_.emplace_back(text, number);
    if (head_.size() >= kSampleLines) start();
  }

  Titles finish(TitleSummary& summary) {
    if (!started_) start();
    if (!open_.empty()) fail_open();
    if (rows_ == 0) fail_at(ErrorKind::kBadData, format_.file, "holds no titles");
    if (known_ == 0 && items_.size() > 0) {
      fail_at(ErrorKind::kBadData, format_.file,
              fmt::format("none of the {} ids, such as '{}', is that of an item, such as '{}'; {}",
                          rows_, printable(some_id_), printable(items_.name(0)), remedy()));
    }
    summary = {rows_ - known_, "", describe(format_)};
    if (not_utf8_ > 0) {
      summary.remark = fmt::format(
          "the title on line {} is not UTF-8: all are read as Latin-1 (Windows-1252)", not_utf8_);
    }
    for (std::string& title : titles_) {
      title = on_one_line(not_utf8_ > 0 ? from_windows_1252(title) : title);
    }
    return make_titles(titles_);
  }

 private:
  [[nodiscard]] std::string place(Offset number) const {
    return fmt::format("{}:{}", format_.file, number);
  }

  /// The first lines are known.
  void start() {
    started_ = true;
    std::vector<std::string_view> lines;
    for (const auto& [text, number] : head_) {
      if (!is_blank_line(text)) lines.push_back(text);
    }
    if (lines.empty()) fail_at(ErrorKind::kBadData, format_.file, "is empty");
    const auto same = [&](Delimiter) { return lines; };
    auto [delimiter, rows] = find_fields(same, "", format_.file, "rows of item id and title");
    format_.delimiter = delimiter;
    const bool known = find_title(rows.front()).has_value();
    const bool header = names_a_column(options_.columns) || looks_like_header(rows, known);
    format_.fields = header ? rows.front().size() : usual_fields(rows);
    if (header) format_.names = std::move(rows.front());
    columns_ = choose(format_, options_);
    bool skip = header;
    for (const auto& [text, number] : std::exchange(head_, {})) {
      if (!is_blank_line(text) && std::exchange(skip, false)) continue;
      row(text, number);
    }
  }

  /// A line of data, which may begin or go on with a quoted field that holds line ends.
  void row(std::string_view text, Offset number) {
    if (open_.empty()) {
      if (is_blank_line(text)) return;
      first_line_ = number;
    } else {
      open_.append("\n").append(text);
      text = open_;
    }
    switch (split_line(text, format_.delimiter, fields_)) {
      case LineFault::kUnclosedQuote:
        if (text.size() > kLongestRow) fail_open();
        if (open_.empty()) open_ = text;
        return;
      case LineFault::kTextAfterQuote:
        fail_at(ErrorKind::kBadData, place(first_line_),
                fmt::format("text follows a quoted field (write a quote inside quotes twice): '{}'",
                            printable(text)));
      default:
        take(text);
        open_.clear();
    }
  }

  [[noreturn]] void fail_open() const {
    fail_at(ErrorKind::kBadData, place(first_line_),
            fmt::format("a quoted field begins here and does not end: '{}'", printable(open_)));
  }

  void take(std::string_view text) {
    const auto needed = static_cast<std::size_t>(std::max(columns_.id, columns_.title)) + 1;
    if (fields_.size() < needed || fields_.size() > format_.fields) {
      fail_at(ErrorKind::kBadData, place(first_line_),
              fmt::format("'{}' has {} columns (separated by {}), {}", printable(text),
                          fields_.size(), format_.delimiter.name(),
                          fields_.size() < needed
                              ? fmt::format("{} are needed", needed)
                              : fmt::format("{} {}; quote a title that holds the separator",
                                            format_.names.empty() ? "most rows have" : "the header",
                                            format_.fields)));
    }
    const std::string& id = fields_[static_cast<std::size_t>(columns_.id)];
    if (id.empty()) fail_at(ErrorKind::kBadData, place(first_line_), "the item id is empty");
    if (rows_++ == 0) some_id_ = id;
    const auto item = items_.find(id);
    Offset& line = item ? line_of_[static_cast<std::size_t>(*item)] : line_of_unknown_[id];
    if (line > 0) {
      fail_at(ErrorKind::kBadData, place(first_line_),
              fmt::format("item '{}' has a title already, on line {}; remove one of the two",
                          printable(id), line));
    }
    line = first_line_;
    if (!item) return;
    ++known_;
    std::string& title = titles_[static_cast<std::size_t>(*item)];
    title = std::move(fields_[static_cast<std::size_t>(columns_.title)]);
    if (not_utf8_ == 0 && !is_utf8(title)) not_utf8_ = first_line_;
  }

  const IdMap& items_;
  const TitleOptions& options_;
  FileFormat format_;
  Columns columns_;
  bool started_ = false;
  std::vector<std::pair<std::string, Offset>> head_;  ///< the first lines and their numbers
  std::string open_;                                  ///< a row so far whose quoted field goes on
  Offset first_line_ = 0;                             ///< of the row at hand
  std::vector<std::string> fields_;
  std::vector<std::string> titles_;  ///< by item, as written
  std::vector<Offset> line_of_;      ///< by item; 0: none yet
  std::unordered_map<std::string, Offset> line_of_unknown_;
  std::string some_id_;
  Offset rows_ = 0;
  Offset known_ = 0;
  Offset not_utf8_ = 0;  ///< the first line with such a title
};

}  // namespace

Index Titles::count() const {
  Index count = 0;
  for (Offset i = 0; i + 1 < offsets.size(); ++i) count += offsets[i] < offsets[i + 1] ? 1 : 0;
  return count;
}

void Titles::validate(Index items) const {
  const auto refuse = [](const std::string& why) { throw Error(ErrorKind::kBadData, why); };
  if (empty() && chars.empty()) return;
  if (offsets.size() != Offset{items} + 1) {
    refuse(fmt::format("item_titles.offsets has {} numbers for {} items", offsets.size(), items));
  }
  if (offsets[0] != 0) refuse("item_titles.offsets does not start at 0");
  for (Index item = 0; item < items; ++item) {
    if (offsets[item + 1] < offsets[item]) {
      refuse(fmt::format("item_titles.offsets falls after item {}", item));
    }
  }
  if (offsets[items] != chars.size()) {
    refuse(fmt::format("item_titles.offsets ends at {} of {} characters", offsets[items],
                       chars.size()));
  }
  for (Index item = 0; item < items; ++item) {
    for (std::string_view rest = of(item); !rest.empty();) {
      const CodePoint c = first_code_point(rest);
      if (c.bytes == 0) refuse(fmt::format("the title of item {} is not UTF-8", item));
      if (is_control(c.value)) {
        refuse(fmt::format("the title of item {} holds a control character", item));
      }
      rest.remove_prefix(c.bytes);
    }
  }
}

Titles make_titles(const std::vector<std::string>& by_item) {
  Array<Offset> offsets(std::ssize(by_item) + 1);
  std::string chars;
  for (std::size_t i = 0; i < by_item.size(); ++i) {
    chars += by_item[i];
    offsets[static_cast<Offset>(i) + 1] = std::ssize(chars);
  }
  return {Array<char>::copy_of(chars), std::move(offsets)};
}

Titles titles_from_text(std::string_view text, const std::string& file, const IdMap& items,
                        const TitleOptions& options, TitleSummary& summary) {
  TitleReader reader(file, items, options);
  LineReader lines(text);
  for (std::string_view line; lines.next(line);) reader.line(line, lines.lines());
  return reader.finish(summary);
}

Titles read_titles(const std::string& path, const IdMap& items, const TitleOptions& options,
                   TitleSummary* summary) {
  TitleReader reader(path == "-" ? "standard input" : path, items, options);
  for_each_line(path, [&](std::string_view line, Offset number) { reader.line(line, number); });
  TitleSummary met;
  Titles titles = reader.finish(met);
  if (summary != nullptr) *summary = std::move(met);
  return titles;
}

}  // namespace likewise
