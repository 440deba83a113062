// SPDX-License-Identifier: Apache-2.0
/// Output that is whole or not there: files are written beside their name and renamed at the end.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "likewise/control.h"
#include "likewise/interactions.h"

namespace likewise {

/// A byte sink: "-" is standard output; names ending in .gz or .zst are compressed. Until `commit()`
/// the final name is untouched; without it the destructor removes the partial file. Partial files
/// are also removed when the process is interrupted by SIGINT or SIGTERM handled by a front door
/// that unwinds. Throws Error(kIo) naming the file and the system's reason.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes interactions as text with a header (`user,item,value[,time]`), or as Matrix Market when
/// the name (before .gz or .zst) ends in .mtx. `.tsv` separates by tabs. Parallel formatting,
/// bounded memory.
void write_interactions(const Interactions& data, const std::string& path,
                        const RunControl& control = {});

}  // namespace likewise
