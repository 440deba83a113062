// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <shared_mutex>

#include "binding.h"
#include "likewise/model.h"

namespace likewise::python {

/// `Model` for Python. Features are added before anybody else has it. After that only its titles
/// ever change, with the GIL and `titles` held; whoever reads them without the GIL shares `titles`.
struct Trained {
  std::shared_ptr<Model> model;
  std::shared_ptr<std::shared_mutex> titles = std::make_shared<std::shared_mutex>();

  explicit Trained(Model given) : model(std::make_shared<Model>(std::move(given))) {}
};

}  // namespace likewise::python
