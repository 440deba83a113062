// SPDX-License-Identifier: Apache-2.0
#include "binding.h"
#include "likewise/error.h"
#include "parameters.h"

namespace likewise::python {
namespace {

PyObject* numerical_error = nullptr;
PyObject* device_error = nullptr;

[[nodiscard]] PyObject* type_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
    case ErrorKind::kBadData:
      return PyExc_ValueError;
    case ErrorKind::kNotFound:
      return PyExc_FileNotFoundError;  // ids are looked up by the package, which says KeyError
    case ErrorKind::kIo:
      return PyExc_OSError;
    case ErrorKind::kOutOfMemory:
      return PyExc_MemoryError;
    case ErrorKind::kNumerical:
      return numerical_error;
    case ErrorKind::kDevice:
      return device_error;
    case ErrorKind::kCancelled:
      return PyExc_KeyboardInterrupt;
  }
  return PyExc_RuntimeError;
}

[[nodiscard]] PyObject* new_type(nb::module_& module, const char* name, const char* about,
                                 PyObject* base) {
  const std::string full = std::string("likewise.") + name;
  PyObject* type = PyErr_NewExceptionWithDoc(full.c_str(), about, base, nullptr);
  if (type == nullptr) throw nb::python_error();
  module.attr(name) = nb::handle(type);
  return type;
}

}  // namespace

void bind_errors(nb::module_& module) {
  numerical_error =
      new_type(module, "NumericalError", "A solver met a number that it cannot go on with.",
               PyExc_ArithmeticError);
  device_error = new_type(module, "DeviceError", "A device was asked for that cannot be used.",
                          PyExc_RuntimeError);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      PyErr_SetString(type_of(error.kind()), error.message(as_keyword).c_str());
    }
  });
}

}  // namespace likewise::python
