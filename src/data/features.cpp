// SPDX-License-Identifier: Apache-2.0
#include "likewise/features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/fail_at.h"
#include "data/text/format.h"
#include "data/text/numbers.h"
#include "data/text/words.h"
#include "likewise/error.h"
#include "likewise/read.h"

namespace likewise {
namespace {

/// A column of more different numbers is cut into as many parts.
constexpr std::size_t kParts = 10;

/// Names by number, in the order in which they first come.
class Names {
 public:
  [[nodiscard]] Index number(const std::string& name) {
    const auto [at, is_new] = numbers_.try_emplace(name, static_cast<Index>(names_.size()));
    if (is_new) names_.push_back(name);
    return at->second;
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return names_; }

  [[nodiscard]] IdMap ids() const {
    std::vector<std::int64_t> integers;
    for (const std::string& name : names_) {
      const auto integer = canonical_integer(name);
      if (!integer) return IdMap::from_text(names_);
      integers.push_back(*integer);
    }
    std::ranges::sort(integers);
    return IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(integers));
  }

 private:
  std::unordered_map<std::string, Index> numbers_;
  std::vector<std::string> names_;
};

struct Carried {
  Index row;
  Index tag;
  float weight;
};

/// Row by row, tags rising, weights of the same tag added up.
[[nodiscard]] FeatureTable table_of(const Names& ids, const Names& tags,
                                    std::vector<Carried> carried) {
  FeatureTable table{ids.ids(), tags.ids(), {}};
  const auto places = [](const Names& names, const IdMap& in) {
    std::vector<Index> found;
    for (const std::string& name : names.all()) found.push_back(in.find(name).value());
    return found;
  };
  const std::vector<Index> rows = places(ids, table.ids);
  const std::vector<Index> columns = places(tags, table.tags);
  for (Carried& one : carried) {
    one.row = rows[static_cast<std::size_t>(one.row)];
    one.tag = columns[static_cast<std::size_t>(one.tag)];
  }
  std::ranges::stable_sort(carried, {}, [](const Carried& c) { return std::pair(c.row, c.tag); });
  std::vector<Index> cells;
  std::vector<float> weights;
  Array<Offset> offsets(Offset{table.ids.size()} + 1);
  for (std::size_t e = 0; e < carried.size(); ++e) {
    const Carried& one = carried[e];
    if (e > 0 && carried[e - 1].row == one.row && carried[e - 1].tag == one.tag) {
      weights.back() += one.weight;
    } else {
      cells.push_back(one.tag);
      weights.push_back(one.weight);
    }
    offsets[one.row + 1] = std::ssize(cells);
  }
  for (Index row = 0; row < table.ids.size(); ++row) {
    offsets[row + 1] = std::max(offsets[row], offsets[row + 1]);
  }
  table.weights = {table.ids.size(), table.tags.size(), std::move(offsets),
                   Array<Index>::copy_of(cells), Array<float>::copy_of(weights)};
  return table;
}

[[nodiscard]] bool is_name_of_weights(const std::string& name) {
  const std::string plain = normalised(name);
  return plain == "relevance" || plain == "tagcount" || is_known_name(kValue, plain);
}

[[nodiscard]] bool is_name_of_text(const std::string& name) {
  const std::string plain = normalised(name);
  return plain.ends_with("id") || plain == "tag" || plain == "tags" || plain == "zip" ||
         plain == "zipcode";
}

[[nodiscard]] std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// Which column is what.
struct FeatureColumns {
  std::size_t id = 0;
  std::vector<std::size_t> tags;
  std::optional<std::size_t> weight;
};

/// All rows of a text, cut into fields.
struct Table {
  FileFormat format;
  std::vector<std::vector<std::string>> rows;
  std::vector<Offset> lines;

  [[nodiscard]] std::string place(std::size_t row) const {
    return fmt::format("{}:{}", format.file, lines[row]);
  }
  [[nodiscard]] std::string name(std::size_t column) const {
    return format.names.empty() ? fmt::format("column {}", column + 1) : format.names[column];
  }
  /// A number in every cell that is not empty, and in one at least.
  [[nodiscard]] bool is_numeric(std::size_t column) const {
    bool any = false;
    for (const auto& row : rows) {
      if (column >= row.size() || row[column].empty()) continue;
      if (!parse_double(row[column])) return false;
      any = true;
    }
    return any;
  }
  /// The first row with "N/A" or the like in a column of numbers.
  [[nodiscard]] std::optional<std::size_t> without_number(std::size_t column) const {
    std::optional<std::size_t> first;
    bool any = false;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (column >= rows[r].size() || rows[r][column].empty()) continue;
      const bool number = parse_double(rows[r][column]).has_value();
      if (!number && !is_no_number(rows[r][column])) return std::nullopt;
      any = any || number;
      if (!number && !first) first = r;
    }
    return any ? first : std::nullopt;
  }
};

[[nodiscard]] Table cut(std::string_view text, const std::string& file, Side side,
                        const FeatureOptions& options) {
  Table table;
  FileFormat& format = table.format;
  format.file = file;
  if (text.find('\0') != std::string_view::npos) {
    fail_at(ErrorKind::kBadData, file, "is not text: UTF-8 is expected, or Latin-1");
  }
  const auto head = [&](Delimiter delimiter) {
    return sample_lines({text, true}, LineReader(text, delimiter));
  };
  if (head({}).empty()) fail_at(ErrorKind::kBadData, file, "is empty");
  auto [delimiter, rows] =
      find_fields(head, options.is_csv ? "," : "", file, "rows of an id and tags");
  format.delimiter = delimiter;
  const bool known = std::ranges::any_of(rows.front(), [&](const std::string& name) {
    return normalised(name) == "id" ||
           is_known_name(side == Side::kItems ? kItem : kUser, normalised(name));
  });
  const bool header =
      options.header.value_or(names_a_column(options.columns) || looks_like_header(rows, known));
  format.fields = header ? rows.front().size() : usual_fields(rows);
  if (header) format.names = std::move(rows.front());
  LineReader reader(text, delimiter);
  bool skip = header;
  std::vector<std::string> fields;
  for (std::string_view line; reader.next(line);) {
    if (is_blank_line(line) || std::exchange(skip, false)) continue;
    const std::string place = fmt::format("{}:{}", file, reader.first_line());
    const LineFault fault = split_line(line, delimiter, fields);
    if (fault == LineFault::kUnclosedQuote || fault == LineFault::kTextAfterQuote) {
      fail_at(ErrorKind::kBadData, place,
              fmt::format("a quoted field does not end with its quote (write a quote inside quotes "
                          "twice): '{}'",
                          printable(line.substr(0, 200))));
    }
    if (fields.size() > format.fields) {
      fail_at(ErrorKind::kBadData, place,
              fmt::format("'{}' has {} columns (separated by {}), {} {}", printable(line),
                          fields.size(), delimiter.name(),
                          header ? "the header has" : "most rows have", format.fields));
    }
    table.rows.push_back(fields);
    table.lines.push_back(reader.first_line());
  }
  return table;
}

[[nodiscard]] FeatureColumns named_columns(const Table& table, const FeatureOptions& options) {
  FeatureColumns columns;
  std::vector<std::size_t> all;
  for (const std::string& wanted : options.columns) {
    const auto at = static_cast<std::size_t>(find_column(table.format, wanted));
    if (std::ranges::find(all, at) != all.end()) {
      fail_at(ErrorKind::kInvalidArgument, table.format.file,
              fmt::format("column '{}' is named twice", printable(wanted)));
    }
    all.push_back(at);
  }
  if (all.size() < 2) {
    fail_at(ErrorKind::kInvalidArgument, table.format.file,
            "columns must name the id and at least one column of tags");
  }
  columns.id = all.front();
  columns.tags.assign(all.begin() + 1, all.end());
  return columns;
}

[[nodiscard]] FeatureColumns found_columns(const Table& table, Side side) {
  const Role own = side == Side::kItems ? kItem : kUser;
  const Role other_side = side == Side::kItems ? kUser : kItem;
  const auto names = table.format.names;
  const auto is_id = [&](const std::string& name) {
    const std::string plain = normalised(name);
    return plain == "id" ||
           (is_known_name(own, plain) && plain.ends_with("id") && plain != "tagid");
  };
  const auto is_side = [](const std::string& name, Role side_role) {
    return normalised(name) == (side_role == kItem ? "item" : "user");
  };
  FeatureColumns columns;
  auto id = std::ranges::find_if(names, is_id);
  if (id == names.end()) {
    id = std::ranges::find_if(names, [&](const std::string& name) { return is_side(name, own); });
  }
  if (id != names.end()) columns.id = static_cast<std::size_t>(id - names.begin());
  for (std::size_t c = 0; c < table.format.fields; ++c) {
    if (c == columns.id) continue;
    if (!names.empty()) {
      const std::string plain = normalised(names[c]);
      if (is_known_name(kTime, plain)) continue;
      if (is_side(names[c], other_side)) continue;
      if (is_known_name(other_side, plain) && plain.ends_with("id")) continue;
    }
    columns.tags.push_back(c);
  }
  if (columns.tags.empty()) {
    fail_at(ErrorKind::kBadData, table.format.file,
            "has no column of tags beside the id: an id and tags are expected");
  }
  return columns;
}

/// Of two columns of tags the second may be their weights.
void find_weights(const Table& table, FeatureColumns& columns) {
  if (columns.tags.size() != 2) return;
  const std::size_t last = columns.tags.back();
  const bool named = !table.format.names.empty() && is_name_of_weights(table.format.names[last]);
  const bool plain = table.format.names.empty() && table.is_numeric(last) &&
                     table.format.fields == 3 && !table.is_numeric(columns.tags.front());
  if (!named && !plain) return;
  columns.weight = last;
  columns.tags.pop_back();
}

/// Of a tag "column=value" the value; nothing of another column's.
[[nodiscard]] std::optional<std::string> value_in(const std::string& tag,
                                                  const std::string& column) {
  if (!tag.starts_with(column + "=")) return std::nullopt;
  return tag.substr(column.size() + 1);
}

/// The values of a column in the tags of a model; none where these are not named by it.
[[nodiscard]] std::vector<std::string> known_values(const IdMap* known, const std::string& column) {
  std::vector<std::string> values;
  for (Index tag = 0; known != nullptr && tag < known->size(); ++tag) {
    if (auto value = value_in(known->name(tag), column)) values.push_back(std::move(*value));
  }
  return values;
}

/// Which part of its column a number is in.
class NumberParts {
 public:
  /// By the parts that a model has of the column.
  explicit NumberParts(const std::vector<std::string>& known) {
    std::map<double, std::string> parts;
    for (const std::string& value : known) {
      const std::size_t dots = value.find("..");
      if (dots == std::string::npos) continue;
      const auto first = parse_double(value.substr(0, dots));
      if (first && parse_double(value.substr(dots + 2))) parts.emplace(*first, value);
    }
    for (auto& [first, name] : parts) {
      firsts_.push_back(first);
      names_.push_back(std::move(name));
    }
  }
  NumberParts(const Table& table, std::size_t column) {
    for (const auto& row : table.rows) {
      if (column < row.size() && !row[column].empty()) {
        sorted_.push_back(parse_double(row[column]).value());
      }
    }
    std::ranges::sort(sorted_);
    std::vector<double> different = sorted_;
    different.erase(std::unique(different.begin(), different.end()), different.end());
    if (different.size() <= kParts) return;
    for (std::size_t p = 0; p < kParts; ++p) {
      const double first = sorted_[p * sorted_.size() / kParts];
      if (firsts_.empty() || firsts_.back() < first) firsts_.push_back(first);
    }
    for (std::size_t p = 0; p < firsts_.size(); ++p) {
      const auto next = p + 1 < firsts_.size() ? std::ranges::lower_bound(sorted_, firsts_[p + 1])
                                               : sorted_.end();
      names_.push_back(fmt::format("{}..{}", firsts_[p], *(next - 1)));
    }
  }
  /// Its part's name, or the number itself where there are few.
  [[nodiscard]] std::string name(const std::string& cell) const {
    const double value = parse_double(cell).value();
    if (firsts_.empty()) return fmt::format("{}", value);
    const auto after = std::ranges::upper_bound(firsts_, value) - firsts_.begin();
    return names_[static_cast<std::size_t>(std::max<std::ptrdiff_t>(after, 1) - 1)];
  }
  [[nodiscard]] std::size_t parts() const { return firsts_.size(); }

 private:
  std::vector<double> sorted_;
  std::vector<double> firsts_;
  std::vector<std::string> names_;
};

[[nodiscard]] float weight_of(const Table& table, std::size_t row, const FeatureColumns& columns) {
  if (!columns.weight) return 1.0F;
  const auto& fields = table.rows[row];
  const std::string cell = *columns.weight < fields.size() ? fields[*columns.weight] : "";
  const auto weight = parse_value(cell);
  if (!weight || *weight < 0.0F) {
    fail_at(ErrorKind::kBadData, table.place(row),
            fmt::format("the weight '{}' in column {} is no number from 0 on", printable(cell),
                        table.name(*columns.weight)));
  }
  return *weight;
}

[[nodiscard]] std::string told(const Table& table, const FeatureColumns& columns,
                               const std::map<std::size_t, NumberParts>& numbers) {
  std::vector<std::string> tags;
  for (const std::size_t column : columns.tags) {
    const auto parts = numbers.find(column);
    tags.push_back(printable(table.name(column)) +
                   (parts != numbers.end() && parts->second.parts() > 0
                        ? fmt::format(" (in {} parts)", parts->second.parts())
                        : ""));
  }
  return fmt::format("{}; id {}, tags {}{}", describe(table.format),
                     printable(table.name(columns.id)), fmt::join(tags, ", "),
                     columns.weight ? ", weight " + printable(table.name(*columns.weight)) : "");
}

/// The columns of tags, not all empty, that a model whose tags are named by columns has none of.
[[nodiscard]] std::vector<std::string> unknown_columns(const Table& table,
                                                       const FeatureColumns& columns,
                                                       const std::set<std::size_t>& named,
                                                       const IdMap& tags, const IdMap& known) {
  const std::vector<std::string> there = feature_columns(known);
  if (there.empty()) return {};
  std::vector<std::string> unknown;
  for (const std::size_t column : columns.tags) {
    const bool is_empty = std::ranges::all_of(
        table.rows, [&](const auto& row) { return column >= row.size() || row[column].empty(); });
    if (is_empty || std::ranges::count(there, table.name(column)) > 0) continue;
    // Of one column alone tags may bear the names of columns themselves.
    bool is_known = false;
    for (Index tag = 0; !named.contains(column) && tag < tags.size(); ++tag) {
      is_known = is_known || known.find(tags.name(tag)).has_value();
    }
    if (!is_known) unknown.push_back(table.name(column));
  }
  return unknown;
}

/// A row's tags of one column.
template <class Take>
void for_each_tag(const std::string& cell, bool split, const Take& take) {
  std::string_view rest = cell;
  while (true) {
    const std::size_t end = split ? rest.find('|') : std::string_view::npos;
    if (const std::string_view tag = trimmed(rest.substr(0, end)); !tag.empty()) take(tag);
    if (end == std::string_view::npos) return;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace

FeatureTable features_from_text(std::string_view text, const std::string& file, Side side,
                                const FeatureOptions& options, FeatureSummary* summary) {
  const Table table = cut(text, file, side, options);
  FeatureColumns columns =
      options.columns.empty() ? found_columns(table, side) : named_columns(table, options);
  find_weights(table, columns);
  std::map<std::size_t, NumberParts> numbers;
  std::set<std::size_t> named;  // columns whose tags are "column=tag"
  for (const std::size_t column : columns.tags) {
    const std::vector<std::string> known = known_values(options.known, table.name(column));
    if (columns.tags.size() > 1 || !known.empty()) named.insert(column);
    const bool is_text = !table.format.names.empty() && is_name_of_text(table.format.names[column]);
    if (is_text || columns.weight) continue;
    const bool is_numeric = table.is_numeric(column);
    if (const auto row = is_numeric ? std::nullopt : table.without_number(column)) {
      fail_at(
          ErrorKind::kBadData, table.place(*row),
          fmt::format("'{}' stands in {}, whose other cells are numbers: leave a cell without a "
                      "number empty",
                      printable(table.rows[*row][column]), printable(table.name(column))));
    }
    if (!is_numeric) continue;
    const NumberParts parts = known.empty() ? NumberParts(table, column) : NumberParts(known);
    if (parts.parts() > 0) named.insert(column);
    numbers.emplace(column, parts);
  }
  Names ids;
  Names tags;
  std::vector<Carried> carried;
  FeatureSummary met;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto& fields = table.rows[r];
    if (columns.id >= fields.size() || fields[columns.id].empty()) {
      fail_at(ErrorKind::kBadData, table.place(r), "the id is empty");
    }
    const float weight = weight_of(table, r, columns);
    const std::size_t before = carried.size();
    for (const std::size_t column : columns.tags) {
      if (column >= fields.size() || weight == 0.0F) continue;
      const auto parts = numbers.find(column);
      const bool is_number = parts != numbers.end();
      const bool split = !is_number && table.format.delimiter.byte != '|';
      for_each_tag(fields[column], split, [&](std::string_view cell) {
        std::string tag = is_number ? parts->second.name(std::string(cell)) : std::string(cell);
        if (named.contains(column)) tag = table.name(column) + "=" + tag;
        carried.push_back({ids.number(fields[columns.id]), tags.number(tag), weight});
      });
    }
    if (carried.size() == before) ++met.without_tags;
  }
  if (carried.empty()) fail_at(ErrorKind::kBadData, file, "holds no tags");
  met.format = told(table, columns, numbers);
  if (summary != nullptr) *summary = std::move(met);
  FeatureTable made = table_of(ids, tags, std::move(carried));
  if (options.known != nullptr) {
    made.unknown_columns = unknown_columns(table, columns, named, made.tags, *options.known);
  }
  return made;
}

std::vector<std::string> feature_columns(const IdMap& tags) {
  std::vector<std::string> columns;
  for (Index tag = 0; tag < tags.size(); ++tag) {
    const std::string name = tags.name(tag);
    const std::size_t equals = name.find('=');
    if (equals == std::string::npos) return {};
    if (columns.empty() || columns.back() != name.substr(0, equals)) {
      columns.push_back(name.substr(0, equals));
    }
  }
  return columns;
}

FeatureTable read_features(const std::string& path, Side side, const FeatureOptions& options,
                           FeatureSummary* summary) {
  std::string text;
  for_each_line(path, [&](std::string_view line, Offset) { text.append(line).append("\n"); });
  return features_from_text(text, path == "-" ? "standard input" : path, side, options, summary);
}

}  // namespace likewise
