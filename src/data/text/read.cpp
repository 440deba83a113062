// SPDX-License-Identifier: Apache-2.0
#include "likewise/read.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/bytes/decompress.h"
#include "data/bytes/read_source.h"
#include "data/columnar/open_columnar.h"
#include "data/text/assemble.h"
#include "data/text/blocks.h"
#include "data/text/counts_line.h"
#include "data/text/filter.h"
#include "data/text/format.h"
#include "data/text/json_lines.h"
#include "data/text/merge_rows.h"
#include "data/text/row_parser.h"
#include "data/text/stage.h"
#include "data/text/weigh_rows.h"
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

/// Why there are no times; empty where there are some.
std::string without_times(const FileFormat& format) {
  if (format.has(kTime)) return "";
  if (format.adjacency) return "lists of items have none";
  return format.matrix.present ? "Matrix Market has none" : no_column_of_times();
}

/// The policy of these options, checked.
Duplicates policy(const ReadOptions& options, const FileFormat& format) {
  const Duplicates chosen =
      chosen_policy(options.duplicates, format.has(kValue), format.has(kTime));
  check_weighing(options, chosen, without_times(format), format.file);
  return chosen;
}

/// Whether times are more than checked.
bool times_matter(const ReadOptions& options, Duplicates chosen, const FileFormat& format) {
  return format.has(kTime) &&
         (options.keep_times || needs_times(options) || chosen == Duplicates::kNewest);
}

/// Whether none of the first rows can be read.
bool are_bad(std::string_view rows, const FileFormat& format, const ReadTuning& tuning) {
  RowParser<PlainRow> parser(format, tuning.max_line_bytes);
  LineReader lines(rows, format.delimiter);
  std::string_view line;
  for (std::size_t looked = 0; looked < kSampleLines && lines.next(line); ++looked) {
    if (!parser.parse(line, false).fault.empty()) continue;
    if (!parser.rows().empty()) return false;
  }
  return true;
}

/// A file that was opened, and what its first bytes say.
struct OpenFile {
  ByteSourcePtr source;
  FileFormat format;
  std::string compression;
};

/// Text of another form as the CSV that stands for it.
struct Converted {
  ByteSourcePtr source;
  ReadOptions options;         ///< of the CSV
  const char* form = nullptr;  ///< nothing: it was a table before
};

Converted converted(ByteSourcePtr text, const std::string& file, const ReadOptions& options,
                    const ReadTuning& tuning) {
  bool whole = false;
  std::string head = read_head(*text, tuning, whole);
  const bool blocks = options.format == Format::kNetflix || options.format == Format::kKddCup;
  const bool marked = head.starts_with(kByteOrderMark);
  const bool json =
      options.format == Format::kAuto &&
      is_json_lines(std::string_view(head).substr(marked ? kByteOrderMark.size() : 0), file);
  if (marked && (blocks || json)) head.erase(0, kByteOrderMark.size());
  ByteSourcePtr source = put_back(std::string(head), std::move(text));
  if (blocks) {
    ReadOptions of_rows = options;
    of_rows.format = Format::kAuto;
    of_rows.delimiter = ",";
    of_rows.header = Header::kNo;
    return {blocks_as_csv(std::move(source), options, tuning.max_line_bytes, file), of_rows,
            kFormatNames[static_cast<std::size_t>(options.format)].data()};
  }
  if (!json) return {std::move(source), options};
  ByteSourcePtr rows = json_as_csv(std::move(source), head, options, tuning.max_line_bytes, file);
  ReadOptions of_rows = options;
  of_rows.delimiter = ",";
  of_rows.header = Header::kYes;
  return {std::move(rows), of_rows, "JSON lines"};
}

OpenFile open_text(ByteSourcePtr raw, const std::string& file, const ReadOptions& given,
                   const ReadTuning& tuning) {
  check_filters(given);
  Decompressed text = decompress(std::move(raw), file);
  Converted rows = converted(std::move(text.source), file, given, tuning);
  text.source = std::move(rows.source);
  const ReadOptions& options = rows.options;
  bool whole = false;
  std::string head = read_head(*text.source, tuning, whole);
  FileFormat format = detect_format({head, whole}, file, options);
  if (rows.form != nullptr) {
    // A header that the text itself does not have is no line of it.
    format.lines_before -= format.names.empty() ? 0 : 1;
    format.description = rows.form + format.description.substr(format.description.find(','));
  }
  format.first_rows_bad = are_bad(std::string_view(head).substr(format.data_begin), format, tuning);
  return {put_back(std::move(head), std::move(text.source)), std::move(format),
          std::move(text.compression)};
}

/// A file of any form; `name` is for messages.
OpenFile open_any(const std::string& path, const std::string& name, const ReadOptions& options,
                  const ReadTuning& tuning) {
  const auto kind = columnar_kind(path);
  if (!kind) return open_text(open_file(path), name, options, tuning);
  check_filters(options);
  ColumnarText rows = open_columnar(path, *kind, name, options);
  rows.format.first_rows_bad = are_bad(rows.first_rows, rows.format, tuning);
  return {std::move(rows.source), std::move(rows.format), ""};
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

/// The lines of a text, or its rows where these count.
LineReader lines_of(std::string_view text, const FileFormat& format) {
  return format.counts_rows ? LineReader(text, format.delimiter) : LineReader(text);
}

Offset count_lines(std::string_view text, const FileFormat& format) {
  LineReader lines = lines_of(text, format);
  std::string_view line;
  Offset count = 0;
  while (lines.next(line)) ++count;
  return count;
}

/// The number of the first line of a text with a row of this user and item, from 1, or of the row
/// where rows count; 0: none.
Offset line_of_row(std::string_view text, std::string_view user, std::string_view item,
                   const FileFormat& format, RowParser<PlainRow>& parser) {
  const auto is_there = [&](std::string_view part) {
    (void)parser.parse(part, false);
    const Index user_code = parser.users().code(user);
    const Index item_code = parser.items().code(item);
    return std::ranges::any_of(parser.rows(), [&](const PlainRow& row) {
      return row.user == user_code && row.item == item_code;
    });
  };
  if (!is_there(text)) return 0;
  LineReader lines = lines_of(text, format);
  std::string_view line;
  for (Offset number = 1; lines.next(line); ++number) {
    if (is_there(line)) return number;
  }
  return 0;
}

/// "ratings.csv:17": the first line with this user and item. Nothing where there is none, or where
/// the file cannot be read any more.
std::string place_of_row(const std::string& path, const ReadOptions& options, std::string_view user,
                         std::string_view item) try {
  const ReadTuning tuning;
  OpenFile file = open_any(path, printable(path, 200), options, tuning);
  const FileFormat& format = file.format;
  (void)read_up_to(*file.source, format.data_begin);
  RowParser<PlainRow> parser(format, tuning.max_line_bytes);
  if (format.counts && line_of_row(format.counts->text, user, item, format, parser) > 0) {
    return format.place(format.lines_before);
  }
  BlockStream stream(*file.source, tuning, [&](std::string_view text) {
    return format.counts_rows ? whole_rows(text, format.delimiter) : whole_lines(text);
  });
  TextBlock block;
  for (Offset before = format.lines_before; stream.next(block);) {
    const std::string_view text = block.text();
    if (const Offset line = line_of_row(text, user, item, format, parser); line > 0) {
      return format.place(before + line);
    }
    before += count_lines(text, format);
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

namespace {

/// Opens the texts that are read as one, one after the other.
class Texts {
 public:
  using Open = std::function<OpenFile(std::size_t)>;

  Texts(std::vector<std::string> names, Open open, const ReadOptions& options,
        const ReadTuning& tuning)
      : names_(std::move(names)), open_(std::move(open)), options_(options), tuning_(tuning) {}

  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] OpenFile open(std::size_t i) const {
    return naming_the_file(names_[i], [&] { return open_(i); });
  }
  [[nodiscard]] const ReadOptions& options() const { return options_; }
  [[nodiscard]] const ReadTuning& tuning() const { return tuning_; }

 private:
  std::vector<std::string> names_;
  Open open_;
  const ReadOptions& options_;
  const ReadTuning& tuning_;
};

/// All texts of one result have the same columns.
void check_alike(const FileFormat& first, const FileFormat& next) {
  if (first.names == next.names && first.columns == next.columns) return;
  const auto told = [](const FileFormat& format) {
    return format.names.empty() ? fmt::format("{} columns without a header", format.fields)
                                : fmt::format("the columns {}", listing(format.names));
  };
  throw Error(ErrorKind::kBadData, fmt::format("{} has {}, but {} has {}: files that are read "
                                               "together need the same columns",
                                               first.file, told(first), next.file, told(next)));
}

/// The rows of `more` behind those of `all`.
template <class Row>
void append(Staged<Row>& all, Staged<Row> more) {
  const auto tables = static_cast<int>(all.users.tables.size());
  for (StagedBlock<Row>& block : more.blocks) {
    block.table += tables;
    all.blocks.push_back(std::move(block));
  }
  std::ranges::move(more.users.tables, std::back_inserter(all.users.tables));
  std::ranges::move(more.items.tables, std::back_inserter(all.items.tables));
  all.rows += more.rows;
  all.time_forms |= more.time_forms;
}

void append(ReadSummary& all, const ReadSummary& more) {
  all.rows += more.rows;
  all.bad_rows += more.bad_rows;
  if (all.first_bad_row.empty()) all.first_bad_row = more.first_bad_row;
}

/// "12.0"
[[nodiscard]] bool is_whole_with_fraction(std::string_view id) {
  const std::size_t dot = id.find('.');
  if (dot == std::string_view::npos || dot + 1 == id.size()) return false;
  return canonical_integer(id.substr(0, dot)).has_value() &&
         id.find_first_not_of('0', dot + 1) == std::string_view::npos;
}

/// Ids that other programs made numbers with fractions of: nobody would find them as 12.
void refuse_fractions(const IdMap& ids, const FileFormat& format, Role role) {
  for (Index id = 0; id < ids.size(); ++id) {
    if (!is_whole_with_fraction(ids.name(id))) return;
  }
  if (ids.size() == 0) return;
  throw Error(
      ErrorKind::kBadData,
      fmt::format("{}: all ids of {} are whole numbers with a fraction, such as '{}': write "
                  "them as whole numbers; pandas does with astype(\"Int64\")",
                  format.file, format.column_name(role), ids.name(0)));
}

template <class Row>
Interactions read_rows(const Texts& texts, OpenFile first, ReadSummary& summary,
                       const RunControl& control) {
  const ReadOptions& options = texts.options();
  Staged<Row> all = staged_rows<Row>(first, options, summary, control, texts.tuning());
  for (std::size_t i = 1; i < texts.size(); ++i) {
    OpenFile next = texts.open(i);
    check_alike(first.format, next.format);
    ReadSummary met;
    append(all, staged_rows<Row>(next, options, met, control, texts.tuning()));
    append(summary, met);
  }
  describe(first, summary);
  if (texts.size() > 1) summary.format += fmt::format(", {} files", texts.size());
  weigh_rows<Row>(all, options, first.format.file, summary);
  Interactions data =
      assemble<Row>(std::move(all), summary.policy, first.format.file, summary, control);
  refuse_fractions(data.users, first.format, kUser);
  refuse_fractions(data.items, first.format, kItem);
  return data;
}

Interactions read_texts(const Texts& texts, ReadSummary* summary, const RunControl& control) {
  const ReadOptions& options = texts.options();
  if (options.whole_ids) {
    throw Error(ErrorKind::kInvalidArgument, "whole_ids is an option of rows in memory");
  }
  ReadSummary met;
  OpenFile first = texts.open(0);
  const FileFormat format = first.format;
  met.policy = policy(options, format);
  Interactions data = times_matter(options, met.policy, format)
                          ? read_rows<TimedRow>(texts, std::move(first), met, control)
                          : read_rows<PlainRow>(texts, std::move(first), met, control);
  if (!options.keep_times) data.times = {};
  data = filter(std::move(data), options, format.file, met);
  if (summary != nullptr) *summary = std::move(met);
  return data;
}

/// Whether the entry of a folder holds rows. Throws Error for what is no file.
bool holds_rows(const std::filesystem::directory_entry& entry, const std::string& folder) {
  const std::string name = entry.path().filename().string();
  if (!is_read_in_folder(name)) return false;
  std::error_code failed;
  if (entry.is_directory(failed)) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: holds the folder '{}': name the folders with the files",
                            printable(folder, 200), printable(name)));
  }
  const auto bytes = entry.file_size(failed);
  if (!failed) return bytes > 0;
  throw Error(ErrorKind::kIo,
              fmt::format("{}: holds '{}', which is no file that can be read ({}): take it out or "
                          "name the files",
                          printable(folder, 200), printable(name), failed.message()));
}

/// The files of a folder that hold rows, in the order of their names.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  std::filesystem::directory_iterator entries(folder, failed);
  for (; !failed && entries != std::filesystem::directory_iterator(); entries.increment(failed)) {
    if (holds_rows(*entries, folder)) files.push_back(entries->path().string());
  }
  if (failed) {
    throw Error(ErrorKind::kIo, fmt::format("{}: cannot read the folder: {}",
                                            printable(folder, 200), failed.message()));
  }
  std::ranges::sort(files);
  if (files.empty()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: the folder holds no file with rows", printable(folder, 200)));
  }
  return files;
}

bool is_folder(const std::string& path) {
  std::error_code unknown;
  return path != "-" && std::filesystem::is_directory(path, unknown);
}

/// Folders as their files.
std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (is_folder(path)) {
      std::ranges::move(files_in(path), std::back_inserter(files));
    } else {
      files.push_back(path);
    }
  }
  return files;
}

/// An error about a file that nobody named says why it is read.
template <class Read>
auto telling_of_folders(const std::vector<std::string>& paths, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    const auto holds_it = [&](const std::string& path) {
      const std::string inside = std::filesystem::path(path) / "";
      return is_folder(path) && std::string_view(error.what()).starts_with(inside);
    };
    const auto folder = std::ranges::find_if(paths, holds_it);
    if (folder == paths.end() || error.kind() == ErrorKind::kCancelled) throw;
    throw Error(
        error.kind(),
        fmt::format("{}; of the folder '{}' all files are read, but those whose names begin "
                    "with _ or .",
                    error.message(), printable(*folder, 200)));
  }
}

std::string name_of(const std::string& path) { return path == "-" ? "standard input" : path; }
std::string opened_as(const std::string& path) { return path == "-" ? "/dev/stdin" : path; }

/// Where one of the files holds the value of a user and an item, if they can be read again.
auto place_in(const std::vector<std::string>& files, const ReadOptions& options) {
  return [files, options](std::string_view user, std::string_view item) {
    for (const std::string& file : files) {
      std::string place = place_of_row(file, options, user, item);
      if (!place.empty()) return place;
    }
    return std::string();
  };
}

}  // namespace

Interactions read_source(ByteSourcePtr raw, const std::string& file, const ReadOptions& options,
                         ReadSummary* summary, const RunControl& control,
                         const ReadTuning& tuning) {
  const Texts texts(
      {file}, [&](std::size_t) { return open_text(std::move(raw), file, options, tuning); },
      options, tuning);
  return read_texts(texts, summary, control);
}

namespace {

/// What read_pairs() takes, checked.
ReadOptions options_of_pairs(const std::string& file, const ReadOptions& given) {
  if (given.duplicates != Duplicates::kAuto || given.min_value || given.min_user_count > 0 ||
      given.min_item_count > 0 || given.keep_times || needs_times(given) ||
      !given.word_values.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: pairs are taken one by one: duplicates, min_value, "
                            "min_user_count, min_item_count, keep_times, word_values, since, until "
                            "and half_life would do nothing",
                            file));
  }
  ReadOptions options = given;
  options.values = Values::kUnused;
  return options;
}

Pairs pairs_of(OpenFile text, const ReadOptions& options, ReadSummary* summary,
               const RunControl& control, const ReadTuning& tuning) {
  ReadSummary met;
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

}  // namespace

bool is_read_in_folder(std::string_view name) {
  return !name.starts_with('_') && !name.starts_with('.');
}

Pairs read_pairs_of(ByteSourcePtr raw, const std::string& file, const ReadOptions& given,
                    ReadSummary* summary, const RunControl& control, const ReadTuning& tuning) {
  const ReadOptions options = options_of_pairs(file, given);
  return pairs_of(open_text(std::move(raw), file, options, tuning), options, summary, control,
                  tuning);
}

Pairs read_pairs(const std::string& path, const ReadOptions& given, ReadSummary* summary,
                 const RunControl& control) {
  const std::string name = name_of(path);
  return naming_the_file(name, [&] {
    const ReadTuning tuning;
    const ReadOptions options = options_of_pairs(name, given);
    return pairs_of(open_any(opened_as(path), name, options, tuning), options, summary, control,
                    tuning);
  });
}

Interactions read_interactions(const std::string& path, const ReadOptions& options,
                               ReadSummary* summary, const RunControl& control) {
  return read_interactions(std::vector<std::string>{path}, options, summary, control);
}

Interactions read_interactions(const std::vector<std::string>& paths, const ReadOptions& options,
                               ReadSummary* summary, const RunControl& control) {
  if (paths.empty()) throw Error(ErrorKind::kInvalidArgument, "there are no files to read");
  return naming_the_file(name_of(paths.front()), [&] {
    const std::vector<std::string> files = files_of(paths);
    std::vector<std::string> names;
    std::ranges::transform(files, std::back_inserter(names), name_of);
    const ReadTuning tuning;
    const Texts texts(
        names,
        [&](std::size_t i) { return open_any(opened_as(files[i]), names[i], options, tuning); },
        options, tuning);
    Interactions data =
        telling_of_folders(paths, [&] { return read_texts(texts, summary, control); });
    std::error_code ignored;
    if (std::ranges::all_of(files, [&](const std::string& file) {
          return std::filesystem::is_regular_file(file, ignored);
        })) {
      data.place_in_file = place_in(files, options);
    }
    return data;
  });
}

}  // namespace likewise
