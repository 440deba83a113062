// SPDX-License-Identifier: Apache-2.0
#include "columns.h"

#include <memory>

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

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
    return *reinterpret_cast<PyObject**>(static_cast<char*>(buffer_.buf) +
                                         i * buffer_.strides[0]);
  }

 private:
  Py_buffer buffer_{};
};

[[noreturn]] void refuse(const char* side, Py_ssize_t row, PyObject* id, const char* wanted) {
  const std::string text = printable(nb::cast<std::string>(nb::repr(nb::handle(id))));
  const std::string type = nb::cast<std::string>(nb::handle(Py_TYPE(id)).attr("__name__"));
  PyErr_SetString(PyExc_TypeError, (std::string(side) + ": row " + std::to_string(row) + " has " +
                                    text + " of type " + type + "; " + wanted)
                                       .c_str());
  throw nb::python_error();
}

[[nodiscard]] bool is_missing(PyObject* id) {
  return id == nullptr || id == Py_None ||
         (PyFloat_Check(id) && PyFloat_AS_DOUBLE(id) != PyFloat_AS_DOUBLE(id));
}

/// All text, or all whole numbers; a missing id is an empty text, which is a bad row.
[[nodiscard]] std::unique_ptr<Ids> ids_of_objects(nb::object array, const std::string& side) {
  auto result = std::make_unique<Ids>();
  const ObjectBuffer objects(array);
  const Py_ssize_t size = objects.size();
  Py_ssize_t first = 0;
  while (first < size && is_missing(objects[first])) ++first;
  const bool integers = first < size && PyLong_Check(objects[first]) && !PyBool_Check(objects[first]);
  if (integers) {
    result->integers.reserve(static_cast<std::size_t>(size));
  } else {
    result->texts.reserve(static_cast<std::size_t>(size));
  }
  for (Py_ssize_t row = 0; row < size; ++row) {
    PyObject* id = objects[row];
    if (integers) {
      if (!PyLong_Check(id)) refuse(side.c_str(), row, id, "the ids before it are whole numbers");
      int overflow = 0;
      const long long number = PyLong_AsLongLongAndOverflow(id, &overflow);
      if (overflow != 0) refuse(side.c_str(), row, id, "ids are whole numbers of 64 bits, or text");
      result->integers.push_back(number);
    } else if (is_missing(id)) {
      result->texts.emplace_back();
    } else {
      if (!PyUnicode_Check(id)) {
        refuse(side.c_str(), row, id, "ids are text (str) or whole numbers (int), all of one kind");
      }
      Py_ssize_t length = 0;
      const char* text = PyUnicode_AsUTF8AndSize(id, &length);
      if (text == nullptr) throw nb::python_error();
      result->texts.emplace_back(text, static_cast<std::size_t>(length));
    }
  }
  if (integers) {
    result->column = std::span<const std::int64_t>(result->integers);
  } else {
    result->column = std::span<const std::string_view>(result->texts);
  }
  result->owners.push_back(std::move(array));
  return result;
}

}  // namespace

IntegerSpan integer_span(nb::handle array, const char* what) {
  In<std::int64_t> wide;
  if (take(array, wide)) return span_of(wide);
  In<std::int32_t> narrow;
  if (take(array, narrow)) return span_of(narrow);
  throw nb::type_error((std::string(what) + ": an int32 or int64 array without gaps is needed").c_str());
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
  nb::class_<Ids>(module, "IdColumn", "A column of ids.");
  module.def("ids_of_integers", &ids_of_integers, "ids"_a.noconvert());
  module.def("ids_of_numbers", &ids_of_numbers, "numbers"_a, "count"_a);
  module.def("ids_of_text", &ids_of_text, "offsets"_a, "bytes"_a.noconvert());
  module.def("ids_of_objects", &ids_of_objects, "array"_a, "side"_a);
}

}  // namespace likewise::python
