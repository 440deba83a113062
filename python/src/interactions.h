// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "binding.h"
#include "likewise/interactions.h"
#include "likewise/read.h"

namespace likewise::python {

/// Of SplitMethod, in its order.
inline constexpr std::string_view kSplitNames[] = {"random", "last", "time", "kfold", "per-user"};

/// `Interactions` for Python, with what reading met.
struct Data {
  std::shared_ptr<const Interactions> interactions;
  ReadSummary summary;

  Data(Interactions given, ReadSummary met)
      : interactions(std::make_shared<const Interactions>(std::move(given))),
        summary(std::move(met)) {}
};

/// Ids of an owner that keeps the map alive, for Python.
struct IdNames {
  std::shared_ptr<const void> owner;
  const IdMap* map = nullptr;
};

[[nodiscard]] nb::tuple csr_of(const CsrView& matrix, nb::handle owner);

}  // namespace likewise::python
