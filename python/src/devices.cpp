// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <utility>

#include "binding.h"
#include "gil.h"
#include "likewise/device.h"

namespace likewise::python {
namespace {

[[nodiscard]] nb::dict jobs_of(const std::vector<JobStatus>& jobs) {
  nb::dict result;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const JobStatus& job = jobs[j];
    result[nb::str(kJobNames[j].data(), kJobNames[j].size())] =
        job.available ? nb::make_tuple(true, job.device) : nb::make_tuple(false, job.reason);
  }
  return result;
}

[[nodiscard]] nb::list devices() {
  std::vector<DeviceStatus> all;
  {
    const WithoutGil without;
    all = device_statuses();
  }
  nb::list result;
  for (const DeviceStatus& status : all) {
    nb::dict line;
    line["name"] = status.name;
    line["available"] = status.available;
    line["description"] = status.description;
    line["tuning"] = status.tuning;
    line["peers"] = status.peers;
    line["jobs"] = jobs_of(status.jobs);
    result.append(line);
  }
  return result;
}

}  // namespace

std::string device_name(nb::handle device) {
  if (nb::isinstance<nb::str>(device)) return nb::cast<std::string>(device);
  const bool list = nb::isinstance<nb::list>(device) || nb::isinstance<nb::tuple>(device);
  std::string name;
  for (const nb::handle number : list ? nb::list(device) : nb::list()) {
    if (nb::isinstance<nb::bool_>(number) || PyIndex_Check(number.ptr()) == 0) {
      throw nb::type_error("device: a list holds the numbers of GPUs, as [0, 1]");
    }
    const nb::object whole = nb::steal(PyNumber_Index(number.ptr()));
    if (!whole.is_valid()) throw nb::python_error();
    name += (name.empty() ? "cuda:" : ",") + nb::cast<std::string>(nb::str(whole));
  }
  if (list && name.empty()) throw nb::value_error("device: the list names no GPU");
  if (!list) {
    throw nb::type_error(
        "device must be the name of a device (a str), a list of numbers of GPUs or "
        "a Device");
  }
  return name;
}

Device device_for(nb::handle device) {
  if (nb::isinstance<Device>(device)) return nb::cast<Device>(device);
  const std::string name = device_name(device);
  const WithoutGil without;
  return open_device(name);
}

void bind_devices(nb::module_& module) {
  nb::class_<Device>(module, "Device", "What computes.")
      .def(
          "__init__",
          [](Device* self, const nb::object& device, Offset memory) {
            const std::string name = device_name(device);
            const WithoutGil without;
            new (self) Device(open_device(name, {memory}));
          },
          "name"_a = "auto", "memory"_a = 0)
      .def_prop_ro("name", [](const Device& self) { return std::string(self.name()); })
      .def_prop_ro("description", &Device::description)
      .def("__repr__",
           [](const Device& self) { return "<likewise.Device " + device_text(self) + ">"; });
  module.def("devices", &devices);
}

}  // namespace likewise::python
