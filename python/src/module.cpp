// SPDX-License-Identifier: Apache-2.0
/// `likewise._core`: the library for the package's own modules, which check and convert what users
/// give, and are what users see.
#include "binding.h"
#include "gil.h"
#include "likewise/control.h"
#include "likewise/version.h"

NB_MODULE(_core, module) {
  using namespace likewise::python;
  // An interpreter that ends with a model alive is no fault to tell users of.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = likewise::kVersion;
  module.def("instruction_set", &likewise::instruction_set);
  module.def("thread_count", &likewise::thread_count);
  bind_errors(module);
  bind_exit();
  bind_paths(module);
  bind_devices(module);
  bind_columns(module);
  bind_arrow(module);
  bind_interactions(module);
  bind_model(module);
  bind_training(module);
  bind_tuning(module);
  bind_recommender(module);
  bind_evaluation(module);
  bind_cross_validation(module);
  bind_features(module);
  bind_ranks(module);
}
