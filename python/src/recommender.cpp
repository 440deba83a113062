// SPDX-License-Identifier: Apache-2.0
#include "likewise/recommender.h"

#include <algorithm>
#include <limits>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "background.h"
#include "columns.h"
#include "likewise/error.h"
#include "likewise/factor_search.h"
#include "likewise/matrix.h"
#include "model.h"
#include "names.h"

namespace likewise::python {
namespace {

/// Queries that run where they are: Ctrl-C may wait for them.
constexpr std::size_t kFewQueries = 256;

using MaybeIndices = std::optional<In<Index>>;

/// Queries about a model on a device.
struct Answers {
  Recommender recommender;
  int threads = 0;
};

/// (indices, scores, counts): queries x k, beyond counts[q] -1 and the lowest score.
[[nodiscard]] nb::tuple tuple_of(TopKResult found) {
  const auto queries = static_cast<std::size_t>(found.counts.size());
  const auto k = static_cast<std::size_t>(found.k);
  for (Offset q = 0; q < found.counts.size(); ++q) {
    for (Offset e = q * found.k + found.counts[q]; e < (q + 1) * found.k; ++e) {
      found.items[e] = -1;
      found.scores[e] = -std::numeric_limits<float>::max();
    }
  }
  return nb::make_tuple(give(std::move(found.items), {queries, k}),
                        give(std::move(found.scores), {queries, k}), give(std::move(found.counts)));
}

[[nodiscard]] In<Index> index_array(nb::handle array, const char* what) {
  In<Index> result;
  if (nb::try_cast<In<Index>>(array, result, false)) return result;
  throw nb::type_error((std::string(what) + ": an int32 array without gaps is needed").c_str());
}

/// An empty list of what is allowed would stand for all.
[[nodiscard]] std::span<const Index> allowed(const MaybeIndices& allow) {
  if (!allow) return {};
  if (allow->size() == 0) {
    throw Error(ErrorKind::kInvalidArgument, "allow is empty: nothing could be answered");
  }
  return span_of(*allow);
}

/// Rows of sparse Python arrays without their values, as filters take them: (indptr, indices).
class SeenRows {
 public:
  SeenRows(const std::optional<nb::tuple>& given, Index cols) {
    if (!given) return;
    if (given->size() != 2) throw nb::type_error("seen: (indptr, indices) is needed");
    IntegerSpan from = integer_span((*given)[0], "indptr");
    columns_ = index_array((*given)[1], "indices");
    std::visit([&](const auto& all) { offsets_.assign(all.begin(), all.end()); }, from);
    if (offsets_.empty() || offsets_.front() != 0 ||
        offsets_.back() != static_cast<Offset>(columns_.size()) ||
        !std::ranges::is_sorted(offsets_)) {
      throw Error(ErrorKind::kInvalidArgument, "seen: indptr does not fit its indices");
    }
    for (std::size_t row = 0; row + 1 < offsets_.size(); ++row) {
      Index before = -1;
      for (Offset e = offsets_[row]; e < offsets_[row + 1]; ++e) {
        const Index column = columns_.data()[e];
        if (column <= before || column >= cols) {
          throw Error(ErrorKind::kInvalidArgument,
                      "seen: row " + std::to_string(row) + " has index " + std::to_string(column) +
                          "; indices rise within a row, from 0 to " + std::to_string(cols - 1));
        }
        before = column;
      }
    }
    view_ = {static_cast<Index>(offsets_.size() - 1), cols, offsets_.data(), columns_.data(),
             nullptr};
  }
  [[nodiscard]] const CsrView* view() const { return view_.rows > 0 ? &view_ : nullptr; }

 private:
  std::vector<Offset> offsets_;
  In<Index> columns_;
  CsrView view_{};
};

[[nodiscard]] RecommendOptions options_of(Index n, bool include_seen, const MaybeIndices& allow,
                                          const MaybeIndices& deny) {
  RecommendOptions options;
  options.n = n;
  options.include_seen = include_seen;
  options.allow = allowed(allow);
  if (deny) options.deny = span_of(*deny);
  return options;
}

[[nodiscard]] nb::tuple recommend(const Answers& self, const In<Index>& users, Index n,
                                  const std::optional<nb::tuple>& seen, bool include_seen,
                                  const MaybeIndices& allow, const MaybeIndices& deny,
                                  const nb::object& progress) {
  const SeenRows rows(seen, self.recommender.model().items.size());
  RecommendOptions options = options_of(n, include_seen, allow, deny);
  options.seen = rows.view();
  const std::span<const Index> asked = span_of(users);
  return tuple_of(in_background(asked.size() > kFewQueries, self.threads, progress,
                                [&](const RunControl& control) {
                                  return self.recommender.recommend(asked, options, control);
                                }));
}

/// Rows of sparse arrays of Python's: (indptr, indices, values).
[[nodiscard]] std::vector<FoldInRow> rows_of(const nb::tuple& csr) {
  if (csr.size() != 3) throw nb::type_error("rows: (indptr, indices, values) is needed");
  const IntegerSpan offsets = integer_span(csr[0], "indptr");
  const In<Index> columns = index_array(csr[1], "indices");
  In<float> values;
  if (!nb::try_cast<In<float>>(csr[2], values, false)) {
    throw nb::type_error("values: a float32 array without gaps is needed");
  }
  std::vector<FoldInRow> rows;
  std::visit(
      [&](const auto& all) {
        for (std::size_t r = 0; r + 1 < all.size(); ++r) {
          if (all[r] < 0 || all[r] > all[r + 1] ||
              static_cast<std::size_t>(all[r + 1]) > columns.size() ||
              columns.size() != values.size()) {
            throw Error(ErrorKind::kInvalidArgument,
                        "rows: indptr does not fit its indices and values");
          }
          rows.push_back({{columns.data() + all[r], columns.data() + all[r + 1]},
                          {values.data() + all[r], values.data() + all[r + 1]}});
        }
      },
      offsets);
  return rows;
}

/// Of visitors by features the rows have tags in place of items.
[[nodiscard]] nb::tuple recommend_new(const Answers& self, const nb::tuple& csr, Index n,
                                      bool include_seen, const MaybeIndices& allow,
                                      const MaybeIndices& deny, bool of_tags,
                                      const nb::object& progress) {
  std::vector<FoldInRow> rows = rows_of(csr);
  for (FoldInRow& row : rows) {
    if (of_tags) row = {{}, {}, std::move(row.columns), std::move(row.values)};
  }
  const RecommendOptions options = options_of(n, include_seen, allow, deny);
  return tuple_of(in_background(rows.size() > kFewQueries, self.threads, progress,
                                [&](const RunControl& control) {
                                  return self.recommender.recommend_new(rows, options, control);
                                }));
}

constexpr std::string_view kSideNames[] = {"users", "items"};

[[nodiscard]] Side side_of(const std::string& name) {
  return named<Side>(name, kSideNames, "side");
}
[[nodiscard]] SimilarityMetric metric_named(const std::string& name) {
  return named<SimilarityMetric>(name, kSimilarityMetricNames, "metric");
}

[[nodiscard]] nb::tuple similar(const Answers& self, const std::string& side, const In<Index>& rows,
                                Index n, const std::optional<std::string>& metric,
                                const nb::object& progress) {
  const Side of = side_of(side);
  const SimilarityMetric by = metric ? metric_named(*metric) : SimilarityMetric::kCosine;
  if (metric && self.recommender.model().factors() == nullptr) {
    throw Error(ErrorKind::kInvalidArgument,
                "metric would do nothing here: it needs a model with factors; this one has "
                "its own similarity");
  }
  const std::span<const Index> asked = span_of(rows);
  return tuple_of(in_background(asked.size() > kFewQueries, self.threads, progress,
                                [&](const RunControl& control) {
                                  return self.recommender.similar(of, asked, n, by, control);
                                }));
}

[[nodiscard]] nb::tuple similar_new(const Answers& self, const nb::tuple& csr, Index n) {
  const std::vector<FoldInRow> rows = rows_of(csr);
  return tuple_of(
      in_background(rows.size() > kFewQueries, self.threads, nb::none(),
                    [&](const RunControl&) { return self.recommender.similar_new(rows, n); }));
}

[[nodiscard]] nb::tuple fold_in(const Answers& self, const std::string& side,
                                const nb::tuple& csr) {
  const Side of = side_of(side);
  const std::vector<FoldInRow> rows = rows_of(csr);
  FoldedIn folded =
      in_background(rows.size() > kFewQueries, self.threads, nb::none(),
                    [&](const RunControl&) { return self.recommender.fold_in(of, rows); });
  const auto count = static_cast<std::size_t>(folded.factors.rows());
  const auto cols = static_cast<std::size_t>(folded.factors.cols());
  auto factors = Array<float>::uninitialized(static_cast<Offset>(count * cols));
  for (std::size_t r = 0; r < count; ++r) {
    std::copy_n(folded.factors.row(static_cast<Index>(r)), cols,
                factors.begin() + static_cast<Offset>(r * cols));
  }
  nb::object bias = nb::none();
  if (!folded.bias.empty()) bias = nb::cast(give(std::move(folded.bias)));
  return nb::make_tuple(give(std::move(factors), {count, cols}), bias);
}

[[nodiscard]] Out<float> given(const std::vector<float>& values) {
  return give(Array<float>::copy_of(values));
}

[[nodiscard]] Out<float> predict(const Answers& self, const In<Index>& users,
                                 const In<Index>& items) {
  return given(in_background(
      users.size() > 100'000, self.threads, nb::none(), [&](const RunControl& control) {
        return self.recommender.predict(span_of(users), span_of(items), control);
      }));
}

[[nodiscard]] Out<float> predict_new(const Answers& self, const nb::tuple& csr,
                                     const In<Index>& items) {
  const std::vector<FoldInRow> rows = rows_of(csr);
  return given(in_background(
      rows.size() > kFewQueries, self.threads, nb::none(),
      [&](const RunControl&) { return self.recommender.predict_new(rows, span_of(items)); }));
}

[[nodiscard]] nb::tuple explain(const Answers& self, const nb::tuple& csr, Index item) {
  const std::vector<FoldInRow> rows = rows_of(csr);
  if (rows.size() != 1) throw Error(ErrorKind::kInvalidArgument, "explain takes one user");
  const Explanation why = in_background(false, self.threads, nb::none(), [&](const RunControl&) {
    return self.recommender.explain(rows.front(), item);
  });
  nb::list contributions;
  for (const Contribution& part : why.contributions) {
    contributions.append(nb::make_tuple(part.item, part.value, part.share));
  }
  return nb::make_tuple(why.score, why.baseline, contributions);
}

/// A table whose rows are padded already, as one of a mapped file, stays where it is: the pages of
/// a file are shared by processes.
[[nodiscard]] Matrix borrowed_or_copied(const InMatrix<float>& table) {
  const auto cols = static_cast<Index>(table.shape(1));
  const bool aligned = reinterpret_cast<std::uintptr_t>(table.data()) % 64 == 0;
  if (!aligned || cols != padded_stride(cols) || table.shape(0) == 0) return matrix_of(table);
  const auto rows = static_cast<Index>(table.shape(0));
  auto* const data = const_cast<float*>(table.data());  // a Matrix that nobody writes to
  return {Array<float>::over(nullptr, data, Offset{rows} * cols), rows, cols};
}

/// Search in a table that it keeps.
struct TableSearch {
  InMatrix<float> given;  ///< where it is what the table stands over
  Matrix table;
  Array<float> bias;
  std::optional<FactorSearch> search;

  TableSearch(const InMatrix<float>& rows, const std::optional<In<float>>& biases,
              const std::string& metric, const Device& device)
      : given(rows),
        table(borrowed_or_copied(rows)),
        bias(biases ? Array<float>::copy_of(span_of(*biases)) : Array<float>()) {
    const SimilarityMetric by = metric_named(metric);
    const WithoutGil without;
    search.emplace(table.view(), bias.span(), by, device);
  }
};

[[nodiscard]] nb::tuple search_top_k(const TableSearch& self, const InMatrix<float>& queries,
                                     Index n, const std::optional<nb::tuple>& excluded,
                                     const MaybeIndices& allow, const MaybeIndices& deny,
                                     int threads) {
  const SeenRows rows(excluded, self.table.rows());
  const Matrix asked = matrix_of(queries);
  FactorSearchOptions options;
  options.n = n;
  options.excluded = rows.view();
  options.allow = allowed(allow);
  if (deny) options.deny = span_of(*deny);
  return tuple_of(in_background(queries.shape(0) > kFewQueries, threads, nb::none(),
                                [&](const RunControl& control) {
                                  return self.search->top_k(asked.view(), options, control);
                                }));
}

}  // namespace

void bind_recommender(nb::module_& module) {
  nb::class_<Answers>(module, "Recommender", "Queries about a model.")
      .def(
          "__init__",
          [](Answers* self, const Trained& model, const nb::object& device, int threads,
             std::optional<bool> clip) {
            new (self) Answers{Recommender(model.model, device_for(device), clip), threads};
          },
          "model"_a, "device"_a = "auto", "threads"_a = 0, "clip"_a = nb::none())
      .def("recommend", &recommend, "users"_a.noconvert(), "n"_a, "seen"_a = nb::none(),
           "include_seen"_a = false, "allow"_a.noconvert() = nb::none(),
           "deny"_a.noconvert() = nb::none(), "progress"_a = nb::none())
      .def("recommend_new", &recommend_new, "rows"_a, "n"_a, "include_seen"_a = false,
           "allow"_a.noconvert() = nb::none(), "deny"_a.noconvert() = nb::none(),
           "of_tags"_a = false, "progress"_a = nb::none())
      .def("similar", &similar, "side"_a, "rows"_a.noconvert(), "n"_a, "metric"_a = nb::none(),
           "progress"_a = nb::none())
      .def("similar_new", &similar_new, "rows"_a, "n"_a)
      .def("fold_in", &fold_in, "side"_a, "rows"_a)
      .def("predict", &predict, "users"_a.noconvert(), "items"_a.noconvert())
      .def("predict_new", &predict_new, "rows"_a, "items"_a.noconvert())
      .def("explain", &explain, "row"_a, "item"_a);
  nb::class_<TableSearch>(module, "FactorSearch", "Exact search in a table of factors.")
      .def(
          "__init__",
          [](TableSearch* self, const InMatrix<float>& table, const std::optional<In<float>>& bias,
             const std::string& metric, const nb::object& device) {
            new (self) TableSearch(table, bias, metric, device_for(device));
          },
          "table"_a.noconvert(), "bias"_a.noconvert() = nb::none(), "metric"_a = "dot",
          "device"_a = "auto")
      .def("top_k", &search_top_k, "queries"_a.noconvert(), "n"_a, "excluded"_a = nb::none(),
           "allow"_a.noconvert() = nb::none(), "deny"_a.noconvert() = nb::none(), "threads"_a = 0);
}

}  // namespace likewise::python
