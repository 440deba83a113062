// SPDX-License-Identifier: Apache-2.0
/// Files that hold their columns one by one, Parquet and Arrow, as rows of text: what the program
/// and the Arrow plug-in (liblikewise_arrow.so) agree on. Both are built from one source by one
/// compiler, so that C++ types and exceptions may cross.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "likewise/types.h"

namespace likewise {

/// Goes up with every change of this file.
inline constexpr std::int32_t kArrowInterface = 1;

/// Files of Arrow's IPC have a table of their batches at the end, streams do not.
enum class ColumnarKind { kParquet, kArrowFile, kArrowStream };

struct ColumnarColumn {
  std::string name;
  std::string type;  ///< as Arrow calls it
  bool is_text_or_number =
      false;               ///< cells of it can be written: also dates, words, true and false
  bool holds_ids = false;  ///< whole numbers or text, by themselves or in a dictionary
};

/// Which columns of which rows, and what becomes of text that no row of CSV can hold.
struct ColumnarChoice {
  std::vector<bool> columns;  ///< whether each is wanted
  /// Text with a zero byte is an error, or an empty cell.
  bool refuse_zero_bytes = true;
  std::size_t most_text = SIZE_MAX;  ///< longer text is an empty cell
};

/// Walks over the rows of a table from the first on.
class ColumnarRows {
 public:
  virtual ~ColumnarRows() = default;
  /// Appends up to `most` rows to `out`, as lines of CSV up to the last column that is wanted; what
  /// is missing or not wanted is an empty cell. Returns how many there were, 0 at the end. Throws
  /// kBadData for a damaged file.
  virtual Offset next(std::string& out, Offset most) = 0;
};

/// A file whose columns are known.
class ColumnarTable {
 public:
  virtual ~ColumnarTable() = default;
  [[nodiscard]] virtual const std::vector<ColumnarColumn>& columns() const = 0;
  /// How many rows the file says it has; nothing for a stream.
  [[nodiscard]] virtual std::optional<Offset> rows() const = 0;
  /// At least one column is wanted. The table lives longer than its rows.
  [[nodiscard]] virtual std::unique_ptr<ColumnarRows> read(const ColumnarChoice& choice) const = 0;
};

struct ArrowPlugin {
  // As PluginBuild. These lines stay as they are.
  std::int32_t interface_number;
  const char* version;
  const char* compiler;

  // For a program of the same three only.
  /// Opens a file, which is called `name` in errors: kBadData, kOutOfMemory.
  std::unique_ptr<ColumnarTable> (*open)(const std::string& path, ColumnarKind kind,
                                         const std::string& name);
};

}  // namespace likewise

/// The plug-in's only symbol. Lives as long as the process.
extern "C" const likewise::ArrowPlugin* likewise_arrow_plugin();
