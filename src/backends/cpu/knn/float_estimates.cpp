// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <vector>

#include "backends/cpu/knn/estimates.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

using kernels::kPanelItems;

class FloatTable final : public EstimateTable {
 public:
  FloatTable(const CentredRows& items, const ItemPanels& panels)
      : panels_(panels),
        factors_(items.cols()),
        values_(Offset{panels.panels()} * items.cols() * kPanelItems),
        no_bias_(kPanelItems) {
    parallel_for(panels.panels(), 16, [&](Offset p) { pack(static_cast<Index>(p), items); });
  }

  [[nodiscard]] std::unique_ptr<Estimator> load(const MatrixView& queries) const override;

  [[nodiscard]] const ItemPanels& panels() const { return panels_; }
  [[nodiscard]] Index factors() const { return factors_; }
  [[nodiscard]] const float* values(Index p) const {
    return values_.data() + Offset{p} * factors_ * kPanelItems;
  }
  [[nodiscard]] const float* bias(Index p) const {
    return panels_.bias(p) != nullptr ? panels_.bias(p) : no_bias_.data();
  }

 private:
  void pack(Index p, const CentredRows& items) {
    float* to = values_.data() + Offset{p} * factors_ * kPanelItems;
    std::vector<float> room;
    for (Index i = 0; i < panels_.filled(p); ++i) {
      const float* row = items.row(panels_.item(p * kPanelItems + i), room);
      for (Index j = 0; j < factors_; ++j) to[Offset{j} * kPanelItems + i] = row[j];
    }
  }

  const ItemPanels& panels_;
  Index factors_;
  Array<float> values_;
  Array<float> no_bias_;
};

class FloatEstimator final : public Estimator {
 public:
  FloatEstimator(const FloatTable& table, const MatrixView& queries)
      : table_(table),
        queries_(queries),
        // f + 1 steps of at most two roundings of 2^-24 each; twice that to be safe.
        rounding_(static_cast<float>(queries.cols + 4) * 0x1p-22F),
        rows_(static_cast<std::size_t>(queries.rows)),
        lowered_(rows_.size()) {
    for (Index q = 0; q < queries.rows; ++q) {
      norms_.push_back(norm_above(queries.row(q), queries.cols));
    }
  }

  void find(Index panel, std::span<const Index> queries, const float* thresholds,
            std::uint64_t* hits) override {
    const ScoreBound& bound = table_.panels().panel_bound(panel);
    for (std::size_t s = 0; s < queries.size(); ++s) {
      const float norm = norms_[static_cast<std::size_t>(queries[s])];
      const float error = rounding_ * (norm * bound.norm + bound.abs_bias);
      rows_[s] = queries_.row(queries[s]);
      lowered_[s] = thresholds[s] - error - std::numeric_limits<float>::min();
    }
    kernels::find_hits(table_.values(panel), table_.bias(panel), table_.factors(), rows_.data(),
                       lowered_.data(), static_cast<Index>(queries.size()), hits);
  }

 private:
  const FloatTable& table_;
  MatrixView queries_;
  float rounding_;
  std::vector<float> norms_;
  std::vector<const float*> rows_;
  std::vector<float> lowered_;
};

std::unique_ptr<Estimator> FloatTable::load(const MatrixView& queries) const {
  return std::make_unique<FloatEstimator>(*this, queries);
}

}  // namespace

std::unique_ptr<EstimateTable> make_float_estimates(const CentredRows& items,
                                                    const ItemPanels& panels) {
  return std::make_unique<FloatTable>(items, panels);
}

std::unique_ptr<EstimateTable> make_estimate_table(const CentredRows& items,
                                                   const ItemPanels& panels, EstimateKind kind) {
  // Outside these ranges (nothing that training makes) the scales of bytes could overflow.
  const ScoreBound all = panels.panels() > 0 ? panels.rest_bound(0) : ScoreBound{};
  const bool fits = all.norm > 1e-10F && all.norm < 1e10F && all.abs_bias < 1e10F;
  const bool bytes = fits && kind != EstimateKind::kFloat32 && kernels::has_byte_dot_products();
  return bytes ? make_byte_estimates(items, panels) : make_float_estimates(items, panels);
}

}  // namespace likewise
