// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <string>

#include "binding.h"
#include "likewise/error.h"

namespace likewise::python {
namespace {

[[nodiscard]] std::string shown(nb::handle value) {
  return printable(nb::cast<std::string>(nb::repr(value)));
}

}  // namespace

std::string file_path(nb::handle path) {
  nb::object bytes = nb::steal(PyOS_FSPath(path.ptr()));
  if (!bytes.is_valid()) {
    PyErr_Clear();
    throw nb::type_error(("a path is a str, bytes or os.PathLike, not " + shown(path)).c_str());
  }
  if (PyUnicode_Check(bytes.ptr())) {
    bytes = nb::steal(PyUnicode_EncodeFSDefault(bytes.ptr()));
    if (!bytes.is_valid()) {
      PyErr_Clear();
      throw nb::value_error(
          ("the path " + shown(path) + " has characters that no file's name has").c_str());
    }
  }
  const std::string result(PyBytes_AsString(bytes.ptr()),
                           static_cast<std::size_t>(PyBytes_Size(bytes.ptr())));
  if (result.find('\0') != std::string::npos) {
    throw nb::value_error(
        ("the path " + shown(path) + " has a NUL character, which no file's name has").c_str());
  }
  return result;
}

std::string optional_path(nb::handle path) { return path.is_none() ? "" : file_path(path); }

void bind_paths(nb::module_& module) {
  module.def(
      "checked_path",
      [](nb::handle path) {
        const std::string checked = file_path(path);
        return nb::steal(PyUnicode_DecodeFSDefaultAndSize(checked.data(),
                                                          static_cast<Py_ssize_t>(checked.size())));
      },
      "path"_a, nb::sig("def checked_path(path: object) -> str"));
}

}  // namespace likewise::python
