// SPDX-License-Identifier: Apache-2.0
/// Models of BPR that grow by steps over the new likes. Negatives are drawn from all items of the
/// merged history but those that the user likes there; steps leave untouched items as they are.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/bpr/bpr.h"
#include "algorithms/bpr/likes.h"
#include "algorithms/rows_with_entries.h"
#include "algorithms/sgd/setup.h"
#include "backends/jobs/device_jobs.h"
#include "training/growth.h"

namespace likewise {
namespace {

/// New likes are taken without the old ones to hold against them: steps are shorter than those of
/// training. Chosen, as the usual number of epochs, on parts of ml-1m (growing.md).
constexpr double kShareOfRate = 0.25;

/// Epochs that earlier training and updates have numbered: what is drawn depends on the number.
[[nodiscard]] int epochs_before(const Model& model) {
  constexpr Offset kEnough = Offset{1} << 30;
  Offset epochs = model.iterations.empty() ? 0 : model.iterations.back().iteration;
  for (const ModelUpdate& update : model.provenance.updates) epochs += update.iterations;
  return static_cast<int>(epochs % kEnough);
}

}  // namespace

Refined update_bpr(const BprParams& trained, const UpdateTask& task) {
  BprParams params = trained;
  params.learning_rate = task.options.learning_rate.value_or(kShareOfRate * trained.learning_rate);
  const Growth& growth = task.growth;
  const CsrView history = growth.history.view();
  Factors factors = placed_factors(task, false, params.biases);
  const double stddev = params.init_stddev / std::sqrt(static_cast<double>(params.factors));
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const auto stream = side == Side::kUsers ? kStreamUserFactors : kStreamItemFactors;
    for (const Index row : new_rows(task, side)) {
      draw_row(factors.side(side).row_span(row), stddev, params.seed, stream, row);
    }
  }
  const std::vector<Index> items = RowsWithEntries(history).of(Side::kItems);
  const CsrMatrix likes = likes_of(new_cells(task, items));
  const MemoryPlan plan =
      job<BprJob>(task.device).plan({likes.rows, likes.cols, likes.nnz()}, params);
  if (task.options.on_plan) task.options.on_plan(plan);
  const CsrMatrix known =
      likes_of(columns_of(rows_of(history, growth.touched_users).view(), items));
  const CsrView known_view = known.view();
  const std::vector<Offset> item_counts = like_counts(columns_of(history, items).view());
  std::vector<Index> touched_places;
  std::vector<std::uint8_t> changes(items.size());
  for (const Index item : growth.touched_items) {
    touched_places.push_back(
        static_cast<Index>(std::ranges::lower_bound(items, item) - items.begin()));
    changes[static_cast<std::size_t>(touched_places.back())] = 1;
  }

  Factors start = side_rows(factors, Side::kUsers, growth.touched_users);
  Factors start_items = side_rows(factors, Side::kItems, items);
  start.items = std::move(start_items.items);
  start.item_bias = std::move(start_items.item_bias);
  const double of_nothing = losses_of_first(likes.nnz(), start);
  const auto solver =
      job<BprJob>(task.device)
          .make_solver(likes.view(), params, std::move(start), {&known_view, item_counts, changes});
  const int before = epochs_before(task.model);
  for (int epoch = 1; epoch <= task.iterations; ++epoch) {
    task.control.report("update", epoch - 1, task.iterations, "epochs");
    const double losses = solver->epoch(before + epoch, task.control);
    require_no_divergence(losses, of_nothing, fmt::format("epoch {} of the update", epoch),
                          params.learning_rate);
  }
  task.control.report("update", task.iterations, task.iterations, "epochs");
  const Factors& moved = solver->factors();
  put_rows(moved, Side::kUsers, growth.touched_users, factors);
  put_rows(side_rows(moved, Side::kItems, touched_places), Side::kItems, growth.touched_items,
           factors);
  return {std::move(factors), static_cast<Index>(growth.touched_users.size()),
          static_cast<Index>(growth.touched_items.size())};
}

}  // namespace likewise
