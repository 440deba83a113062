// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "backends/cuda/jobs.h"
#include "likewise/error.h"

namespace likewise {

std::unique_ptr<AlsSolver> make_cuda_als_solver(int device, const CsrView&, const AlsParams&,
                                                Factors, int) {
  throw Error(ErrorKind::kDevice,
              fmt::format("device cuda:{}: this build cannot train on a card; use cpu", device));
}

}  // namespace likewise
