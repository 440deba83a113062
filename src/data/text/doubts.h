// SPDX-License-Identifier: Apache-2.0
/// Files that could be read as rows of interactions and are something else: each is refused by its
/// name, with what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/text/format.h"

namespace likewise {

/// Pointers of Git LFS, pages and messages of servers: what a download left in place of data.
/// Throws kBadData.
void refuse_other_texts(std::string_view text, const std::string& file);
/// Blocks of Netflix and the KDD Cup, libsvm and libffm, by the first lines. Throws
/// kInvalidArgument or kBadData.
void refuse_other_lines(const std::vector<std::string_view>& lines, const std::string& file,
                        const ReadOptions& options);
/// Judgements and runs of TREC, before columns are chosen. Throws kInvalidArgument.
void refuse_trec(const FileFormat& format, const SampleRows& sample, const ReadOptions& options);
/// A delimiter nobody gave that leaves another one inside of every user or item, unless a header
/// names both or the fields are quoted, and sentences of words between spaces. `sample` and its
/// `lines` have no header. Throws kInvalidArgument.
void refuse_doubtful_table(const FileFormat& format, const SampleRows& sample,
                           const std::vector<std::string_view>& lines, const ReadOptions& options);

}  // namespace likewise
