// SPDX-License-Identifier: Apache-2.0
/// Interactions that ranks read in any order, brought to the ranks that hold their rows.
#pragma once

#include <span>
#include <vector>

#include "backends/distributed/communicator.h"
#include "backends/distributed/partition.h"
#include "likewise/array.h"
#include "likewise/csr.h"
#include "likewise/rank_training.h"

namespace likewise {

/// Interactions sorted by the rank that holds their users.
class StagedInteractions {
 public:
  StagedInteractions(const Partition& users, Index items);

  /// Throws Error(kBadData) naming an index out of its range, or a value that is not finite.
  void add(std::span<const Index> users, std::span<const Index> items,
           std::span<const float> values);

  /// Each rank's users x all items, with columns that rise: what all ranks staged for them. A
  /// collective call, which gives up what was staged. `repeated` gets how many interactions went
  /// into another one here.
  [[nodiscard]] CsrMatrix share(Communicator& ranks, RepeatedCells policy, Offset& repeated);

 private:
  struct Block {
    std::vector<Index> users;
    std::vector<Index> items;
    std::vector<float> values;
  };
  const Partition& users_;
  Index items_;
  std::vector<std::vector<Block>> staged_;  ///< by the rank that holds the user
};

/// The rank's items x all users, from each rank's users x all items. A collective call.
[[nodiscard]] CsrMatrix share_by_item(Communicator& ranks, const CsrView& own_users,
                                      const Partition& users, const Partition& items);

}  // namespace likewise
