// SPDX-License-Identifier: Apache-2.0
#include "likewise/read.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "data/bytes/decompress.h"
#include "data/bytes/read_source.h"
#include "data/read/assemble.h"
#include "data/read/counts_line.h"
#include "data/read/filter.h"
#include "data/read/format.h"
#include "data/read/row_parser.h"
#include "data/read/stage.h"
#include "data/write/naming.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// The first bytes, to look at: more than usual where a long first line or comment needs it.
std::string read_head(ByteSource& source, const ReadTuning& tuning, bool& whole) {
  std::string head = read_up_to(source, tuning.head_bytes);
  whole = head.size() < tuning.head_bytes;
  const bool long_start = head.find('\n') == std::string::npos || is_matrix_market(head);
  if (!whole && long_start && head.size() <= tuning.max_line_bytes) {
    const std::size_t more = tuning.max_line_bytes + 1 - head.size();
    head += read_up_to(source, more);
    whole = head.size() <= tuning.max_line_bytes;
  }
  return head;
}

void check_rows(const FileFormat& format, const ReadSummary& summary) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: {}", format.file, why));
  };
  if (format.matrix.present && summary.rows != format.matrix.entries) {
    fail(fmt::format("declares {} entries but holds {}: the file is damaged or cut off",
                     format.matrix.entries, summary.rows));
  }
  if (summary.rows == 0) {
    if (format.adjacency) {
      fail(
          fmt::format("holds users without items (a line is a user and its items, separated by {})",
                      format.delimiter.name()));
    }
    fail(format.lines_before > 0 ? "holds a header but no rows" : "holds no rows");
  }
  if (summary.rows == summary.bad_rows) {
    fail(
        fmt::format("all {} rows are bad; the first one: {}", summary.rows, summary.first_bad_row));
  }
}

Duplicates policy(Duplicates wanted, const FileFormat& format) {
  if (wanted != Duplicates::kAuto) return wanted;
  return format.has(kValue) ? Duplicates::kLast : Duplicates::kSum;
}

/// A file that was opened, and what its first bytes say.
struct OpenFile {
  ByteSourcePtr source;
  FileFormat format;
  std::string compression;
};

OpenFile open_text(ByteSourcePtr raw, const std::string& file, const ReadOptions& options,
                   const ReadTuning& tuning) {
  check_filters(options);
  Decompressed text = decompress(std::move(raw), file);
  bool whole = false;
  std::string head = read_head(*text.source, tuning, whole);
  FileFormat format = detect_format({head, whole}, file, options);
  return {put_back(std::move(head), std::move(text.source)), std::move(format),
          std::move(text.compression)};
}

/// All rows, the first line among them unless it is counts.
template <class Row>
Staged<Row> staged_rows(OpenFile& file, const ReadOptions& options, ReadSummary& summary,
                        const RunControl& control, const ReadTuning& tuning) {
  FileFormat& format = file.format;
  Staged<Row> staged = stage_rows<Row>(*file.source, format, options, tuning, summary, control);
  if (format.counts && staged.rows > 0) {  // else all are bad, which is what to say
    if (is_counts(format, staged, summary)) {
      format.description = describe(format, true);
    } else {
      add_first_line(staged, format, options, tuning, summary);
    }
  }
  check_rows(format, summary);
  return staged;
}

template <class Row>
Interactions read_rows(OpenFile& file, const ReadOptions& options, ReadSummary& summary,
                       const RunControl& control, const ReadTuning& tuning) {
  Staged<Row> staged = staged_rows<Row>(file, options, summary, control, tuning);
  return assemble<Row>(std::move(staged), summary.policy, file.format.file, summary, control);
}

/// The number of the first line of a text with a row of this user and item, from 1; 0: none.
Offset line_of_row(std::string_view text, std::string_view user, std::string_view item,
                   RowParser<PlainRow>& parser) {
  const auto is_there = [&](std::string_view part) {
    (void)parser.parse(part, false);
    const Index user_code = parser.users().code(user);
    const Index item_code = parser.items().code(item);
    return std::ranges::any_of(parser.rows(), [&](const PlainRow& row) {
      return row.user == user_code && row.item == item_code;
    });
  };
  if (!is_there(text)) return 0;
  LineReader lines(text);
  std::string_view line;
  while (lines.next(line)) {
    if (is_there(line)) return lines.lines();
  }
  return 0;
}

/// "ratings.csv:17": the first line with this user and item. Nothing where there is none, or where
/// the file cannot be read any more.
std::string place_of_row(const std::string& path, const ReadOptions& options, std::string_view user,
                         std::string_view item) try {
  const ReadTuning tuning;
  OpenFile file = open_text(open_file(path), path, options, tuning);
  const FileFormat& format = file.format;
  (void)read_up_to(*file.source, format.data_begin);
  RowParser<PlainRow> parser(format, tuning.max_line_bytes);
  const auto place = [&](Offset line) { return fmt::format("{}:{}", printable(path, 200), line); };
  if (format.counts && line_of_row(format.counts->text, user, item, parser) > 0) {
    return place(format.lines_before);
  }
  BlockStream stream(*file.source, tuning);
  TextBlock block;
  for (Offset before = format.lines_before; stream.next(block);) {
    const std::string_view text = block.text();
    if (const Offset line = line_of_row(text, user, item, parser); line > 0) {
      return place(before + line);
    }
    before += std::ranges::count(text, '\n');
  }
  return {};
} catch (const Error&) {
  return {};
}

/// "csv, gzip, header userId,..."
void describe(const OpenFile& file, ReadSummary& summary) {
  const FileFormat& format = file.format;
  summary.format = format.description;
  if (!file.compression.empty()) {
    summary.format.insert(std::min(summary.format.find(','), summary.format.size()),
                          ", " + file.compression);
  }
  for (const Role role : {kUser, kItem, kValue, kTime}) {
    summary.columns.push_back(format.has(role) ? format.column_name(role) : "");
  }
}

}  // namespace

Interactions read_source(ByteSourcePtr raw, const std::string& file, const ReadOptions& options,
                         ReadSummary* summary, const RunControl& control,
                         const ReadTuning& tuning) {
  ReadSummary met;
  OpenFile text = open_text(std::move(raw), file, options, tuning);
  met.policy = policy(options.duplicates, text.format);
  Interactions data = options.keep_times && text.format.has(kTime)
                          ? read_rows<TimedRow>(text, options, met, control, tuning)
                          : read_rows<PlainRow>(text, options, met, control, tuning);
  describe(text, met);
  data = filter(std::move(data), options, file, met);
  if (summary != nullptr) *summary = std::move(met);
  return data;
}

Pairs read_pairs_of(ByteSourcePtr raw, const std::string& file, const ReadOptions& given,
                    ReadSummary* summary, const RunControl& control, const ReadTuning& tuning) {
  if (given.duplicates != Duplicates::kAuto || given.min_value || given.min_user_count > 0 ||
      given.min_item_count > 0 || given.keep_times) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: pairs are taken one by one: duplicates, min_value, "
                            "min_user_count, min_item_count and keep_times would do nothing",
                            file));
  }
  ReadOptions options = given;
  options.values = Values::kUnused;
  ReadSummary met;
  OpenFile text = open_text(std::move(raw), file, options, tuning);
  Staged<PlainRow> staged = staged_rows<PlainRow>(text, options, met, control, tuning);
  describe(text, met);
  const MergedIds users = merge_ids(std::move(staged.users.tables));
  const MergedIds items = merge_ids(std::move(staged.items.tables));
  Pairs pairs{users.map.share(), items.map.share(), Array<Index>::uninitialized(staged.rows),
              Array<Index>::uninitialized(staged.rows)};
  Offset at = 0;
  for (const auto& block : staged.blocks) {
    const auto table = static_cast<std::size_t>(block.table);
    for (const PlainRow& row : block.rows) {
      pairs.user_of[at] = users.index_of[table][row.user];
      pairs.item_of[at++] = items.index_of[table][row.item];
    }
  }
  if (summary != nullptr) *summary = std::move(met);
  return pairs;
}

Pairs read_pairs(const std::string& path, const ReadOptions& options, ReadSummary* summary,
                 const RunControl& control) {
  const std::string name = path == "-" ? "standard input" : path;
  return naming_the_file(name, [&] {
    ByteSourcePtr source = open_file(path == "-" ? "/dev/stdin" : path);
    return read_pairs_of(std::move(source), name, options, summary, control);
  });
}

Interactions read_interactions(const std::string& path, const ReadOptions& options,
                               ReadSummary* summary, const RunControl& control) {
  const std::string name = path == "-" ? "standard input" : path;
  return naming_the_file(name, [&] {
    ByteSourcePtr source = open_file(path == "-" ? "/dev/stdin" : path);
    Interactions data = read_source(std::move(source), name, options, summary, control);
    std::error_code ignored;
    if (path != "-" && std::filesystem::is_regular_file(path, ignored)) {
      data.place_in_file = [path, options](std::string_view user, std::string_view item) {
        return place_of_row(path, options, user, item);
      };
    }
    return data;
  });
}

}  // namespace likewise
