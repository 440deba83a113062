// SPDX-License-Identifier: Apache-2.0
/// What ranks exchange in a half-step of ALS, and which way is the cheapest. A pure function of
/// counts, so that ranks which know the same counts choose the same. Formulas: math.md,
/// "Training over ranks".
#pragma once

#include <array>
#include <optional>
#include <string>

#include "backends/distributed/partition.h"
#include "backends/jobs/als_solver.h"
#include "likewise/als.h"
#include "likewise/csr.h"

namespace likewise {

/// kReplicate: every rank gets all rows of the fixed side and solves its own rows.
/// kSums: every rank adds its rows of the fixed side to the systems of all rows being solved; each
/// rank gets the sums of its own rows and solves these. Few, long rows (Tan et al. 2018).
/// kNeeded: as kReplicate, with only those rows of the fixed side that the rank's own rows meet.
enum class AlsExchange { kReplicate, kSums, kNeeded };
inline constexpr int kAlsExchanges = 3;

/// What the rank that has the most of it has in a half-step.
struct AlsRankLoad {
  Offset other_rows = 0;      ///< rows of the fixed side that other ranks hold
  Offset needed_rows = 0;     ///< of these, those that its own rows meet
  Offset solved_rows = 0;     ///< rows that it solves
  Offset fixed_entries = 0;   ///< interactions of its rows of the fixed side
  double row_operations = 0;  ///< of solving its rows: AlsRowCost::row()
};

/// How fast one rank is.
struct RankSpeed {
  double bytes = 0.0;       ///< per second, from another rank
  double operations = 0.0;  ///< multiply-adds per second
};
/// Threads that share a memory, in round numbers.
inline constexpr RankSpeed kThreadSpeed{4e9, 2e10};
/// Processes over a network of 10 Gbit/s, in round numbers.
inline constexpr RankSpeed kNetworkSpeed{1e9, 2e10};

struct AlsExchangeCost {
  double bytes = 0.0;       ///< that this rank receives
  double operations = 0.0;  ///< multiply-adds of this rank
  double seconds = 0.0;
};
struct AlsExchangePlan {
  AlsExchange chosen = AlsExchange::kReplicate;
  std::array<AlsExchangeCost, kAlsExchanges> costs;  ///< in the order of AlsExchange
};

/// Numbers of one row's system, as ranks exchange it: the upper triangle of its matrix, its right
/// side and its constant.
[[nodiscard]] constexpr Offset system_numbers(Index width) {
  return Offset{width} * (Offset{width} + 1) / 2 + width + 1;
}

/// Parts of about equal cost: the costliest is as cheap as contiguous parts allow.
[[nodiscard]] Partition cut_rows_equally(const CsrView& rows, int ranks, const AlsRowCost& cost);

/// From the matrix by rows of the solved side and by rows of the fixed side.
[[nodiscard]] AlsRankLoad rank_load(const CsrView& solved, const Partition& solved_parts,
                                    const CsrView& fixed, const Partition& fixed_parts,
                                    const AlsRowCost& cost);

/// A rank's own share of it, from its rows of the side being solved. Of the fixed side it has rows
/// [own_first, own_end) with so many interactions.
[[nodiscard]] AlsRankLoad own_load(const CsrView& own_rows, Index own_first, Index own_end,
                                   Offset fixed_entries, const AlsRowCost& cost);
/// The larger of each.
[[nodiscard]] AlsRankLoad larger_load(const AlsRankLoad& a, const AlsRankLoad& b);

/// `forced`: that one, whatever it costs.
[[nodiscard]] AlsExchangePlan plan_exchange(const AlsRankLoad& load, int ranks,
                                            const AlsParams& params, const AlsRowCost& cost,
                                            const RankSpeed& speed,
                                            std::optional<AlsExchange> forced = {});

/// For people: "users: needed rows, 1.2 MiB and 3.4e+09 operations for a rank (partial sums ...)".
[[nodiscard]] std::string describe(Side solved, const AlsExchangePlan& plan);

/// How the ranks of one training share it. The same on all ranks.
struct AlsRanksPlan {
  AlsShape shape;  ///< of the whole matrix
  Partition users;
  Partition items;
  std::array<AlsExchangePlan, 2> exchanges;  ///< of the half-steps that solve users, items

  [[nodiscard]] const Partition& parts(Side side) const {
    return side == Side::kUsers ? users : items;
  }
  [[nodiscard]] const AlsExchangePlan& exchange(Side solved) const {
    return exchanges[solved == Side::kItems];
  }
};

/// `forced` as in plan_exchange(), for the half-steps that solve users and items.
[[nodiscard]] AlsRanksPlan plan_ranks(const CsrView& by_user, const CsrView& by_item,
                                      const AlsParams& params, int ranks, const RankSpeed& speed,
                                      const std::array<std::optional<AlsExchange>, 2>& forced = {});

}  // namespace likewise
