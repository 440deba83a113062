// SPDX-License-Identifier: Apache-2.0
/// The random streams of the generators: one number for each thing that is drawn.
#pragma once

#include "core/random.h"

namespace likewise {

enum SyntheticStream : std::uint32_t {
  kStreamCounts = kStreamSynthetic,  ///< how much each user consumes
  kStreamRemainder,
  kStreamRanks,        ///< which item has which rank of popularity
  kStreamCentres,      ///< of clusters
  kStreamPlaces,       ///< of items
  kStreamTastes,       ///< of users
  kStreamRows,         ///< what each user consumes, and the values' noise
  kStreamTitles,       ///< the demo's films
  kStreamReputations,  ///< how popular each film is
  kStreamViewers,      ///< the demo's viewers
  kStreamViewings,     ///< the demo's rows
};

}  // namespace likewise
