// SPDX-License-Identifier: Apache-2.0
#include "likewise/read.h"

#include <utility>

#include <fmt/format.h>

#include "data/bytes/decompress.h"
#include "data/bytes/read_source.h"
#include "data/read/assemble.h"
#include "data/read/filter.h"
#include "data/read/format.h"
#include "data/read/sizes_line.h"
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

template <class Row>
Interactions read_rows(ByteSource& source, const FileFormat& format, const ReadOptions& options,
                       ReadSummary& summary, const RunControl& control, const ReadTuning& tuning) {
  Staged<Row> staged = stage_rows<Row>(source, format, options, tuning, summary, control);
  check_rows(format, summary);
  return assemble<Row>(std::move(staged), summary.policy, format.file, summary, control);
}

/// "csv, gzip, header userId,..."
void describe(const FileFormat& format, const std::string& compression, ReadSummary& summary) {
  summary.format = format.description;
  if (!compression.empty()) {
    summary.format.insert(std::min(summary.format.find(','), summary.format.size()),
                          ", " + compression);
  }
  for (const Role role : {kUser, kItem, kValue, kTime}) {
    summary.columns.push_back(format.has(role) ? format.column_name(role) : "");
  }
}

}  // namespace

Interactions read_source(ByteSourcePtr raw, const std::string& file, const ReadOptions& options,
                         ReadSummary* summary, const RunControl& control,
                         const ReadTuning& tuning) {
  check_filters(options);
  ReadSummary met;
  Decompressed text = decompress(std::move(raw), file);
  bool whole = false;
  std::string head = read_head(*text.source, tuning, whole);
  const FileFormat format = detect_format({head, whole}, file, options);
  describe(format, text.compression, met);
  met.policy = policy(options.duplicates, format);
  const ByteSourcePtr source = put_back(std::move(head), std::move(text.source));
  Interactions data = options.keep_times && format.has(kTime)
                          ? read_rows<TimedRow>(*source, format, options, met, control, tuning)
                          : read_rows<PlainRow>(*source, format, options, met, control, tuning);
  refuse_sizes_line(format, data, met.rows);
  data = filter(std::move(data), options, file, met);
  if (summary != nullptr) *summary = std::move(met);
  return data;
}

Interactions read_interactions(const std::string& path, const ReadOptions& options,
                               ReadSummary* summary, const RunControl& control) {
  const std::string name = path == "-" ? "standard input" : path;
  return naming_the_file(name, [&] {
    ByteSourcePtr source = open_file(path == "-" ? "/dev/stdin" : path);
    return read_source(std::move(source), name, options, summary, control);
  });
}

}  // namespace likewise
