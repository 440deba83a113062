// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "binding.h"
#include "likewise/model.h"

namespace likewise::python {

/// `Model` for Python. Only its titles ever change, with the GIL, and nothing that runs without the
/// GIL reads them.
struct Trained {
  std::shared_ptr<Model> model;

  explicit Trained(Model given) : model(std::make_shared<Model>(std::move(given))) {}
};

}  // namespace likewise::python
