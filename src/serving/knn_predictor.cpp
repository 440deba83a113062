// SPDX-License-Identifier: Apache-2.0
#include "serving/knn_predictor.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "algorithms/finite.h"
#include "backends/jobs/compare_rows.h"
#include "backends/jobs/device_jobs.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "retrieval/nearest_rows.h"

namespace likewise {
namespace {

/// Similarities of few users held at once.
constexpr Offset kBlockNumbers = Offset{1} << 24;
/// Ratings held at once.
constexpr Offset kBlockRatings = Offset{1} << 22;

/// The k nearest of a user with these items, whose number is `own` or -1.
[[nodiscard]] std::vector<Candidate> nearest(std::span<const float> similarities,
                                             std::span<const Index> items, Index own,
                                             const CsrView& history, std::size_t k) {
  std::vector<Candidate> near;
  for (std::size_t v = 0; v < similarities.size(); ++v) {
    const auto row = static_cast<Index>(v);
    if (similarities[v] != 0.0F && row != own) near.push_back({similarities[v], row});
  }
  keep_nearest(items, history, k, near);
  return near;
}

[[nodiscard]] KnnParams with_clip(KnnParams params, bool clip) {
  params.clip = clip;
  return params;
}

}  // namespace

KnnPredictor::Engine::Engine(const CsrView& history, const KnnParams& params, const Biases& biases)
    : problem(history, params, biases), ratings(history, params, biases), rows(ratings) {}

KnnPredictor::KnnPredictor(const Model& model, const Knn& learned, const Device& device, bool clip)
    : Predictor(model),
      learned_(learned),
      params_(with_clip(algorithm_of(model.params)->scores_of_lists(), clip)),
      device_(device),
      history_(model.history.view()) {}

const KnnPredictor::Engine& KnnPredictor::engine() const {
  return engine_.get([&] { return std::make_unique<Engine>(history_, params_, learned_.biases); });
}

const KnnSearch& KnnPredictor::search() const {
  return search_.get([&] { return job<KnnJob>(device_).make_search(engine().problem); });
}

KnnModel KnnPredictor::rated() const {
  return {engine().problem, engine().ratings, from_kept() ? &learned_.neighbours : nullptr,
          [this]() -> const KnnSearch& { return search(); }};
}

const Predictions& KnnPredictor::predictions() const {
  return predictions_.get([&] { return job<PredictionJob>(device_).by_knn(rated()); });
}

MemoryPlan KnnPredictor::prediction_memory() const {
  return predictions_.made() == nullptr ? MemoryPlan() : predictions_.made()->memory();
}

const SumPairs& KnnPredictor::sum_pairs() const {
  return sum_pairs_.get(
      [&] { return std::make_unique<SumPairs>(learned_.neighbours, history_, params_); });
}

Array<float> KnnPredictor::similarities(std::span<const Index> rows) const {
  return asked_similarities(rated(), rows);
}

Array<float> KnnPredictor::similarities(std::span<const AskedUser> users) const {
  if (!from_kept()) return compare(users);
  if (std::ranges::all_of(users, [](const AskedUser& user) { return user.number >= 0; })) {
    std::vector<Index> rows(users.size());
    std::ranges::transform(users, rows.begin(), &AskedUser::number);
    return kept_similarities(learned_.neighbours, rows);
  }
  Array<float> result = compare(users);
  parallel_for(std::ssize(users), 1, [&](Offset u) {
    const AskedUser& user = users[static_cast<std::size_t>(u)];
    const std::span<float> similar(result.data() + u * history_.rows,
                                   static_cast<std::size_t>(history_.rows));
    const std::vector<Candidate> near = nearest(similar, user.items, user.number, history_,
                                                static_cast<std::size_t>(params_.neighbours));
    std::ranges::fill(similar, 0.0F);
    for (const Candidate& one : near) similar[static_cast<std::size_t>(one.item)] = one.score;
  });
  return result;
}

Array<float> KnnPredictor::compare(std::span<const AskedUser> users) const {
  const SimilarityProblem& problem = engine().problem;
  const WeightedRows all = problem.rows();
  RowBuilder queries;
  for (const AskedUser& user : users) {
    std::vector<float> weights(user.values.size());
    const double bias = user.number >= 0 ? engine().ratings.level(user.number).bias
                                         : engine().ratings.level_of(user.items, user.values).bias;
    const RowStats stats = problem.weigh(bias, user.items, user.values, weights);
    queries.add(user.items, weights, stats);
  }
  auto result = Array<float>::uninitialized(static_cast<Offset>(users.size()) * all.weights.rows);
  search().similarities(queries.view(all.weights.cols), result.data());
  return result;
}

void KnnPredictor::score(std::span<const AskedUser> users, const RunControl& control,
                         const TakeScores& take) const {
  const TakeScores checked = [&](std::size_t u, Index first, std::span<const float> scores) {
    check_scores(model(), users[u].number, first, scores);
    take(u, first, scores);
  };
  if (sums()) return score_sums(users, control, checked);
  of_users() ? score_by_users(users, control, checked) : score_by_items(users, control, checked);
}

/// item-knn: sum over the user's items j of r_uj s(j, i); user-knn: sum over the user's neighbours
/// v of s(u, v) r_vi.
void KnnPredictor::add_sums(const AskedUser& user, std::vector<double>& scores) const {
  std::ranges::fill(scores, 0.0);
  const auto add = [&](std::span<const Index> items, const auto& value_of) {
    for (std::size_t e = 0; e < items.size(); ++e) {
      scores[static_cast<std::size_t>(items[e])] += value_of(e);
    }
  };
  const KnnLists& lists = sum_pairs().pairs();
  if (!of_users()) {
    for (std::size_t j = 0; j < user.items.size(); ++j) {
      const auto near = lists.similarities_of(user.items[j]);
      const double value = user.values[j];
      add(lists.rows_of(user.items[j]), [&](std::size_t e) { return value * double{near[e]}; });
    }
    for (std::size_t i = 0; i < scores.size(); ++i) {
      scores[i] = sum_pairs().scaled(static_cast<Index>(i), scores[i]);
    }
    return;
  }
  const auto add_neighbour = [&](Index v, double s) {
    const auto values = history_.row_values(v);
    add(history_.row_columns(v), [&](std::size_t e) { return s * double{values[e]}; });
  };
  if (user.number >= 0) {
    const auto near = lists.similarities_of(user.number);
    for (std::size_t e = 0; e < near.size(); ++e) {
      add_neighbour(lists.rows_of(user.number)[e], double{near[e]});
    }
    return;
  }
  for (const Candidate& one : sum_neighbours(user)) add_neighbour(one.item, double{one.score});
}

std::vector<Candidate> KnnPredictor::sum_neighbours(const AskedUser& user) const {
  const auto k = static_cast<std::size_t>(params_.neighbours);
  const Array<float> similar = compare(std::span(&user, 1));
  const std::span<const float> all(similar.data(), static_cast<std::size_t>(history_.rows));
  std::vector<Candidate> own = nearest(all, user.items, -1, history_, k);
  if (params_.sum_lists == SumLists::kOwn) return own;
  if (!engine().problem.formula().symmetric()) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format(
            "{} knows whose neighbour a user is of trained users only: the two directions "
            "of {} differ. Train with {} to answer new users",
            mention("sum_lists", kSumListsNames[static_cast<std::size_t>(params_.sum_lists)]),
            mention("similarity", kSimilarityNames[static_cast<std::size_t>(params_.similarity)]),
            mention("sum_lists", "own")));
  }
  // A row would have the user among its K if it were trained, as the last row.
  const KnnLists& lists = learned_.neighbours;
  const auto would_have = [&](Index v) {
    const auto near = lists.rows_of(v);
    if (near.size() < k) return true;
    const float worst = lists.similarities_of(v).back();
    const float s = all[static_cast<std::size_t>(v)];
    if (s != worst) return s > worst;
    const auto items = history_.row_columns(v);
    return common_entries(items, user.items) >
           common_entries(items, history_.row_columns(near.back()));
  };
  std::vector<char> taken(all.size());
  std::vector<Candidate> result;
  if (params_.sum_lists == SumLists::kBoth) {
    result = std::move(own);
    for (const Candidate& one : result) taken[static_cast<std::size_t>(one.item)] = 1;
  }
  for (Index v = 0; v < history_.rows; ++v) {
    const auto at = static_cast<std::size_t>(v);
    if (all[at] != 0.0F && taken[at] == 0 && would_have(v)) result.push_back({all[at], v});
  }
  std::ranges::sort(result, before);
  return result;
}

void KnnPredictor::score_sums(std::span<const AskedUser> users, const RunControl& control,
                              const TakeScores& take) const {
  const auto items = static_cast<std::size_t>(history_.cols);
  parallel_blocks(std::ssize(users), 16, [&](Offset begin, Offset end, Offset) {
    control.check();
    std::vector<double> scores(items);
    std::vector<float> rounded(items);
    for (auto u = static_cast<std::size_t>(begin); u < static_cast<std::size_t>(end); ++u) {
      add_sums(users[u], scores);
      std::ranges::transform(scores, rounded.begin(),
                             [](double s) { return static_cast<float>(s); });
      take(u, 0, rounded);
    }
  });
}

void KnnPredictor::score_by_users(std::span<const AskedUser> users, const RunControl& control,
                                  const TakeScores& take) const {
  const KnnRatings& ratings = engine().ratings;
  const std::size_t batch = rows_at_a_time(learned_.neighbours.size());
  std::vector<Index> items(static_cast<std::size_t>(history_.cols));
  std::iota(items.begin(), items.end(), 0);
  for (std::size_t at = 0; at < users.size(); at += batch) {
    const auto part = users.subspan(at, std::min(batch, users.size() - at));
    const Array<float> similar = similarities(part);
    parallel_for(std::ssize(part), 1, [&](Offset u) {
      control.check();
      const AskedUser& user = part[static_cast<std::size_t>(u)];
      const RowLevel level =
          user.number >= 0 ? ratings.level(user.number) : ratings.level_of(user.items, user.values);
      std::vector<float> scores(items.size());
      engine().rows.predict(level, user.number, similar.data() + u * history_.rows, items,
                            scores.data());
      take(at + static_cast<std::size_t>(u), 0, scores);
    });
    control.report("predict", static_cast<Offset>(at + part.size()), std::ssize(users), "users");
  }
}

KnnRatings::Raters KnnPredictor::raters_of(const AskedUser& user,
                                           std::vector<float>& deviations) const {
  const KnnRatings& ratings = engine().ratings;
  if (user.number >= 0) return ratings.raters(user.number);
  const double bias = ratings.column_bias_of(user.items, user.values);
  deviations = ratings.deviations_of(user.items, user.values, bias);
  return {user.items, deviations, bias};
}

std::vector<Index> KnnPredictor::few_items(std::span<const AskedUser> users) const {
  if (!engine().problem.formula().symmetric()) return {};
  std::vector<Index> items;
  for (const AskedUser& user : users) {
    items.insert(items.end(), user.items.begin(), user.items.end());
    std::ranges::sort(items);
    items.erase(std::unique(items.begin(), items.end()), items.end());
    const Offset numbers = std::ssize(items) * Offset{history_.cols};
    if (std::ssize(items) > history_.cols / 4 || numbers > kBlockNumbers) return {};
  }
  return items;
}

void KnnPredictor::score_by_own_items(std::span<const AskedUser> users,
                                      std::span<const Index> own_items, const RunControl& control,
                                      const TakeScores& take) const {
  const KnnRatings& ratings = engine().ratings;
  const auto place_of = [&](Index item) {
    const auto found = std::ranges::lower_bound(own_items, item);
    const bool there = found != own_items.end() && *found == item;
    return there ? static_cast<Index>(found - own_items.begin()) : -1;
  };
  const Array<float> similar = similarities(own_items);
  for (std::size_t u = 0; u < users.size(); ++u) {
    control.check();
    std::vector<float> deviations;
    KnnRatings::Raters raters = raters_of(users[u], deviations);
    std::vector<Index> places;  // items rise, so their places do, and ties go the same way
    for (const Index item : raters.rows) places.push_back(place_of(item));
    raters.rows = places;
    std::vector<float> scores(static_cast<std::size_t>(history_.cols));
    parallel_blocks(history_.cols, 256, [&](Offset begin, Offset end, Offset) {
      std::vector<float> to_own(own_items.size());
      for (Offset item = begin; item < end; ++item) {
        for (std::size_t p = 0; p < to_own.size(); ++p) {
          to_own[p] = similar[static_cast<Offset>(p) * history_.cols + item];
        }
        const auto index = static_cast<Index>(item);
        scores[static_cast<std::size_t>(item)] =
            ratings.predict(ratings.level(index), place_of(index), raters, to_own.data());
      }
    });
    take(u, 0, scores);
  }
}

void KnnPredictor::score_by_items(std::span<const AskedUser> users, const RunControl& control,
                                  const TakeScores& take) const {
  if (from_kept()) return score_by_kept_items(users, control, take);
  if (const std::vector<Index> items = few_items(users); !items.empty()) {
    return score_by_own_items(users, items, control, take);
  }
  if (std::ranges::all_of(users, [](const AskedUser& user) { return user.number >= 0; })) {
    return score_trained_by_items(users, control, take);
  }
  const KnnRatings& ratings = engine().ratings;
  std::vector<std::vector<float>> deviations(users.size());
  std::vector<KnnRatings::Raters> raters;
  for (std::size_t u = 0; u < users.size(); ++u) {
    raters.push_back(raters_of(users[u], deviations[u]));
  }
  std::vector<Index> block;
  for (Index first = 0; first < history_.cols; first += static_cast<Index>(block.size())) {
    block.resize(
        std::min(rows_at_a_time(history_.cols), static_cast<std::size_t>(history_.cols - first)));
    std::iota(block.begin(), block.end(), first);
    const Array<float> similar = similarities(block);
    parallel_for(std::ssize(users), 1, [&](Offset u) {
      control.check();
      const auto position = static_cast<std::size_t>(u);
      std::vector<float> scores(block.size());
      for (std::size_t i = 0; i < block.size(); ++i) {
        scores[i] = ratings.predict(ratings.level(block[i]), block[i], raters[position],
                                    similar.data() + static_cast<Offset>(i) * history_.cols);
      }
      take(position, first, scores);
    });
    control.report("predict", first + std::ssize(block), history_.cols, "items");
  }
}

void KnnPredictor::score_trained_by_items(std::span<const AskedUser> users,
                                          const RunControl& control, const TakeScores& take) const {
  std::vector<Index> numbers(users.size());
  std::ranges::transform(users, numbers.begin(), &AskedUser::number);
  const auto at_a_time = static_cast<std::size_t>(
      std::max<Offset>(1, kBlockRatings / std::max<Offset>(1, std::ssize(users))));
  std::vector<Index> block;
  std::vector<float> predicted;  // items of the block x users
  for (Index first = 0; first < history_.cols; first += static_cast<Index>(block.size())) {
    block.resize(std::min({rows_at_a_time(history_.cols), at_a_time,
                           static_cast<std::size_t>(history_.cols - first)}));
    std::iota(block.begin(), block.end(), first);
    predicted.resize(block.size() * users.size());
    const Array<float> similar = similarities(block);
    parallel_for(std::ssize(block), 1, [&](Offset i) {
      control.check();
      const Index item = block[static_cast<std::size_t>(i)];
      engine().rows.predict(engine().ratings.level(item), item, similar.data() + i * history_.cols,
                            numbers, predicted.data() + i * std::ssize(users));
    });
    parallel_for(std::ssize(users), 16, [&](Offset u) {
      std::vector<float> scores(block.size());
      for (std::size_t i = 0; i < block.size(); ++i) {
        scores[i] = predicted[i * users.size() + static_cast<std::size_t>(u)];
      }
      take(static_cast<std::size_t>(u), first, scores);
    });
    control.report("predict", first + std::ssize(block), history_.cols, "items");
  }
}

void KnnPredictor::score_by_kept_items(std::span<const AskedUser> users, const RunControl& control,
                                       const TakeScores& take) const {
  const KnnRatings& ratings = engine().ratings;
  const KnnLists& lists = learned_.neighbours;
  parallel_for(std::ssize(users), 1, [&](Offset u) {
    control.check();
    std::vector<float> deviations;
    const auto raters = raters_of(users[static_cast<std::size_t>(u)], deviations);
    std::vector<Index> entry_of(static_cast<std::size_t>(history_.cols), -1);
    for (std::size_t e = 0; e < raters.rows.size(); ++e) {
      entry_of[static_cast<std::size_t>(raters.rows[e])] = static_cast<Index>(e);
    }
    std::vector<float> scores(entry_of.size());
    for (Index item = 0; item < history_.cols; ++item) {
      const auto near = lists.rows_of(item);
      const auto similar = lists.similarities_of(item);
      RatingSums sums;
      for (std::size_t n = 0; n < near.size(); ++n) {
        const Index entry = entry_of[static_cast<std::size_t>(near[n])];
        if (entry >= 0) sums.add(similar[n], raters.deviations[static_cast<std::size_t>(entry)]);
      }
      scores[static_cast<std::size_t>(item)] = ratings.rating(ratings.level(item), raters, sums);
    }
    take(static_cast<std::size_t>(u), 0, scores);
  });
}

void KnnPredictor::score_all(std::span<const AskedUser> users, float* out) const {
  score(users, {}, [&](std::size_t u, Index first, std::span<const float> scores) {
    std::ranges::copy(scores, out + static_cast<Offset>(u) * history_.cols + first);
  });
}

TopKResult KnnPredictor::top_k(std::span<const AskedUser> users, Index n, const TopKFilter& filter,
                               const RunControl& control) const {
  return lists_of_scores(users.size(), history_.cols, n, filter,
                         [&](const TakeScores& take) { score(users, control, take); });
}

TopKResult KnnPredictor::similar_new(std::span<const AskedUser> users, Index n) const {
  if (!of_users()) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} compares items: it has no neighbours of users", model().algorithm()));
  }
  TopKResult result = make_top_k_result(static_cast<Index>(users.size()), n, history_.rows);
  const std::size_t batch = rows_at_a_time(learned_.neighbours.size());
  for (std::size_t at = 0; at < users.size(); at += batch) {
    const auto part = users.subspan(at, std::min(batch, users.size() - at));
    const Array<float> all = compare(part);
    parallel_for(std::ssize(part), 1, [&](Offset u) {
      const std::span<const float> similar(all.data() + u * history_.rows,
                                           static_cast<std::size_t>(history_.rows));
      write_answer(nearest(similar, part[static_cast<std::size_t>(u)].items, -1, history_,
                           static_cast<std::size_t>(result.k)),
                   static_cast<Index>(at) + static_cast<Index>(u), result);
    });
  }
  return result;
}

TopKResult KnnPredictor::similar(Side side, std::span<const Index> rows, Index n,
                                 SimilarityMetric /*metric*/, const RunControl& /*control*/) const {
  if (side != params_.side) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} compares {}, it knows nothing of similar {}", model().algorithm(),
                            side_name(params_.side), side_name(side)));
  }
  const KnnLists& lists = learned_.neighbours;
  TopKResult result = make_top_k_result(static_cast<Index>(rows.size()), n, lists.size());
  for (std::size_t q = 0; q < rows.size(); ++q) {
    const auto near = lists.rows_of(rows[q]);
    const auto count = std::min(near.size(), static_cast<std::size_t>(result.k));
    const Offset to = static_cast<Offset>(q) * result.k;
    std::copy_n(near.begin(), count, result.items.begin() + to);
    std::copy_n(lists.similarities_of(rows[q]).begin(), count, result.scores.begin() + to);
    result.counts[static_cast<Offset>(q)] = static_cast<Index>(count);
  }
  return result;
}

Explanation KnnPredictor::explain(const AskedUser& user, Index item) const {
  if (of_users()) {
    throw Error(ErrorKind::kInvalidArgument,
                "user-knn answers from what similar users gave, not from past items: als and "
                "item-knn say which of those speak for an answer");
  }
  Explanation result;
  const auto add = [&](std::size_t entry, double share) {
    result.contributions.push_back({user.items[entry], user.values[entry], share});
    result.score += share;
  };
  if (sums()) {
    const KnnLists& lists = sum_pairs().pairs();
    const double offset = sum_pairs().offset(item);
    result.score = result.baseline = offset;
    for (std::size_t e = 0; e < user.items.size(); ++e) {
      const auto near = lists.rows_of(user.items[e]);
      const auto found = std::ranges::find(near, item);
      if (found == near.end()) continue;
      const auto at = static_cast<std::size_t>(found - near.begin());
      const double similarity = lists.similarities_of(user.items[e])[at];
      add(e, sum_pairs().scaled(item, double{user.values[e]} * similarity) - offset);
    }
  } else {
    const KnnRatings& ratings = engine().ratings;
    std::vector<float> deviations;
    const auto raters = raters_of(user, deviations);
    const Array<float> similar = similarities(std::span(&item, 1));
    const auto parts = ratings.parts(ratings.level(item), item, raters, similar.data());
    result.score = result.baseline = parts.level;
    for (std::size_t e = 0; e < parts.shares.size(); ++e) {
      if (parts.shares[e] != 0.0) add(e, parts.shares[e]);
    }
  }
  std::ranges::stable_sort(result.contributions, std::ranges::greater{}, &Contribution::share);
  return result;
}

}  // namespace likewise
