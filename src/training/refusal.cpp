// SPDX-License-Identifier: Apache-2.0
#include "training/refusal.h"

#include <variant>

#include "algorithms/finite.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// By values it takes all: those of a user's likes and of the others do not matter.
void check_values(const CsrView&, const BprParams&) {}
void check_values(const CsrView&, const PopularParams&) {}

}  // namespace

std::string refusal_of(const CsrView& by_user, const TrainingParams& params) {
  try {
    std::visit([&](const auto& some) { check_values(by_user, some); }, params);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadData) throw;
    return error.what();
  }
  return {};
}

}  // namespace likewise
