// SPDX-License-Identifier: Apache-2.0
#include "algorithms/bpr/stripe_pairs.h"

namespace likewise {

std::vector<StripePair> stripe_pairs(Index stripes, int epoch) {
  std::vector<StripePair> pairs;
  const Index round = (epoch - 1) % stripes;
  if (round == 0) {
    for (Index q = 0; q < stripes; ++q) pairs.push_back({q, q});
    return pairs;
  }
  const Index others = stripes - 1;  // stand in a circle around the last one
  const Index turn = round - 1;
  pairs.push_back({others, turn});
  for (Index step = 1; step < stripes / 2; ++step) {
    pairs.push_back({(turn + step) % others, (turn + others - step) % others});
  }
  return pairs;
}

}  // namespace likewise
