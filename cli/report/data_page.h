// SPDX-License-Identifier: Apache-2.0
/// The page of `likewise info --report`.
#pragma once

#include <string>

#include "likewise/csr.h"

namespace likewise::cli {

/// Counts, histograms and pattern of sparsity of interactions. Whole or not there, like every
/// output file.
void write_data_page(const std::string& title, const CsrView& by_user, const std::string& path);

}  // namespace likewise::cli
