// SPDX-License-Identifier: Apache-2.0
/// The files of one run, checked together before any of them is read.
#pragma once

#include <string>
#include <vector>

namespace likewise::cli {

enum class PathUse {
  kInput,
  kEarlierModel,  ///< read whole before it may be replaced by the model that grows out of it
  kOutput,        ///< pages, tables of other kinds
  kRows,          ///< an output of a RowWriter
  kInteractions,  ///< an output of write_interactions()
  kModel,         ///< a model or checkpoint
  kInFolder,      ///< an output in an OutputFolder, which checks the place itself
};

struct NamedPath {
  std::string option;  ///< as people write it: "-o", "RATINGS"
  std::string path;    ///< empty: not given; "-": standard input or output
  PathUse use = PathUse::kInput;
};

/// Throws Error naming both options when an output is an input or another output, through whatever
/// links and spellings, when standard input is to be read twice, when an output cannot come to be
/// where it is to, or when a table's extension is not known.
void check_paths(const std::vector<NamedPath>& paths);

/// The same with several inputs that are one argument.
void check_paths(const std::string& argument, const std::vector<std::string>& inputs,
                 std::vector<NamedPath> others);

/// Whether the file begins as a model does. What is no regular file is not looked at: a pipe gives
/// every byte once, and the reader needs them all.
[[nodiscard]] bool looks_like_model(const std::string& path);

}  // namespace likewise::cli
