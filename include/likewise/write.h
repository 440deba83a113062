// SPDX-License-Identifier: Apache-2.0
/// Output that is whole or not there: files are written next to their name and renamed at the end.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/control.h"
#include "likewise/interactions.h"

namespace likewise {

/// What a table is written as, by the extension of its name.
enum class TableFormat { kCsv, kTsv, kJsonLines, kMatrixMarket };

/// Of rows that answer a query, and of interactions.
inline constexpr TableFormat kRowFormats[] = {TableFormat::kCsv, TableFormat::kTsv,
                                              TableFormat::kJsonLines};

inline constexpr TableFormat kInteractionFormats[] = {TableFormat::kCsv, TableFormat::kTsv,
                                                      TableFormat::kMatrixMarket};

/// The one of `possible` that a name asks for by its extension, before .gz or .zst; CSV where it
/// has no extension, as "-" and /dev/stdout. Throws Error(kInvalidArgument) for any other
/// extension, with those that are possible.
[[nodiscard]] TableFormat table_format(const std::string& path,
                                       std::span<const TableFormat> possible);

class HeldFile;

/// A byte sink: "-" is standard output; names ending in .gz or .zst are compressed. Until
/// `commit()` the final name is untouched; without it the destructor removes the partial file. A
/// file that is replaced keeps its permissions; a link keeps pointing at its file; devices, pipes
/// and descriptors (/dev/null, a shell's >(...), /dev/stdout) are written directly. Small writes
/// are gathered. One thread at a time.
///
/// Throws Error(kIo) naming the file and the system's reason, Error(kInvalidArgument) on a write
/// after commit. A front door that wants the size limit (SIGXFSZ) or a closed pipe (SIGPIPE) as an
/// error instead of its death ignores those signals.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  /// commit() replaces a held file (likewise/model.h), which outlives this object. It throws
  /// Error(kIo), with nothing replaced, where another one was put in its place.
  explicit OutputFile(HeldFile& file);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  void write(std::string_view bytes);
  /// Everything is on disk under the final name when this returns. A second call does nothing.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Files of one folder that come to be together, in place of those that are there under the same
/// names; what else is in the folder stays. They are written into a hidden folder first. A folder
/// that was not there appears whole. In one that was, `commit()` takes all old files away before
/// the first new one comes: at no moment an old one stands next to a new one. On an error the old
/// ones come back. Two at the same time come one after the other. One thread at a time.
///
/// Throws Error(kIo) naming the folder or file and the system's reason.
class OutputFolder {
 public:
  /// `names` of files in the folder, or, with a / in them, in folders of it. The first is the first
  /// to go and the last to come: while it is there, the others are. A folder that is missing is
  /// made, with those above it.
  OutputFolder(const std::string& path, std::vector<std::string> names);
  /// Without commit() nothing has changed.
  ~OutputFolder();
  OutputFolder(OutputFolder&&) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;

  /// Calls `writer` with the path to write the file of this name to. To be done for all of them.
  void write(const std::string& name, const std::function<void(const std::string&)>& writer);
  /// Refuses to go on where `name` is in the folder, now or at commit().
  void require_missing(const std::string& name);
  /// Everything is on disk under the final names when this returns.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Throws what `OutputFile(path)` would throw, and leaves nothing: for a moment before long work.
/// Deletes the partial files that killed processes left in the same folder.
void check_output(const std::string& path);

/// The same text for all paths that lead to one file, whatever links and spellings they take; a
/// file that is not there yet is known by the place where it would come to be. Empty where that
/// place cannot be, and for what can be read and written at once: terminals, /dev/null and other
/// character devices, sockets.
[[nodiscard]] std::string file_identity(const std::string& path);

/// Deletes the partial files of all uncommitted `OutputFile`s. For a front door's handler of SIGINT
/// or SIGTERM that cannot unwind: safe in a signal handler, and the process must end after it.
void remove_partial_files() noexcept;

/// A name without its .gz or .zst, e.g. to look at the extension that tells the format.
[[nodiscard]] std::string_view without_compression(std::string_view path);

/// Appends `text` as one field of a line of delimited text, in quotes (RFC 4180) where the readers
/// would take something else than `text` from it: it is empty, has a blank at an edge, or holds the
/// delimiter, a quote or a line end. Throws Error(kBadData) for zero bytes, and line feeds in .tsv.
void append_field(std::string& out, std::string_view text, char delimiter);

/// Writes interactions as text with a header (`user,item,value[,time]`), or as Matrix Market: as
/// table_format() says of kInteractionFormats. `.tsv` separates by tabs. Ids are quoted
/// where they have to be (append_field), values read back to the same float, and times to the same
/// moment, written in their `time_form`. Matrix Market knows positions only: ids and times are not
/// in it. Parallel formatting, bounded memory.
void write_interactions(const Interactions& data, const std::string& path,
                        const RunControl& control = {});

}  // namespace likewise
