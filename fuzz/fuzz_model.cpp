// SPDX-License-Identifier: Apache-2.0
/// Any bytes as a model file. The checksum is not verified: it would stop every changed byte before
/// the checks that must hold without it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "likewise/error.h"
#include "likewise/recommender.h"
#include "model/model_file.h"

namespace {

using likewise::Index;

/// Whatever its numbers are, a model that passed answers, or says why it cannot.
void ask(const std::shared_ptr<const likewise::Model>& model) {
  const likewise::Recommender recommender(model, likewise::open_device("cpu"));
  std::vector<Index> users;
  for (Index user = 0; user < std::min<Index>(3, model->users.size()); ++user) {
    users.push_back(user);
  }
  const auto try_to = [](const auto& body) {
    try {
      body();
    } catch (const likewise::Error&) {
    }
  };
  try_to([&] { (void)recommender.recommend(users, {.n = 2}); });
  try_to([&] {
    (void)recommender.similar(likewise::Side::kUsers, users, 2, likewise::SimilarityMetric::kDot);
    (void)recommender.similar(likewise::Side::kUsers, users, 2,
                              likewise::SimilarityMetric::kEuclidean);
  });
  if (model->items.size() == 0) return;
  const std::vector<Index> first(users.size(), 0);
  try_to([&] {
    (void)recommender.similar(likewise::Side::kItems, std::vector<Index>{0}, 2,
                              likewise::SimilarityMetric::kCosine);
  });
  try_to([&] { (void)recommender.predict(users, first); });
  try_to([&] {
    const std::vector<likewise::FoldInRow> stranger = {{{0}, {1.0F}}};
    (void)recommender.predict_new(stranger, std::vector<Index>{0});
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Aligned as a mapped file is, and not a byte longer than the input: reading past it is seen.
  void* copy = nullptr;
  if (posix_memalign(&copy, 64, size == 0 ? 1 : size) != 0) return 0;
  const std::shared_ptr<void> owner(copy, std::free);
  if (size > 0) std::memcpy(copy, data, size);
  try {
    const auto shared = std::make_shared<const likewise::Model>(likewise::model_from_bytes(
        owner, {static_cast<std::byte*>(copy), size}, likewise::VerifyChecksum::kNo));
    const likewise::Model& model = *shared;
    // A model that passes must be safe to walk through.
    double sum = 0.0;
    for (likewise::Index user = 0; user < model.history.rows; ++user) {
      for (const likewise::Index item : model.history.view().row_columns(user)) {
        sum += static_cast<double>(model.items.name(item).size());
        if (model.factors() != nullptr) sum += model.factors()->items.row(item)[0];
      }
    }
    for (likewise::Index item = 0; item < model.items.size(); ++item) {
      for (const char c : model.titles.of(item)) sum += c;
    }
    for (likewise::Index user = 0; user < model.users.size(); ++user) {
      if (model.users.find(model.users.name(user)) != user) std::abort();
    }
    [[maybe_unused]] volatile const double used = sum;
    ask(shared);
  } catch (const likewise::Error& fault) {
    if (fault.kind() != likewise::ErrorKind::kBadData) std::abort();
  }
  return 0;
}
