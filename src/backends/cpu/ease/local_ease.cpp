// SPDX-License-Identifier: Apache-2.0
/// A row of S is made once for all systems of a batch that want numbers of it: to make each
/// system's numbers for itself would cost hundreds of times as much as to solve it. Batches are cut
/// by memory.
#include "backends/cpu/ease/local_ease.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "algorithms/ease/ease_scales.h"
#include "backends/cpu/ease/ease_gram.h"
#include "backends/cpu/pool.h"
#include "core/linalg/dense_kernels.h"
#include "core/system/parallel.h"
#include "likewise/matrix.h"
#include "retrieval/knn_lists.h"
#include "retrieval/top_k.h"

namespace likewise {
namespace {

/// One item's: (S_CC + L_CC) q = S_Cj for its candidates C, rising. Items go by their numbers in an
/// EaseGram.
struct System {
  Index item = 0;
  std::vector<Index> candidates;
  Offset first = 0;  ///< where its numbers begin: a padded row for each candidate, and q

  [[nodiscard]] Index size() const { return static_cast<Index>(candidates.size()); }
  [[nodiscard]] Index stride() const { return padded_stride(size()); }
  [[nodiscard]] Offset numbers() const { return Offset{size() + 1} * stride(); }
};

/// Where a row of S is wanted: by which system, as which of its candidates. As none of them where
/// the row is that of the system's own item.
struct Use {
  Index system = 0;
  Index place = 0;
};
constexpr Index kOwnItem = -1;

/// The uses of each row of S, by row.
struct Uses {
  std::vector<Offset> offsets;
  std::vector<Use> uses;

  Uses(Index rows, const std::vector<System>& systems)
      : offsets(static_cast<std::size_t>(rows) + 1) {
    for_each(systems, [&](Index row, Use) { ++offsets[static_cast<std::size_t>(row) + 1]; });
    for (std::size_t row = 1; row < offsets.size(); ++row) offsets[row] += offsets[row - 1];
    uses.resize(static_cast<std::size_t>(offsets.back()));
    std::vector<Offset> next(offsets.begin(), offsets.end() - 1);
    for_each(systems, [&](Index row, Use use) {
      uses[static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++)] = use;
    });
  }

  [[nodiscard]] std::span<const Use> of(Index row) const {
    const auto at = static_cast<std::size_t>(row);
    return {uses.data() + offsets[at], static_cast<std::size_t>(offsets[at + 1] - offsets[at])};
  }

 private:
  template <class Visit>
  static void for_each(const std::vector<System>& systems, const Visit& visit) {
    for (std::size_t s = 0; s < systems.size(); ++s) {
      const auto system = static_cast<Index>(s);
      visit(systems[s].item, Use{system, kOwnItem});
      for (Index p = 0; p < systems[s].size(); ++p) {
        visit(systems[s].candidates[static_cast<std::size_t>(p)], Use{system, p});
      }
    }
  }
};

/// Systems that are made and solved together.
template <class Gram>
class Batch {
 public:
  /// Takes items from `first` on, at least one; all must outlive it.
  Batch(const Gram& gram, const KnnLists& candidates, Index first, const EaseScales& scales)
      : gram_(gram), scales_(scales), rows_(gram.items()) {
    Offset numbers = 0;
    for (Index item = first; item < rows_; ++item) {
      System system{item, system_candidates(candidates, gram.item(item)), numbers};
      for (Index& candidate : system.candidates) candidate = gram.number(candidate);
      std::ranges::sort(system.candidates);
      if (item > first && numbers + system.numbers() > kEaseBatchNumbers) break;
      numbers += system.numbers();
      systems_.push_back(std::move(system));
    }
    numbers_ = Array<float>(numbers);
  }

  [[nodiscard]] Index end() const { return systems_.back().item + 1; }

  void fill(const RunControl& control) {
    const Uses uses(rows_, systems_);
    Pool<Worker> pool;
    parallel_for(rows_, 4, [&](Offset r) {
      const auto row = static_cast<Index>(r);
      if (uses.of(row).empty()) return;
      control.check();
      auto worker = pool.take([&] { return Worker{gram_.make_sums(), Array<float>(rows_), {}}; });
      double diagonal = 0.0;
      gram_.row(row, worker->sums, [&](Index j, double value) {
        if (j == row) diagonal = value;
        worker->row[j] = static_cast<float>(value);
        worker->filled.push_back(j);
      });
      worker->row[row] = static_cast<float>(scales_.damped(diagonal));
      worker->filled.push_back(row);
      for (const Use& use : uses.of(row)) spread(row, worker->row, use);
      for (const Index j : worker->filled) worker->row[j] = 0.0F;
      worker->filled.clear();
      pool.give_back(std::move(worker));
    });
  }

  /// Solves them; puts the lists of their items where they belong.
  void solve(const EaseSystem& given, std::vector<std::vector<Candidate>>& lists) {
    std::vector<Index> singular(systems_.size());
    parallel_for(std::ssize(systems_), 1, [&](Offset s) {
      const System& system = systems_[static_cast<std::size_t>(s)];
      singular[static_cast<std::size_t>(s)] = solve(system);
      lists[static_cast<std::size_t>(gram_.item(system.item))] = weights(system);
    });
    for (std::size_t s = 0; s < systems_.size(); ++s) {
      if (singular[s] < 0) continue;
      const System& system = systems_[s];
      refuse_singular_ease(gram_.item(system.candidates[static_cast<std::size_t>(singular[s])]),
                           given);
    }
  }

 private:
  struct Worker {
    Array<typename Gram::Sum> sums;
    Array<float> row;  ///< S + L from the diagonal on; 0 between rows
    std::vector<Index> filled;
  };

  [[nodiscard]] float* row_of(const System& system, Index place) {
    return numbers_.data() + system.first + Offset{place} * system.stride();
  }
  [[nodiscard]] float* right_side(const System& system) { return row_of(system, system.size()); }

  /// Each number of a system is in one row of S alone, the one of its smaller item.
  void spread(Index row, const Array<float>& from, const Use& use) {
    const System& system = systems_[static_cast<std::size_t>(use.system)];
    const bool own = use.place == kOwnItem;
    float* const to = own ? right_side(system) : row_of(system, use.place);
    const auto above = std::ranges::lower_bound(system.candidates, row) - system.candidates.begin();
    for (auto p = static_cast<Index>(above); p < system.size(); ++p) {
      to[p] = from[system.candidates[static_cast<std::size_t>(p)]];
    }
    if (!own && system.item > row) right_side(system)[use.place] = from[system.item];
  }

  /// Returns -1 or the first candidate that is singular.
  [[nodiscard]] Index solve(const System& system) {
    const Index n = system.size();
    float* const u = row_of(system, 0);
    std::vector<float> least(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) {
      least[static_cast<std::size_t>(i)] =
          static_cast<float>(kLeastPivot) * u[Offset{i} * system.stride() + i];
    }
    if (const Index bad = kernels::cholesky_upper(u, n, system.stride()); bad >= 0) return bad;
    for (Index i = 0; i < n; ++i) {
      const float root = u[Offset{i} * system.stride() + i];
      if (root * root <= least[static_cast<std::size_t>(i)]) return i;
    }
    kernels::solve_upper(u, n, system.stride(), right_side(system));
    return -1;
  }

  /// B_ij = n_i^(-s) q_i n_j^s, as -Q_ij / Q_jj = q_i.
  [[nodiscard]] std::vector<Candidate> weights(const System& system) {
    const double of_column =
        scales_.of_column(static_cast<std::size_t>(gram_.item(system.item)), 1.0);
    std::vector<Candidate> list;
    for (Index p = 0; p < system.size(); ++p) {
      const Index i = gram_.item(system.candidates[static_cast<std::size_t>(p)]);
      const double b =
          scales_.row[static_cast<std::size_t>(i)] * double{right_side(system)[p]} * of_column;
      if (static_cast<float>(b) != 0.0F) list.push_back({static_cast<float>(b), i});
    }
    std::ranges::sort(list, before);
    return list;
  }

  const Gram& gram_;
  const EaseScales& scales_;
  Index rows_;
  std::vector<System> systems_;
  Array<float> numbers_;
};

}  // namespace

KnnLists local_ease(const CsrView& by_user, const EaseSystem& system, const KnnLists& candidates,
                    const RunControl& control) {
  check_candidates(by_user, candidates);
  const EaseScales scales = make_ease_scales(by_user, system);
  std::vector<std::vector<Candidate>> lists(static_cast<std::size_t>(by_user.cols));
  with_ease_gram(by_user, scales, [&](const auto& gram) {
    for (Index first = 0; first < by_user.cols;) {
      Batch batch(gram, candidates, first, scales);
      batch.fill(control);
      batch.solve(system, lists);
      first = batch.end();
      control.report("ease", first, by_user.cols, "items");
    }
  });
  return pack_knn_lists(by_user.cols, [&](Index item) {
    return std::span<const Candidate>(lists[static_cast<std::size_t>(item)]);
  });
}

}  // namespace likewise
