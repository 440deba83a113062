// SPDX-License-Identifier: Apache-2.0
/// Columns of whatever has the Arrow C stream interface. The three structs are those of the Arrow
/// C data and stream interfaces, whose layout is fixed.
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "columns.h"

namespace likewise::python {
namespace {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

/// A schema or array that is released once.
template <class T>
struct Released {
  T it{};
  Released() = default;
  ~Released() {
    if (it.release != nullptr) it.release(&it);
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
};

[[noreturn]] void refuse(const std::string& why) { throw nb::value_error(why.c_str()); }

/// Rows of one column in one batch.
struct Piece {
  const ArrowSchema* type = nullptr;
  const ArrowArray* array = nullptr;
  std::int64_t first = 0;  ///< of the buffers
  std::int64_t length = 0;
  /// A row of the batch itself may be missing, too; frames have none.
  [[nodiscard]] bool has_nulls() const {
    return array->null_count != 0 && array->n_buffers > 0 && array->buffers[0] != nullptr;
  }
  [[nodiscard]] bool is_null(std::int64_t row) const {
    if (!has_nulls()) return false;
    const auto bit = static_cast<std::size_t>(first + row);
    const auto* bits = static_cast<const std::uint8_t*>(array->buffers[0]);
    return ((bits[bit / 8] >> (bit % 8)) & 1) == 0;
  }
  template <class T>
  [[nodiscard]] const T* numbers() const {
    return static_cast<const T*>(array->buffers[1]) + first;
  }
};

/// Calls visit(pointer to numbers) for a column of whole numbers; false for another format.
template <class Visit>
bool visit_integers(const Piece& piece, char format, const Visit& visit) {
  switch (format) {
    case 'c':
      visit(piece.numbers<std::int8_t>());
      return true;
    case 'C':
      visit(piece.numbers<std::uint8_t>());
      return true;
    case 's':
      visit(piece.numbers<std::int16_t>());
      return true;
    case 'S':
      visit(piece.numbers<std::uint16_t>());
      return true;
    case 'i':
      visit(piece.numbers<std::int32_t>());
      return true;
    case 'I':
      visit(piece.numbers<std::uint32_t>());
      return true;
    case 'l':
      visit(piece.numbers<std::int64_t>());
      return true;
    case 'L':
      visit(piece.numbers<std::uint64_t>());
      return true;
    default:
      return false;
  }
}

[[nodiscard]] bool is_integer(std::string_view format) {
  return format.size() == 1 &&
         std::string_view("cCsSiIlL").find(format[0]) != std::string_view::npos;
}
[[nodiscard]] bool is_text(std::string_view format) {
  return format == "u" || format == "U" || format == "vu";
}

/// The texts of a piece, one after the other.
template <class Take>
void visit_texts(const Piece& piece, const Take& take) {
  const std::string_view format = piece.type->format;
  const auto by_offsets = [&](const auto* offsets) {
    const auto* chars = static_cast<const char*>(piece.array->buffers[2]);
    for (std::int64_t row = 0; row < piece.length; ++row) {
      take(row, piece.is_null(row)
                    ? std::string_view()
                    : std::string_view(chars + offsets[row],
                                       static_cast<std::size_t>(offsets[row + 1] - offsets[row])));
    }
  };
  if (format == "u") return by_offsets(piece.numbers<std::int32_t>());
  if (format == "U") return by_offsets(piece.numbers<std::int64_t>());
  // A view: 16 bytes, the length, and the text itself or (4 of its bytes, its buffer, its place).
  const auto* views = static_cast<const char*>(piece.array->buffers[1]) + piece.first * 16;
  for (std::int64_t row = 0; row < piece.length; ++row, views += 16) {
    std::int32_t parts[4];
    std::memcpy(parts, views, 16);
    const auto length = static_cast<std::size_t>(parts[0]);
    if (piece.is_null(row)) {
      take(row, std::string_view());
    } else if (length <= 12) {
      take(row, std::string_view(views + 4, length));
    } else {
      take(row,
           std::string_view(static_cast<const char*>(piece.array->buffers[2 + parts[2]]) + parts[3],
                            length));
    }
  }
}

/// All batches of a stream.
class ArrowTable {
 public:
  explicit ArrowTable(nb::handle capsule) {
    auto* stream =
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (stream == nullptr) throw nb::python_error();
    if (stream->release == nullptr) refuse("the Arrow stream was read before: give a new one");
    read(*stream);
    stream->release(stream);
    stream->release = nullptr;
  }

  /// (name, format) of each column; the format of a dictionary is that of its keys.
  [[nodiscard]] nb::list columns() const {
    nb::list result;
    for (std::int64_t c = 0; c < schema_.it.n_children; ++c) {
      const ArrowSchema& column = *schema_.it.children[c];
      const char* format = column.dictionary != nullptr ? column.dictionary->format : column.format;
      result.append(nb::make_tuple(column.name == nullptr ? "" : column.name, format));
    }
    return result;
  }

  /// Ids of a column, over the table's memory where they are in one batch and in a layout that the
  /// library reads.
  [[nodiscard]] std::unique_ptr<Ids> ids(nb::handle self, std::int64_t column,
                                         const std::string& side) const {
    auto result = std::make_unique<Ids>();
    result->owners.push_back(nb::borrow(self));
    const ArrowSchema& type = *schema_.it.children[column];
    const std::vector<Piece> pieces = this->pieces(column);
    if (type.dictionary != nullptr) {
      take_dictionary(pieces, side, *result);
    } else if (is_integer(type.format)) {
      take_integers(pieces, type.format[0], side, *result);
    } else if (is_text(type.format)) {
      take_texts(pieces, *result);
    } else {
      throw nb::type_error((side + ": ids are whole numbers or text, not of the Arrow format " +
                            std::string(type.format))
                               .c_str());
    }
    return result;
  }

  /// Values of a column; missing ones are NaN, which is a bad row.
  [[nodiscard]] nb::object values(nb::handle self, std::int64_t column) const {
    const std::string_view format = schema_.it.children[column]->format;
    const std::vector<Piece> pieces = this->pieces(column);
    const bool whole = pieces.size() == 1 && !pieces[0].has_nulls();
    const std::size_t rows = whole ? static_cast<std::size_t>(pieces[0].length) : 0;
    if (whole && format == "f") {
      return nb::cast(view_of(std::span(pieces[0].numbers<float>(), rows), self));
    }
    if (whole && format == "g") {
      return nb::cast(view_of(std::span(pieces[0].numbers<double>(), rows), self));
    }
    auto result = Array<double>::uninitialized(rows_);
    double* to = result.data();
    for (const Piece& piece : pieces) {
      const auto copy = [&](const auto* from) {
        for (std::int64_t row = 0; row < piece.length; ++row, ++to) {
          *to = piece.is_null(row) ? std::nan("") : static_cast<double>(from[row]);
        }
      };
      if (format == "f") {
        copy(piece.numbers<float>());
      } else if (format == "g") {
        copy(piece.numbers<double>());
      } else if (format.size() != 1 || !visit_integers(piece, format[0], copy)) {
        throw nb::type_error(
            ("values are numbers, not of the Arrow format " + std::string(format)).c_str());
      }
    }
    return nb::cast(give(std::move(result)));
  }

  /// (int64 array, unit or None) of a column of timestamps, dates or whole numbers.
  [[nodiscard]] nb::tuple times(std::int64_t column) const {
    const std::string_view format = schema_.it.children[column]->format;
    const bool days = format == "tdD";
    const bool stamp = format.starts_with("ts") && format.size() >= 4;
    nb::object unit = nb::none();
    if (stamp) {
      unit = nb::str(format[2] == 's'   ? "s"
                     : format[2] == 'm' ? "ms"
                     : format[2] == 'u' ? "us"
                                        : "ns");
    } else if (days) {
      unit = nb::str("s");
    }
    auto result = Array<std::int64_t>::uninitialized(rows_);
    std::int64_t* to = result.data();
    std::int64_t row_of_table = 0;
    for (const Piece& piece : pieces(column)) {
      const auto copy = [&](const auto* from) {
        for (std::int64_t row = 0; row < piece.length; ++row, ++row_of_table) {
          if (piece.is_null(row))
            refuse("times: row " + std::to_string(row_of_table) + " has none");
          *to++ = static_cast<std::int64_t>(from[row]) * (days ? 86'400 : 1);
        }
      };
      if (stamp) {
        copy(piece.numbers<std::int64_t>());
      } else if (days) {
        copy(piece.numbers<std::int32_t>());
      } else if (format.size() != 1 || !visit_integers(piece, format[0], copy)) {
        throw nb::type_error(("times are timestamps, dates or whole numbers, not of the Arrow "
                              "format " +
                              std::string(format))
                                 .c_str());
      }
    }
    return nb::make_tuple(give(std::move(result)), unit);
  }

 private:
  void read(ArrowArrayStream& stream) {
    const auto require = [&](int failed) {
      if (failed == 0) return;
      const char* reason = stream.get_last_error(&stream);
      refuse(std::string("the Arrow stream ends with an error: ") +
             (reason == nullptr ? std::strerror(failed) : reason));
    };
    require(stream.get_schema(&stream, &schema_.it));
    if (std::string_view(schema_.it.format) != "+s") {
      refuse("the Arrow stream is no table: its format is " + std::string(schema_.it.format));
    }
    while (true) {
      auto batch = std::make_unique<Released<ArrowArray>>();
      require(stream.get_next(&stream, &batch->it));
      if (batch->it.release == nullptr) return;
      rows_ += batch->it.length;
      batches_.push_back(std::move(batch));
    }
  }

  [[nodiscard]] std::vector<Piece> pieces(std::int64_t column) const {
    std::vector<Piece> result;
    for (const auto& batch : batches_) {
      if (batch->it.length == 0) continue;
      const ArrowArray* array = batch->it.children[column];
      result.push_back(
          {schema_.it.children[column], array, batch->it.offset + array->offset, batch->it.length});
    }
    return result;
  }

  void take_integers(const std::vector<Piece>& pieces, char format, const std::string& side,
                     Ids& to) const {
    if (pieces.size() == 1 && format == 'l' && !pieces[0].has_nulls()) {
      to.column =
          std::span(pieces[0].numbers<std::int64_t>(), static_cast<std::size_t>(pieces[0].length));
      return;
    }
    to.integers.reserve(static_cast<std::size_t>(rows_));
    for (const Piece& piece : pieces) {
      visit_integers(piece, format, [&](const auto* from) {
        for (std::int64_t row = 0; row < piece.length; ++row) {
          if (piece.is_null(row)) {
            refuse(side + ": row " + std::to_string(to.integers.size()) +
                   " has no id (null): drop such rows");
          }
          if (format == 'L' && static_cast<std::int64_t>(from[row]) < 0) {
            refuse(side + ": row " + std::to_string(to.integers.size()) +
                   " has an id beyond 64 bits with a sign: give the ids as text");
          }
          to.integers.push_back(static_cast<std::int64_t>(from[row]));
        }
      });
    }
    to.column = std::span<const std::int64_t>(to.integers);
  }

  void take_texts(const std::vector<Piece>& pieces, Ids& to) const {
    if (pieces.size() == 1 && !pieces[0].has_nulls() &&
        std::string_view(pieces[0].type->format) != "vu") {
      const Piece& piece = pieces[0];
      const auto rows = static_cast<std::size_t>(piece.length);
      const auto* chars = static_cast<const char*>(piece.array->buffers[2]);
      const auto as_column = [&](const auto* offsets) {
        to.column = TextColumn{std::span(offsets, rows + 1),
                               {chars, static_cast<std::size_t>(offsets[rows])}};
      };
      if (std::string_view(piece.type->format) == "u") {
        as_column(piece.numbers<std::int32_t>());
      } else {
        as_column(piece.numbers<std::int64_t>());
      }
      return;
    }
    to.texts.reserve(static_cast<std::size_t>(rows_));
    for (const Piece& piece : pieces) {
      visit_texts(piece, [&](std::int64_t, std::string_view text) { to.texts.push_back(text); });
    }
    to.column = std::span<const std::string_view>(to.texts);
  }

  /// Codes of the keys of all batches, one after the other; -1 for a missing id.
  void take_dictionary(const std::vector<Piece>& pieces, const std::string& side, Ids& to) const {
    to.codes.reserve(static_cast<std::size_t>(rows_));
    for (const Piece& piece : pieces) {
      const ArrowSchema& type = *piece.type->dictionary;
      const ArrowArray& keys = *piece.array->dictionary;
      const Piece key_piece{&type, &keys, keys.offset, keys.length};
      const auto first = static_cast<std::int64_t>(to.texts.size() + to.integers.size());
      if (is_text(type.format)) {
        visit_texts(key_piece,
                    [&](std::int64_t, std::string_view text) { to.texts.push_back(text); });
      } else if (is_integer(type.format)) {
        visit_integers(key_piece, type.format[0], [&](const auto* from) {
          to.integers.insert(to.integers.end(), from, from + keys.length);
        });
      } else {
        throw nb::type_error((side + ": ids are whole numbers or text, not of the Arrow format " +
                              std::string(type.format))
                                 .c_str());
      }
      if (first + keys.length > std::numeric_limits<std::int32_t>::max()) {
        refuse(side + ": the dictionaries have more than 2^31 keys");
      }
      visit_integers(piece, piece.type->format[0], [&](const auto* codes) {
        for (std::int64_t row = 0; row < piece.length; ++row) {
          const bool missing = piece.is_null(row);
          if (!missing &&
              static_cast<std::uint64_t>(codes[row]) >= static_cast<std::uint64_t>(keys.length)) {
            refuse(side + ": a code of the dictionary is outside of it");
          }
          to.codes.push_back(missing ? -1 : static_cast<std::int32_t>(first + codes[row]));
        }
      });
    }
    EncodedColumn column;
    column.codes = std::span<const std::int32_t>(to.codes);
    if (to.integers.empty()) {
      column.keys = std::span<const std::string_view>(to.texts);
    } else {
      column.keys = std::span<const std::int64_t>(to.integers);
    }
    to.column = column;
  }

  Released<ArrowSchema> schema_;
  std::vector<std::unique_ptr<Released<ArrowArray>>> batches_;
  std::int64_t rows_ = 0;
};

}  // namespace

void bind_arrow(nb::module_& module) {
  nb::class_<ArrowTable>(module, "ArrowTable", "What an Arrow stream held.")
      .def(nb::init<nb::handle>(), "capsule"_a)
      .def_prop_ro("columns", &ArrowTable::columns)
      .def(
          "ids",
          [](nb::handle self, std::int64_t column, const std::string& side) {
            return nb::cast<const ArrowTable&>(self).ids(self, column, side);
          },
          "column"_a, "side"_a)
      .def(
          "values",
          [](nb::handle self, std::int64_t column) {
            return nb::cast<const ArrowTable&>(self).values(self, column);
          },
          "column"_a)
      .def("times", &ArrowTable::times, "column"_a);
}

}  // namespace likewise::python
