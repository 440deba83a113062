// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include "likewise/version.h"

NB_MODULE(_core, module) {
  module.attr("__version__") = likewise::kVersion;
}
