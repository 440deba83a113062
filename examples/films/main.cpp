// SPDX-License-Identifier: Apache-2.0
/// Trains on a file of interactions and prints what it recommends to one user:
///   films ratings.csv 42
#include <cstdio>
#include <exception>
#include <likewise/likewise.h>
#include <memory>
#include <span>
#include <string>

namespace {

void recommend(const std::string& path, const std::string& id) {
  const likewise::Interactions data = likewise::read_interactions(path);
  const likewise::TrainingPlan plan = likewise::prepare({.parameters = {{"factors", "32"}}}, data);
  const auto model = std::make_shared<const likewise::Model>(likewise::train(plan, data));

  const auto user = model->users.find(id);
  if (!user) {
    throw likewise::Error(likewise::ErrorKind::kNotFound, "there is no user " + id + " in " + path);
  }
  const likewise::Recommender recommender(model, plan.device.device);
  const likewise::TopKResult best = recommender.recommend(std::span(&*user, 1), {.n = 5});
  for (likewise::Index rank = 0; rank < best.counts[0]; ++rank) {
    const std::string item = model->items.name(best.items[rank]);
    std::printf("%s %g\n", item.c_str(), static_cast<double>(best.scores[rank]));
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: films RATINGS USER\n", stderr);
    return 2;
  }
  try {
    recommend(words[1], words[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "films: %s\n", error.what());
    return 1;
  }
}
