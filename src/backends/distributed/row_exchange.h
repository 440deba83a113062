// SPDX-License-Identifier: Apache-2.0
/// The exchange of those rows of a table that each rank needs, and of no others.
#pragma once

#include <span>
#include <vector>

#include "backends/distributed/communicator.h"
#include "backends/distributed/partition.h"

namespace likewise {

class RowExchange {
 public:
  /// Tells the owners what this rank needs: rising row numbers of the whole table, of which `parts`
  /// says who holds which. A collective call, as is fetch().
  RowExchange(Communicator& ranks, const Partition& parts, std::vector<Index> needed);

  [[nodiscard]] std::span<const Index> needed() const { return needed_; }
  /// `own` are this rank's rows, of `numbers` each; `rows` gets those needed, in their order.
  void fetch(Communicator& ranks, std::span<const float> own, Offset numbers,
             std::span<float> rows) const;

 private:
  Index first_;  ///< this rank's first row
  std::vector<Index> needed_;
  std::vector<Offset> begins_;              ///< place in needed_ of each rank's rows, and the end
  std::vector<std::vector<Index>> wanted_;  ///< by rank: which of this rank's rows it needs
};

}  // namespace likewise
