// SPDX-License-Identifier: Apache-2.0
/// Output that is whole or not there: files are written beside their name and renamed at the end.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "likewise/control.h"
#include "likewise/interactions.h"

namespace likewise {

/// A byte sink: "-" is standard output; names ending in .gz or .zst are compressed. Until
/// `commit()` the final name is untouched; without it the destructor removes the partial file. A
/// file that is replaced keeps its permissions; a link keeps pointing at its file; devices and
/// pipes (/dev/null, a shell's >(...)) are written directly. Small writes are gathered. One thread
/// at a time.
///
/// Throws Error(kIo) naming the file and the system's reason, Error(kInvalidArgument) on a write
/// after commit. A front door that wants the size limit (SIGXFSZ) or a closed pipe (SIGPIPE) as an
/// error instead of its death ignores those signals.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
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

/// Deletes the partial files of all uncommitted `OutputFile`s. For a front door's handler of SIGINT
/// or SIGTERM that cannot unwind: safe in a signal handler, and the process must end after it.
void remove_partial_files() noexcept;

/// A name without its .gz or .zst, e.g. to look at the extension that tells the format.
[[nodiscard]] std::string_view without_compression(std::string_view path);

/// Appends `text` as one field of a line of delimited text, in quotes (RFC 4180) where the readers
/// would take something else than `text` from it: it is empty, has a blank at an edge, or holds the
/// delimiter, a quote or a line end. (Text with a line feed in it is refused by them, not changed.)
void append_field(std::string& out, std::string_view text, char delimiter);

/// Writes interactions as text with a header (`user,item,value[,time]`), or as Matrix Market when
/// the name (before .gz or .zst) ends in .mtx. `.tsv` separates by tabs. Ids are quoted
/// where they have to be (append_field), values read back to the same float, and times to the same
/// moment, written in their `time_form`. Matrix Market knows positions only: ids and times are not
/// in it. Parallel formatting, bounded memory.
void write_interactions(const Interactions& data, const std::string& path,
                        const RunControl& control = {});

}  // namespace likewise
