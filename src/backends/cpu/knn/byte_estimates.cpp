// SPDX-License-Identifier: Apache-2.0
/// Factors as bytes with one scale per panel and one per query. With q^ and y^ the rounded vectors,
///
///     | q . y - q^ . y^ |  <=  |q - q^| |y| + |q^| |y - y^|,
///
/// about one percent of |q| |y|, while q^ . y^ itself is exact integer arithmetic.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/cpu/knn/estimates.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

using kernels::kPanelItems;
constexpr float kLargest = 127.0F;
// Item bytes are stored as y^ + 128, unsigned, as the instruction wants one of its two operands.
constexpr int kShift = 128;
// Panels of tiny items share a scale with larger ones: biases in integer units stay below 2^30.
constexpr float kScaleRange = 0x1p-8F;
constexpr float kLargestBias = 0x1p29F;
constexpr float kLeastUnit = 1e-30F;

float largest_size(const float* row, Index length) {
  float largest = 0.0F;
  for (Index j = 0; j < length; ++j) largest = std::max(largest, std::abs(row[j]));
  return largest;
}

float rounded(float x, float scale) {
  return std::clamp(std::nearbyint(x / scale), -kLargest, kLargest);
}

/// |row - scale * round(row / scale)|, rounded up.
double residual_norm(const float* row, Index length, float scale) {
  double sum = 0.0;
  for (Index j = 0; j < length; ++j) {
    const double rest = double{row[j]} - double{scale} * double{rounded(row[j], scale)};
    sum += rest * rest;
  }
  return std::sqrt(sum) * (1.0 + 1e-6);
}

struct PanelScale {
  float scale = 1.0F;
  double inverse = 1.0;
  double residual = 0.0;  ///< the largest |y - y^|
};

class ByteTable final : public EstimateTable {
 public:
  ByteTable(const CentredRows& items, const ItemPanels& panels)
      : panels_(panels),
        factors_(items.cols()),
        groups_((items.cols() + kernels::kGroupFactors - 1) / kernels::kGroupFactors),
        panel_bytes_(Offset{groups_} * kernels::kGroupFactors * kPanelItems),
        bytes_(Array<std::uint8_t>::uninitialized(panel_bytes_ * panels.panels())),
        scales_(static_cast<std::size_t>(panels.panels())) {
    parallel_for(panels.panels(), 16, [&](Offset p) { measure(static_cast<Index>(p), items); });
    choose_scales();
    parallel_for(panels.panels(), 16, [&](Offset p) { pack(static_cast<Index>(p), items); });
  }

  [[nodiscard]] std::unique_ptr<Estimator> load(const MatrixView& queries) const override;

  [[nodiscard]] const ItemPanels& panels() const { return panels_; }
  [[nodiscard]] Index groups() const { return groups_; }
  [[nodiscard]] const PanelScale& scale(Index p) const {
    return scales_[static_cast<std::size_t>(p)];
  }
  [[nodiscard]] const std::uint8_t* bytes(Index p) const {
    return bytes_.data() + p * panel_bytes_;
  }
  /// No query may have a smaller scale: |bias| / (query scale * panel scale) <= 2^29, and a unit of
  /// the integer score is no less than kLeastUnit.
  [[nodiscard]] float least_query_scale() const { return least_query_scale_; }

 private:
  void measure(Index p, const CentredRows& items) {
    float largest = 0.0F;
    std::vector<float> room;
    for (Index i = 0; i < panels_.filled(p); ++i) {
      const float* row = items.row(panels_.item(p * kPanelItems + i), room);
      largest = std::max(largest, largest_size(row, factors_));
    }
    scales_[static_cast<std::size_t>(p)].scale = largest / kLargest;
  }

  void choose_scales() {
    float largest = 0.0F;
    for (const PanelScale& s : scales_) largest = std::max(largest, s.scale);
    if (largest == 0.0F) largest = 1.0F;
    for (PanelScale& s : scales_) {
      s.scale = std::max(s.scale, largest * kScaleRange);
      s.inverse = 1.0 / double{s.scale};
    }
    const float most_bias = scales_.empty() ? 0.0F : panels_.rest_bound(0).abs_bias;
    least_query_scale_ = std::max(most_bias / kLargestBias, kLeastUnit) / (largest * kScaleRange);
  }

  void pack(Index p, const CentredRows& items) {
    std::uint8_t* to = bytes_.data() + p * panel_bytes_;
    std::fill_n(to, panel_bytes_, static_cast<std::uint8_t>(kShift));
    PanelScale& scale = scales_[static_cast<std::size_t>(p)];
    std::vector<float> room;
    for (Index i = 0; i < panels_.filled(p); ++i) {
      const float* row = items.row(panels_.item(p * kPanelItems + i), room);
      for (Index j = 0; j < factors_; ++j) {
        const Offset at = (Offset{j} / 4 * kPanelItems + i) * 4 + j % 4;
        to[at] = static_cast<std::uint8_t>(static_cast<int>(rounded(row[j], scale.scale)) + kShift);
      }
      scale.residual = std::max(scale.residual, residual_norm(row, factors_, scale.scale));
    }
  }

  const ItemPanels& panels_;
  Index factors_;
  Index groups_;
  Offset panel_bytes_;
  Array<std::uint8_t> bytes_;
  std::vector<PanelScale> scales_;
  float least_query_scale_ = kLeastUnit;
};

/// Of some queries of a block, number by number.
struct RoundedQueries {
  std::vector<double> inverse;   ///< 1 / scale
  std::vector<double> residual;  ///< |q - q^|
  std::vector<double> norm;      ///< |q^|
  std::vector<double> shift;     ///< 128 times the sum of the query's bytes

  void clear() {
    for (auto* const numbers : {&inverse, &residual, &norm, &shift}) numbers->clear();
  }
  void add(const RoundedQueries& from, std::size_t q) {
    inverse.push_back(from.inverse[q]);
    residual.push_back(from.residual[q]);
    norm.push_back(from.norm[q]);
    shift.push_back(from.shift[q]);
  }
  [[nodiscard]] kernels::QueryUnits units() const {
    return {inverse.data(), residual.data(), norm.data(), shift.data()};
  }
};

class ByteEstimator final : public Estimator {
 public:
  ByteEstimator(const ByteTable& table, const MatrixView& queries)
      : table_(table),
        bytes_(Offset{queries.rows} * table.groups()),
        lowered_(static_cast<std::size_t>(queries.rows)) {
    for (Index q = 0; q < queries.rows; ++q) round_query(q, queries);
  }

  void find(Index panel, std::span<const Index> queries, const float* thresholds,
            std::uint64_t* hits) override {
    if (!std::ranges::equal(queries, chosen_)) choose(queries);
    const PanelScale& scale = table_.scale(panel);
    const ScoreBound& bound = table_.panels().panel_bound(panel);
    const float* const bias = table_.panels().bias(panel);
    if (bias != nullptr) {
      for (std::size_t s = 0; s < queries.size(); ++s) {
        selected_[s].bias_scale = static_cast<float>(numbers_.inverse[s] * scale.inverse);
      }
    }
    const auto count = static_cast<Index>(queries.size());
    kernels::whole_thresholds(
        {scale.inverse, double{bound.norm}, scale.residual, 0x1p-20 * double{bound.abs_bias}},
        numbers_.units(), thresholds, count, lowered_.data());
    kernels::find_hits_bytes(table_.bytes(panel), bias, table_.groups(), selected_.data(),
                             lowered_.data(), count, hits);
  }

 private:
  /// From one panel to the next they are mostly the same.
  void choose(std::span<const Index> queries) {
    chosen_.assign(queries.begin(), queries.end());
    selected_.clear();
    numbers_.clear();
    for (const Index q : queries) {
      selected_.push_back({bytes_.data() + Offset{q} * table_.groups(), 0.0F});
      numbers_.add(all_, static_cast<std::size_t>(q));
    }
  }

  void round_query(Index q, const MatrixView& queries) {
    const float* row = queries.row(q);
    const float scale =
        std::max(largest_size(row, queries.cols) / kLargest, table_.least_query_scale());
    auto* to = reinterpret_cast<std::int8_t*>(bytes_.data() + Offset{q} * table_.groups());
    double squares = 0.0;
    double sum = 0.0;
    for (Index j = 0; j < queries.cols; ++j) {
      const float x = rounded(row[j], scale);
      to[j] = static_cast<std::int8_t>(x);
      squares += double{x} * double{x};
      sum += double{x};
    }
    all_.inverse.push_back(1.0 / double{scale});
    all_.residual.push_back(residual_norm(row, queries.cols, scale));
    all_.norm.push_back(std::sqrt(squares) * double{scale} * (1.0 + 1e-6));
    all_.shift.push_back(kShift * sum);
  }

  const ByteTable& table_;
  Array<kernels::ByteGroup> bytes_;
  RoundedQueries all_;
  std::vector<Index> chosen_;  ///< the queries of the last call ...
  RoundedQueries numbers_;     ///< ... and theirs
  std::vector<kernels::ByteQuery> selected_;
  std::vector<std::int32_t> lowered_;
};

std::unique_ptr<Estimator> ByteTable::load(const MatrixView& queries) const {
  return std::make_unique<ByteEstimator>(*this, queries);
}

}  // namespace

std::unique_ptr<EstimateTable> make_byte_estimates(const CentredRows& items,
                                                   const ItemPanels& panels) {
  return std::make_unique<ByteTable>(items, panels);
}

}  // namespace likewise
