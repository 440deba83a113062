// SPDX-License-Identifier: Apache-2.0
#include "columns.h"

#include <limits>
#include <memory>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <utility>

#include "likewise/error.h"

namespace likewise::python {
namespace {

template <class T>
[[nodiscard]] bool take(nb::handle array, In<T>& to) {
  return nb::try_cast<In<T>>(array, to, false);
}

[[nodiscard]] std::unique_ptr<Ids> ids_of_integers(const In<std::int64_t>& ids) {
  auto result = std::make_unique<Ids>();
  result->column = span_of(ids);
  result->owners.push_back(nb::cast(ids));
  return result;
}

[[nodiscard]] std::unique_ptr<Ids> ids_of_numbers(nb::object numbers, Index count) {
  auto result = std::make_unique<Ids>();
  result->column = IndexColumn{integer_span(numbers, "numbers"), count};
  result->owners.push_back(std::move(numbers));
  return result;
}

[[nodiscard]] std::unique_ptr<Ids> ids_of_text(nb::object offsets, const In<std::uint8_t>& bytes) {
  auto result = std::make_unique<Ids>();
  result->column = TextColumn{integer_span(offsets, "offsets"),
                              {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
  result->owners = {std::move(offsets), nb::cast(bytes)};
  return result;
}

/// A buffer of pointers to Python objects, as an array of dtype object exports it.
class ObjectBuffer {
 public:
  explicit ObjectBuffer(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &buffer_, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
      throw nb::python_error();
    }
    if (buffer_.ndim != 1 || std::string_view(buffer_.format) != "O") {
      PyBuffer_Release(&buffer_);
      throw nb::type_error("ids: an array of objects of one dimension is needed");
    }
  }
  ~ObjectBuffer() { PyBuffer_Release(&buffer_); }
  ObjectBuffer(const ObjectBuffer&) = delete;
  ObjectBuffer& operator=(const ObjectBuffer&) = delete;

  [[nodiscard]] Py_ssize_t size() const { return buffer_.shape[0]; }
  [[nodiscard]] PyObject* operator[](Py_ssize_t i) const {
    return *reinterpret_cast<PyObject**>(static_cast<char*>(buffer_.buf) + i * buffer_.strides[0]);
  }

 private:
  Py_buffer buffer_{};
};

[[nodiscard]] std::string type_name(PyObject* id) {
  return nb::cast<std::string>(
      nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(id))).attr("__name__"));
}

[[noreturn]] void refuse(const char* side, Py_ssize_t row, PyObject* id, const char* wanted) {
  const std::string text = printable(nb::cast<std::string>(nb::repr(nb::handle(id))));
  throw nb::type_error((std::string(side) + ": row " + std::to_string(row) + " has " + text +
                        " of type " + type_name(id) + "; " + wanted)
                           .c_str());
}

/// None, NaN, and what pandas has for them: NA and NaT.
[[nodiscard]] bool is_missing(PyObject* id) {
  if (id == nullptr || id == Py_None) return true;
  if (PyFloat_Check(id)) return PyFloat_AsDouble(id) != PyFloat_AsDouble(id);
  if (PyUnicode_Check(id) || PyLong_Check(id)) return false;
  const std::string type = type_name(id);
  return type == "NAType" || type == "NaTType";
}

/// A whole number of another library, such as numpy.int64, as Python's; itself where it is none.
[[nodiscard]] nb::object whole_number(PyObject* id) {
  if (PyUnicode_Check(id) || PyLong_Check(id) || PyIndex_Check(id) == 0) return nb::borrow(id);
  nb::object number = nb::steal(PyNumber_Index(id));
  if (number.is_valid()) return number;
  PyErr_Clear();
  return nb::borrow(id);
}

/// Codes of objects that came lately, by their address: columns often hold the same few objects
/// again and again. An object of the array stays at its address while the array is there.
class RecentObjects {
 public:
  static constexpr std::int32_t kUnknown = -2;

  RecentObjects() : slots_(std::size_t{1} << kBits) {}
  [[nodiscard]] std::int32_t find(const PyObject* id) const {
    const Slot& slot = slots_[place(id)];
    return slot.id == id ? slot.code : kUnknown;
  }
  void put(const PyObject* id, std::int32_t code) { slots_[place(id)] = {id, code}; }

 private:
  static constexpr int kBits = 14;
  struct Slot {
    const PyObject* id = nullptr;
    std::int32_t code = kUnknown;
  };

  /// Fibonacci hashing; objects lie 16 bytes apart or more.
  [[nodiscard]] static std::size_t place(const PyObject* id) {
    return (reinterpret_cast<std::uintptr_t>(id) >> 4) * 0x9E3779B97F4A7C15U >> (64 - kBits);
  }

  std::vector<Slot> slots_;
};

/// The first lines of an object's memory: what lies in a column was often made long ago.
void fetch_early(const PyObject* id) {
  __builtin_prefetch(id);
  __builtin_prefetch(reinterpret_cast<const char*>(id) + 64);
}

/// All text, or all whole numbers; a missing id has the code -1, which is a bad row.
[[nodiscard]] std::unique_ptr<Ids> ids_of_objects(nb::object array, const std::string& side) {
  constexpr Py_ssize_t kAhead = 32;
  auto result = std::make_unique<Ids>();
  const ObjectBuffer objects(array);
  const Py_ssize_t size = objects.size();
  result->codes.reserve(static_cast<std::size_t>(size));
  RecentObjects recent;
  PyTypeObject* kind = nullptr;  // of all ids
  const auto require_kind = [&](PyTypeObject* wanted, Py_ssize_t row) {
    if (kind == nullptr) kind = wanted;
    if (kind == wanted) return;
    refuse(side.c_str(), row, objects[row],
           kind == &PyUnicode_Type ? "the ids before it are text"
                                   : "the ids before it are whole numbers");
  };
  const auto code_of = [&](PyObject* given, Py_ssize_t row) -> std::int32_t {
    if (is_missing(given)) return -1;
    const nb::object kept = whole_number(given);
    PyObject* const id = kept.ptr();
    if (PyUnicode_Check(id)) {
      require_kind(&PyUnicode_Type, row);
      nb::object bytes;
      return result->encoder.code(text_of(id, bytes));
    }
    if (!PyLong_Check(id) || PyBool_Check(id)) {
      refuse(side.c_str(), row, id, "ids are text (str) or whole numbers (int), all of one kind");
    }
    require_kind(&PyLong_Type, row);
    int overflow = 0;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(id, &overflow);
    if (overflow != 0) {
      refuse(side.c_str(), row, id, "ids are whole numbers of 64 bits, or text");
    }
    return result->encoder.code(number);
  };
  for (Py_ssize_t row = 0; row < size; ++row) {
    if (row + kAhead < size) fetch_early(objects[row + kAhead]);
    PyObject* id = objects[row];
    std::int32_t code = recent.find(id);
    if (code == RecentObjects::kUnknown) {
      code = code_of(id, row);
      recent.put(id, code);
    }
    result->codes.push_back(code);
  }
  result->column = result->encoder.column(result->codes);
  result->owners.push_back(std::move(array));
  return result;
}

/// Codes of the ids of another column.
[[nodiscard]] std::unique_ptr<Ids> ids_of_codes(const In<std::int32_t>& codes, nb::object keys) {
  const Ids& known = nb::cast<const Ids&>(keys);
  auto result = std::make_unique<Ids>();
  EncodedColumn column;
  if (const auto* integers = std::get_if<std::span<const std::int64_t>>(&known.column)) {
    column.keys = *integers;
  } else if (static_cast<std::size_t>(known.encoder.size()) == known.codes.size()) {
    // Keys that are objects: each came once, so their codes are their places.
    column = known.encoder.column({});
  } else {
    throw nb::value_error("categories: they have to be text, or whole numbers, each once");
  }
  column.codes = span_of(codes);
  result->column = column;
  result->owners = {nb::cast(codes), std::move(keys)};
  return result;
}

}  // namespace

std::string_view text_of(nb::handle text, nb::object& bytes) {
  Py_ssize_t length = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
  if (utf8 != nullptr) return {utf8, static_cast<std::size_t>(length)};
  PyErr_Clear();
  bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) {
    PyErr_Clear();
    const std::string shown = printable(nb::cast<std::string>(nb::repr(text)));
    throw nb::value_error((shown + " has characters that no text has (lone surrogates)").c_str());
  }
  return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

IntegerSpan integer_span(nb::handle array, const char* what) {
  In<std::int64_t> wide;
  if (take(array, wide)) return span_of(wide);
  In<std::int32_t> narrow;
  if (take(array, narrow)) return span_of(narrow);
  throw nb::type_error(
      (std::string(what) + ": an int32 or int64 array without gaps is needed").c_str());
}

ValueSpan value_span(nb::handle array) {
  if (array.is_none()) return {};
  In<float> single;
  if (take(array, single)) return span_of(single);
  In<double> wide;
  if (take(array, wide)) return span_of(wide);
  throw nb::type_error("values: a float32 or float64 array without gaps is needed");
}

void bind_columns(nb::module_& module) {
  nb::class_<Ids>(module, "IdColumn", "A column of ids.")
      .def(
          "text",
          [](const Ids& self, Offset row) {
            const std::string_view text = text_at(self.column, row);
            return nb::steal<nb::str>(PyUnicode_DecodeUTF8(
                text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
          },
          "row"_a);
  module.def("ids_of_integers", &ids_of_integers, "ids"_a.noconvert());
  module.def("ids_of_numbers", &ids_of_numbers, "numbers"_a, "count"_a);
  module.def("ids_of_text", &ids_of_text, "offsets"_a, "bytes"_a.noconvert());
  module.def("ids_of_codes", &ids_of_codes, "codes"_a.noconvert(), "keys"_a);
  module.def("ids_of_objects", &ids_of_objects, "array"_a, "side"_a);
}

}  // namespace likewise::python
