// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "algorithms/ease/ease_scales.h"
#include "backends/jobs/host_plan.h"
#include "backends/reference/jobs.h"
#include "core/linalg/cholesky.h"
#include "retrieval/knn_lists.h"
#include "retrieval/top_k.h"

namespace likewise {
namespace {

/// S = D^(-1/2) X' D_U^(-b) X D^(-1/2), all n x n numbers.
[[nodiscard]] std::vector<double> symmetric_gram(const CsrView& by_user, const EaseScales& scales) {
  const auto n = static_cast<std::size_t>(by_user.cols);
  std::vector<double> s(n * n);
  for (Index user = 0; user < by_user.rows; ++user) {
    for (Offset e = by_user.offsets[user]; e < by_user.offsets[user + 1]; ++e) {
      for (Offset f = by_user.offsets[user]; f < by_user.offsets[user + 1]; ++f) {
        const auto i = static_cast<std::size_t>(by_user.columns[e]);
        const auto j = static_cast<std::size_t>(by_user.columns[f]);
        s[i * n + j] += scales.user[static_cast<std::size_t>(user)] * double{by_user.values[e]} *
                        double{by_user.values[f]};
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) s[i * n + j] *= scales.item[i] * scales.item[j];
  }
  return s;
}

/// U of S + L over some items.
[[nodiscard]] std::vector<double> factor(const std::vector<double>& s, const EaseScales& scales,
                                         const std::vector<Index>& items,
                                         const EaseSystem& system) {
  const std::size_t m = items.size();
  std::vector<double> u(m * m);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      u[i * m + j] = s[static_cast<std::size_t>(items[i]) * scales.item.size() +
                       static_cast<std::size_t>(items[j])];
    }
    u[i * m + i] = scales.damped(u[i * m + i]);
  }
  std::vector<double> diagonal(m);
  for (std::size_t i = 0; i < m; ++i) diagonal[i] = u[i * m + i];
  const Index bad = cholesky_factor(u.data(), static_cast<Index>(m));
  if (bad >= 0) refuse_singular_ease(items[static_cast<std::size_t>(bad)], system);
  for (std::size_t i = 0; i < m; ++i) {
    if (u[i * m + i] * u[i * m + i] <= kLeastPivot * diagonal[i]) {
      refuse_singular_ease(items[i], system);
    }
  }
  return u;
}

/// Column j of (S + L)^-1 over the items.
[[nodiscard]] std::vector<double> column_of_inverse(const std::vector<double>& u, std::size_t m,
                                                    std::size_t j) {
  std::vector<double> column(m);
  column[j] = 1.0;
  cholesky_solve(u.data(), static_cast<Index>(m), column.data());
  return column;
}

class ReferenceEase final : public EaseJob {
 public:
  [[nodiscard]] MemoryPlan plan(const EaseShape& shape) const override {
    return ease_plan(shape, 3 * sizeof(double));
  }
  [[nodiscard]] Matrix dense_weights(const CsrView& by_user, const EaseSystem& system,
                                     const RunControl& control) const override {
    const EaseScales scales = make_ease_scales(by_user, system);
    std::vector<Index> all;
    for (Index item = 0; item < by_user.cols; ++item) all.push_back(item);
    const std::vector<double> u = factor(symmetric_gram(by_user, scales), scales, all, system);
    Matrix b(by_user.cols, by_user.cols);
    for (std::size_t j = 0; j < all.size(); ++j) {
      control.check();
      const std::vector<double> q = column_of_inverse(u, all.size(), j);
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i != j) b.row(all[i])[j] = weight(scales, i, j, q[i], q[j]);
      }
    }
    return b;
  }

  [[nodiscard]] KnnLists local_weights(const CsrView& by_user, const EaseSystem& system,
                                       const KnnLists& candidates,
                                       const RunControl& control) const override {
    check_candidates(by_user, candidates);
    const EaseScales scales = make_ease_scales(by_user, system);
    const std::vector<double> s = symmetric_gram(by_user, scales);
    std::vector<std::vector<Candidate>> lists(static_cast<std::size_t>(by_user.cols));
    for (Index j = 0; j < by_user.cols; ++j) {
      control.check();
      std::vector<Index> items;
      std::vector<double> q;
      const auto given = candidates.rows_of(j);
      for (const Index i : std::set<Index>(given.begin(), given.end())) {
        if (i == j) continue;
        items.push_back(i);
        q.push_back(
            s[static_cast<std::size_t>(i) * scales.item.size() + static_cast<std::size_t>(j)]);
      }
      const std::vector<double> u = factor(s, scales, items, system);
      cholesky_solve(u.data(), static_cast<Index>(items.size()), q.data());
      auto& list = lists[static_cast<std::size_t>(j)];
      for (std::size_t i = 0; i < items.size(); ++i) {
        const float b = weight(scales, static_cast<std::size_t>(items[i]),
                               static_cast<std::size_t>(j), -q[i], 1.0);
        if (b != 0.0F) list.push_back({b, items[i]});
      }
      std::ranges::sort(list, before);
    }
    return pack_knn_lists(by_user.cols, [&](Index item) {
      return std::span<const Candidate>(lists[static_cast<std::size_t>(item)]);
    });
  }

 private:
  /// B_ij = -n_i^(-s) Q_ij n_j^s / Q_jj
  [[nodiscard]] static float weight(const EaseScales& scales, std::size_t i, std::size_t j,
                                    double q, double diagonal) {
    return static_cast<float>(-scales.row[i] * q * scales.of_column(j, diagonal));
  }
};

}  // namespace

std::unique_ptr<EaseJob> make_reference_ease() { return std::make_unique<ReferenceEase>(); }

}  // namespace likewise
