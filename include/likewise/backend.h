// SPDX-License-Identifier: Apache-2.0
/// Backends do the heavy work on a device; algorithms know their jobs, never their devices.
///
/// The seam is coarse: one call is half an epoch or a whole batch of queries, so a device keeps its
/// own copies between calls. `reference` (plain loops, double precision) is the oracle for all
/// others.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/types.h"

namespace likewise {

class AlsTuner;
struct AlsParams;
struct Neighbours;
class SimilarityProblem;
struct WeightedRows;

/// One ALS training under way. Made with the matrix and the first factors, which it owns from then
/// on.
class AlsSolver {
 public:
  virtual ~AlsSolver() = default;
  /// Solves all rows of `side` for the other side held fixed. Returns the whole objective (both
  /// regularisation terms included) after it, at no extra pass over the data.
  /// Errors: kNumerical naming side and row, kCancelled (the factors are then undefined).
  virtual double solve(Side side, const RunControl& control) = 0;
  /// The current factors, on the host. Valid until the next solve().
  [[nodiscard]] virtual const Factors& factors() = 0;
  /// The factors themselves: the last call on a solver.
  [[nodiscard]] virtual Factors take_factors() = 0;
};

/// Which items a query may be answered with.
struct TopKFilter {
  /// Row q lists (sorted) items that query q must not get: seen items, deny lists. May be empty
  /// (rows == 0): nothing excluded.
  CsrView excluded;
  /// Empty, or one byte per item: 0 removes the item for every query.
  std::span<const std::uint8_t> allowed;
};

/// Top-k answers for `queries` queries: entries [q k, q k + counts[q]) are the answers of query q,
/// best first, ties to the smaller item. counts[q] < k when fewer items are left than asked for.
struct TopKResult {
  Index k = 0;
  Array<Index> items;
  Array<float> scores;
  Array<Index> counts;
};

/// Scores queries against a fixed table of items: score(q, i) = q . y_i + bias_i.
/// Thread-safe after construction. Never holds more than a bounded block of scores.
class Scorer {
 public:
  virtual ~Scorer() = default;
  /// The k best items of each query (queries.cols == factors of the table; k >= 0 may exceed the
  /// catalogue).
  [[nodiscard]] virtual TopKResult top_k(const MatrixView& queries, Index k,
                                         const TopKFilter& filter,
                                         const RunControl& control) const = 0;
  /// All scores of a few queries: out is queries.rows x items, row-major without padding.
  virtual void score_all(const MatrixView& queries, float* out) const = 0;
};

/// Compares the rows of a similarity problem (src/algorithms/similarity.h) with each other and with
/// rows from outside. Thread-safe after construction. Never holds rows x rows numbers.
class NeighbourSearch {
 public:
  virtual ~NeighbourSearch() = default;
  /// The k nearest of every row (k may exceed the number of rows).
  [[nodiscard]] virtual Neighbours find(Index k, const RunControl& control) const = 0;
  /// How similar every row of the problem is to each of `queries`, which may be outside rows:
  /// `out` is queries x rows, row-major without padding; 0 where two are no neighbours. A row of
  /// the problem that is asked about meets itself like any other.
  virtual void similarities(const WeightedRows& queries, float* out) const = 0;
};

/// The counts that the memory of a training depends on.
struct AlsShape {
  Index users = 0;
  Index items = 0;
  Offset interactions = 0;
};

/// What a training takes of its device's memory, found before anything is allocated.
struct MemoryPlan {
  struct Part {
    std::string name;
    Offset bytes = 0;
  };
  std::string way;  ///< what lies where, e.g. "everything on the card"
  std::vector<Part> parts;
  Offset total = 0;
  Offset available = 0;  ///< on the device: what is free, or the limit where one was given
  Offset machine = 0;    ///< what a card takes of the machine's memory besides
};

/// The plan for people: a line per part, the total, and what is available.
[[nodiscard]] std::string describe(const MemoryPlan& plan);

/// A device that can do every job.
class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;    ///< "reference", "cpu", "cuda:0"
  [[nodiscard]] virtual std::string description() const = 0;  ///< for people: model, ISA, threads

  /// `by_user` must outlive the job; `start` is moved in. `params` are valid (validate() passed).
  /// `completed_iterations` of `start`: 0 when it was drawn and has learnt nothing yet.
  [[nodiscard]] virtual std::unique_ptr<AlsSolver> make_als_solver(
      const CsrView& by_user, const AlsParams& params, Factors start,
      int completed_iterations = 0) const = 0;
  /// What make_als_solver() would take now for a matrix of this shape. Throws Error(kOutOfMemory)
  /// with the figures when it does not fit. Empty where a device does not plan.
  [[nodiscard]] virtual MemoryPlan plan_als(const AlsShape& /*shape*/,
                                            const AlsParams& /*params*/) const {
    return {};
  }
  /// What to choose from where training can be tuned (likewise/autotune.h), else null. Belongs to
  /// the backend.
  [[nodiscard]] virtual const AlsTuner* als_tuner() const { return nullptr; }
  /// `items` (items x factors) and `item_bias` (empty or one per item) must outlive the scorer.
  [[nodiscard]] virtual std::unique_ptr<Scorer> make_scorer(
      const MatrixView& items, std::span<const float> item_bias) const = 0;
  /// `problem` must outlive the search.
  [[nodiscard]] virtual std::unique_ptr<NeighbourSearch> make_neighbour_search(
      const SimilarityProblem& problem) const = 0;
};

/// "cpu (AVX-512 kernels, 2 threads)".
[[nodiscard]] std::string device_text(const Backend& backend);

struct BackendOptions {
  /// Bytes of a card's memory that a training may take; 0: what is free. What does not fit is
  /// streamed from the machine's memory, with the same result.
  Offset device_memory = 0;
};

/// Opens "auto" (the CPU; device.h chooses for a training), "cpu", "reference", "cuda" (the first
/// card that can be used) or "cuda:N" (card number N, from 0). Other texts throw
/// Error(kInvalidArgument); a device that cannot be used throws Error(kDevice) with the reason and
/// the remedy. Error(kInvalidArgument) too for options that the device cannot honour.
[[nodiscard]] std::shared_ptr<const Backend> open_backend(std::string_view device = "auto",
                                                          const BackendOptions& options = {});

/// One line per backend known to this program and per card of this machine, for `likewise info`.
struct BackendStatus {
  std::string name;  ///< "cpu", "cuda:0"; "cuda" where there is no card
  bool available = false;
  std::string description;  ///< what it is, or why it cannot be used and what to do
  std::string tuning;       ///< where its tunings come from; empty where nothing can be tuned
};
[[nodiscard]] std::vector<BackendStatus> backend_statuses();

}  // namespace likewise
