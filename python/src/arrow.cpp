// SPDX-License-Identifier: Apache-2.0
/// Columns of whatever has the Arrow C stream interface. The three structs are those of the Arrow
/// C data and stream interfaces, whose layout is fixed.
#include <algorithm>
#include <charconv>
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
#include "likewise/error.h"

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
[[nodiscard]] bool is_number(std::string_view format) {
  return is_integer(format) || format == "e" || format == "f" || format == "g" || format == "b" ||
         format.starts_with("d:");
}

/// A format in words.
[[nodiscard]] std::string type_name(const ArrowSchema& type) {
  if (type.dictionary != nullptr) return "categories";
  const std::string_view format = type.format;
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"n", "null"},       {"b", "bool"},       {"e", "float16"},       {"f", "float32"},
      {"g", "float64"},    {"c", "int8"},       {"C", "uint8"},         {"s", "int16"},
      {"S", "uint16"},     {"i", "int32"},      {"I", "uint32"},        {"l", "int64"},
      {"L", "uint64"},     {"d:", "decimals"},  {"u", "text"},          {"U", "text"},
      {"vu", "text"},      {"z", "bytes"},      {"Z", "bytes"},         {"vz", "bytes"},
      {"w:", "bytes"},     {"td", "dates"},     {"tt", "times of day"}, {"ts", "datetimes"},
      {"tD", "durations"}, {"ti", "intervals"}, {"+w", "lists"},        {"+l", "lists"},
      {"+L", "lists"},     {"+v", "lists"},     {"+s", "structs"},      {"+m", "maps"}};
  for (const auto& [start, name] : kNames) {
    const bool whole = format == start;
    if (whole || (start.size() > 1 && format.starts_with(start))) return std::string(name);
  }
  return "the Arrow format " + printable(format);
}

/// IEEE 754 binary16.
[[nodiscard]] double half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  double size = 0.0;
  if (exponent == 31) {
    size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  } else if (exponent == 0) {
    size = std::ldexp(fraction, -24);
  } else {
    size = std::ldexp(1024.0 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

/// Decimals of 128 bits as doubles, rounded once.
class Decimals {
  __extension__ using Wide = unsigned __int128;

 public:
  /// Of a format "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS".
  explicit Decimals(std::string_view format) {
    const std::size_t comma = format.find(',');
    const std::size_t second = format.find(',', comma + 1);
    if (second != std::string_view::npos && format.substr(second + 1) != "128") {
      throw nb::type_error("values are numbers, not decimals of other than 128 bits: cast them");
    }
    scale_ = std::stoi(std::string(format.substr(comma + 1, second - comma - 1)));
  }
  [[nodiscard]] double at(const char* place) const {
    Wide size = 0;
    std::memcpy(&size, place, sizeof size);
    const bool negative = (size >> 127) != 0;
    if (negative) size = -size;
    char digits[64];
    char* at = digits + sizeof digits;
    for (; size > 0; size /= 10) *--at = static_cast<char>('0' + static_cast<int>(size % 10));
    const std::string text =
        std::string(at, digits + sizeof digits) + "e" + std::to_string(-scale_);
    double value = 0.0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return negative ? -value : value;
  }

 private:
  int scale_;
};

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

  /// (name, whether it holds numbers) of each column; a dictionary is as its keys are.
  [[nodiscard]] nb::list columns() const {
    nb::list result;
    for (std::int64_t c = 0; c < schema_.it.n_children; ++c) {
      const ArrowSchema& column = *schema_.it.children[c];
      const char* format = column.dictionary != nullptr ? column.dictionary->format : column.format;
      result.append(nb::make_tuple(column.name == nullptr ? "" : column.name, is_number(format)));
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
      refuse_ids(side, type);
    }
    return result;
  }

  /// Values of a column; missing ones are NaN, which is a bad row.
  [[nodiscard]] nb::object values(nb::handle self, std::int64_t column) const {
    const ArrowSchema& type = *schema_.it.children[column];
    const std::string_view format = type.format;
    if (type.dictionary != nullptr || !is_number(format)) {
      throw nb::type_error(("values are numbers, not " + type_name(type)).c_str());
    }
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
    for (const Piece& piece : pieces) to = copy_values(piece, format, to);
    return nb::cast(give(std::move(result)));
  }

  /// (int64 array, unit or None) of a column of timestamps, dates or whole numbers; what is
  /// missing, or beyond 64 bits with a sign, is the least number, which is a bad row.
  [[nodiscard]] nb::tuple times(std::int64_t column) const {
    const ArrowSchema& type = *schema_.it.children[column];
    const std::string_view format = type.format;
    const bool days = format == "tdD";
    const bool milliseconds = format == "tdm";
    const bool stamp = format.starts_with("ts") && format.size() >= 4;
    const bool numbers = is_integer(format) && type.dictionary == nullptr;
    if (!stamp && !days && !milliseconds && !numbers) {
      throw nb::type_error(("times are datetimes, dates or numbers since 1970, of 64 bits where "
                            "they have fractions, "
                            "not " +
                            type_name(type))
                               .c_str());
    }
    nb::object unit = nb::none();
    if (stamp) {
      unit = nb::str(format[2] == 's'   ? "s"
                     : format[2] == 'm' ? "ms"
                     : format[2] == 'u' ? "us"
                                        : "ns");
    } else if (days || milliseconds) {
      unit = nb::str(days ? "s" : "ms");
    }
    auto result = Array<std::int64_t>::uninitialized(rows_);
    std::int64_t* to = result.data();
    for (const Piece& piece : pieces(column)) {
      const auto copy = [&](const auto* from) {
        for (std::int64_t row = 0; row < piece.length; ++row) {
          const bool missing = piece.is_null(row) || !std::in_range<std::int64_t>(from[row]);
          *to++ = missing ? kNoTime : static_cast<std::int64_t>(from[row]) * (days ? 86'400 : 1);
        }
      };
      if (stamp || milliseconds) {
        copy(piece.numbers<std::int64_t>());
      } else if (days) {
        copy(piece.numbers<std::int32_t>());
      } else {
        (void)visit_integers(piece, format[0], copy);
      }
    }
    return nb::make_tuple(give(std::move(result)), unit);
  }

  [[nodiscard]] bool is_double_column(std::int64_t column) const {
    const ArrowSchema& type = *schema_.it.children[column];
    return type.dictionary == nullptr && std::string_view(type.format) == "g";
  }

  /// Whether a column, or its dictionary, is text.
  [[nodiscard]] bool is_text_column(std::int64_t column) const {
    const ArrowSchema& type = *schema_.it.children[column];
    return is_text(type.dictionary != nullptr ? type.dictionary->format : type.format);
  }

 private:
  static constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

  [[noreturn]] static void refuse_ids(const std::string& side, const ArrowSchema& type) {
    throw nb::type_error((side + ": ids are whole numbers or text, not " + type_name(type) +
                          ": make the column one of them, as cast(\"int64\") does")
                             .c_str());
  }

  /// Numbers of a piece as doubles, NaN where there is none; the end of what was written.
  static double* copy_values(const Piece& piece, std::string_view format, double* to) {
    const auto copy = [&](const auto& number) {
      for (std::int64_t row = 0; row < piece.length; ++row, ++to) {
        *to = piece.is_null(row) ? std::nan("") : static_cast<double>(number(row));
      }
    };
    const auto copy_plain = [&](const auto* from) {
      copy([from](std::int64_t row) { return from[row]; });
    };
    const auto* bytes = static_cast<const char*>(piece.array->buffers[1]);
    if (format == "f") {
      copy_plain(piece.numbers<float>());
    } else if (format == "g") {
      copy_plain(piece.numbers<double>());
    } else if (format == "e") {
      const auto* halves = piece.numbers<std::uint16_t>();
      copy([&](std::int64_t row) { return half(halves[row]); });
    } else if (format == "b") {
      copy([&](std::int64_t row) {
        const std::int64_t bit = piece.first + row;
        return (bytes[bit / 8] >> (bit % 8)) & 1;
      });
    } else if (format.starts_with("d:")) {
      const Decimals decimals(format);
      copy([&](std::int64_t row) { return decimals.at(bytes + (piece.first + row) * 16); });
    } else {
      (void)visit_integers(piece, format[0], copy_plain);
    }
    return to;
  }

  void read(ArrowArrayStream& stream) {
    const auto require = [&](int failed) {
      if (failed == 0) return;
      const char* reason = stream.get_last_error(&stream);
      refuse(std::string("the Arrow stream ends with an error: ") +
             (reason == nullptr ? std::strerror(failed) : reason));
    };
    require(stream.get_schema(&stream, &schema_.it));
    if (std::string_view(schema_.it.format) != "+s") {
      throw nb::type_error(
          ("a frame is needed, not one column of " + type_name(schema_.it)).c_str());
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
    const bool missing = std::ranges::any_of(pieces, &Piece::has_nulls);
    for (const Piece& piece : pieces) {
      visit_integers(piece, format, [&](const auto* from) {
        for (std::int64_t row = 0; row < piece.length; ++row) {
          if (missing) {
            to.codes.push_back(piece.is_null(row) ? -1
                                                  : static_cast<std::int32_t>(to.integers.size()));
            if (piece.is_null(row)) continue;
          }
          if (format == 'L' && static_cast<std::int64_t>(from[row]) < 0) {
            refuse(side + ": row " +
                   std::to_string(missing ? to.codes.size() - 1 : to.integers.size()) +
                   " has an id beyond 64 bits with a sign: give the ids as text");
          }
          to.integers.push_back(static_cast<std::int64_t>(from[row]));
        }
      });
    }
    if (!missing) {
      to.column = std::span<const std::int64_t>(to.integers);
      return;
    }
    if (rows_ > std::numeric_limits<std::int32_t>::max()) {
      refuse(side + ": more than 2^31 rows, some without an id: drop those");
    }
    to.column = EncodedColumn{std::span<const std::int32_t>(to.codes),
                              std::span<const std::int64_t>(to.integers)};
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
        refuse_ids(side, type);
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
      .def("is_double", &ArrowTable::is_double_column, "column"_a)
      .def("is_text", &ArrowTable::is_text_column, "column"_a)
      .def("times", &ArrowTable::times, "column"_a);
}

}  // namespace likewise::python
