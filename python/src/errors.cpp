// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "binding.h"
#include "likewise/error.h"
#include "likewise/memory.h"
#include "likewise/suggestion.h"
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

/// File names may be of any bytes.
void set_error(PyObject* type, std::string_view message) {
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
      message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  if (text.is_valid()) PyErr_SetObject(type, text.ptr());
}

void set_out_of_memory() {
  set_error(PyExc_MemoryError,
            "not enough memory: " + size_text(static_cast<double>(available_memory())) +
                " are available; fewer rows, factors or threads need less");
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
  module.def("suggestion", &suggestion, "word"_a, "candidates"_a);
  module.def(
      "check_memory",
      [](const std::string& plan, double bytes) {
        constexpr double kOfNoAccount = 64 << 20;
        if (bytes > kOfNoAccount) check_memory_plan(plan, bytes);
      },
      "plan"_a, "bytes"_a);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_error(type_of(error.kind()), error.message(as_keyword));
    } catch (const std::bad_alloc&) {
      set_out_of_memory();
    } catch (const std::length_error&) {  // of a container
      set_out_of_memory();
    } catch (const nb::cast_error&) {
      set_error(PyExc_TypeError, "a name or a value is of another type than is needed");
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::resource_unavailable_try_again) throw;
      set_error(PyExc_RuntimeError, std::string("a thread cannot be started (") + error.what() +
                                        "); ask for fewer threads, or raise the limit of memory or "
                                        "processes");
    }
  });
}

}  // namespace likewise::python
