// SPDX-License-Identifier: Apache-2.0
#include "server/served_model.h"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/model_checksum.h"
#include "server/clock.h"
#include "server/json_text.h"

namespace likewise::server {
namespace {

/// Whether `ask` has an answer. Only a refusal of the question itself says that it has none.
template <class Ask>
[[nodiscard]] bool answers(const Ask& ask) {
  try {
    ask();
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInvalidArgument || error.kind() == ErrorKind::kNumerical) {
      return false;
    }
    throw;
  }
}

/// A user with a history, for questions that need one.
[[nodiscard]] FoldInRow some_history(const Model& model) {
  for (Index user = 0; user < model.history.rows; ++user) {
    if (model.history.view().row_size(user) > 0) return history_of(model, user);
  }
  return {{0}, {1.0F}};
}

[[nodiscard]] Abilities abilities_of(const Queries& queries) {
  const Model& model = queries.model();
  Abilities can;
  if (model.users.size() == 0 || model.items.size() == 0) return can;
  const Recommender& recommender = queries.recommender();
  const Index first[] = {0};
  const std::vector<FoldInRow> visitor{some_history(model)};
  const RecommendOptions one{.n = 1};
  const auto similar = [&](Side side, std::span<const Index> rows) {
    return answers([&] { (void)recommender.similar(side, rows, 1, SimilarityMetric::kCosine); });
  };
  can.recommend = answers([&] { (void)recommender.recommend(first, one); });
  can.visitors = answers([&] { (void)recommender.recommend_new(visitor, one); });
  can.similar_items = similar(Side::kItems, first);
  can.similar_users = similar(Side::kUsers, {});  // their table, twice their factors, waits
  can.predict = answers([&] { (void)recommender.predict(first, first); });
  can.explain = answers([&] { (void)recommender.explain(visitor[0], 0); });
  return can;
}

[[nodiscard]] std::optional<RatingRange> ratings_of(const Model& model) {
  const auto values = model.history.values.span();
  if (model.feedback() != Feedback::kExplicit || values.empty()) return {};
  const auto [lowest, highest] = std::ranges::minmax_element(values);
  return RatingRange{*lowest, *highest};
}

/// Answers are JSON, which is UTF-8: an id in another encoding would come out as another id.
void require_utf8(const IdMap& ids, const char* kind, const std::string& path) {
  if (ids.is_integer()) return;
  const std::string_view all(ids.chars().data(), ids.chars().size());
  for (Index row = 0; row < ids.size(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const auto begin = static_cast<std::size_t>(ids.offsets()[at]);
    if (is_utf8(all.substr(begin, static_cast<std::size_t>(ids.offsets()[at + 1]) - begin))) {
      continue;
    }
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: the id of {} '{}' is not UTF-8, and answers are JSON, which is: "
                            "convert the data to UTF-8 and train again",
                            path, kind, printable(ids.name(row))));
  }
}

}  // namespace

std::vector<std::string> Abilities::names() const {
  std::vector<std::string> all;
  const auto add = [&](bool can, const char* name) {
    if (can) all.emplace_back(name);
  };
  add(recommend, "recommend");
  add(visitors, "visitors");
  add(similar_items, "similar_items");
  add(similar_users, "similar_users");
  add(predict, "predict");
  add(explain, "explain");
  return all;
}

ServedModel::ServedModel(std::shared_ptr<const Model> model, Device device, Titles titles,
                         ModelFile file)
    : queries_(std::move(model), std::move(device), std::move(titles)),
      titles_(queries_.titles(), queries_.model().items,
              users_of_items(queries_.model().history.view())),
      abilities_(abilities_of(queries_)),
      ratings_(ratings_of(queries_.model())),
      file_(std::move(file)),
      mark_(mark_of(queries_.model())),
      loaded_(utc_now()) {}

LoadedModel load_served(const ModelSource& source) {
  const auto before = stamp_of(source.path);
  auto model = std::make_shared<const Model>(load_model(source.path));
  require_utf8(model->users, "user", source.path);
  require_utf8(model->items, "item", source.path);
  Titles titles;
  if (!source.titles_path.empty()) {
    titles = read_titles(source.titles_path, model->items, source.titles_how);
  }
  const std::string checksum = model_checksum(source.path);
  auto served = std::make_shared<const ServedModel>(
      std::move(model), source.device, std::move(titles),
      ModelFile{source.path.substr(source.path.rfind('/') + 1), checksum.substr(0, 16)});
  const auto after = stamp_of(source.path);
  if (!before || !after || *before != *after) {
    throw Error(ErrorKind::kIo, source.path + ": the file changed while it was loaded");
  }
  return {std::move(served), *before};
}

}  // namespace likewise::server
