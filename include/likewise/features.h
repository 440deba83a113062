// SPDX-License-Identifier: Apache-2.0
/// Features: what is known of items (or users) beside interactions, as tags; files of them; and how
/// a model learns what its factors have to do with tags, so that items without interactions have
/// factors too.
///
/// A tag is any text: a genre, an author, "year=1990..1995". Row i carries tag t with a weight.
/// math.md ("Features") has the formulas.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/array.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/interactions.h"
#include "likewise/matrix.h"
#include "likewise/parameters.h"
#include "likewise/types.h"

namespace likewise {

struct Model;

/// The tags of some rows of a side, as a file gives them.
struct FeatureTable {
  IdMap ids;          ///< those that carry a tag
  IdMap tags;         ///< their names
  CsrMatrix weights;  ///< ids x tags, above 0
  /// Columns that name their tags, of which FeatureOptions::known has none.
  std::vector<std::string> unknown_columns{};
};

/// The columns that name these tags, "column=tag". None where some are without: those of one column
/// alone.
[[nodiscard]] std::vector<std::string> feature_columns(const IdMap& tags);

struct FeatureOptions {
  /// Names or 1-based numbers: the id, then the columns of tags. Empty: the id is the column with a
  /// well-known name (movieId, userId, id and their like, then item or user), else the first; all
  /// others hold tags, but those with well-known names of the other side or of times.
  std::vector<std::string> columns{};
  bool is_csv = false;           ///< commas between fields; else detected
  std::optional<bool> header{};  ///< whether the first row names the columns; absent: detected
  /// Tags that a model has learned: numbers are cut into the parts, and tags named, as there. A
  /// number outside of all parts is in the nearest one. Null: none.
  const IdMap* known = nullptr;
};

/// What reading features met.
struct FeatureSummary {
  std::string format;       ///< e.g. "csv; id movieId, tags genres"
  Offset without_tags = 0;  ///< rows whose cells are all empty
};

/// Reads delimited text, plain, gzip or zstd; "-" reads standard input. Delimiter, header and
/// quotes are as of interactions (likewise/read.h). A row is an id and its cells; rows of one id
/// add up.
///
/// * A cell of text holds tags, with "|" between several. Of several columns of tags each tag is
///   named "column=tag".
/// * A column of numbers with more than 10 different ones is cut into 10 parts of about as many
///   rows each, whose tags are named "column=3..7". A column whose name ends in "id" or is "tag"
///   holds text.
/// * Of two columns beside the id, where the second is named weight, count, score, relevance or the
///   like, that one has the weights of the tags: above 0, or the row carries nothing.
///
/// Errors: kNotFound, kIo, kBadData (file, line and value: a row with more fields than the header,
/// without an id, with a weight that is none; no tags at all), kInvalidArgument (columns that are
/// not there).
[[nodiscard]] FeatureTable read_features(const std::string& path, Side side,
                                         const FeatureOptions& options = {},
                                         FeatureSummary* summary = nullptr);
/// The same of a text; `file` is its name in messages.
[[nodiscard]] FeatureTable features_from_text(std::string_view text, const std::string& file,
                                              Side side, const FeatureOptions& options = {},
                                              FeatureSummary* summary = nullptr);

/// What a model knows of the tags of one side. Without tags: nothing.
struct Features {
  IdMap tags;
  CsrMatrix weights;    ///< rows of the side x tags, as in the files
  Array<float> idf;     ///< of each tag; 0 where fewer than two rows carry it
  Matrix factors;       ///< tags x factors: what a tag adds to the factors of a row
  Array<float> bias;    ///< the same of biases; empty where the side has none
  float mean_bias = 0;  ///< of rows with interactions, which `bias` is about
  double regularization = 0;

  [[nodiscard]] bool empty() const { return tags.size() == 0; }
};

/// One tag of a row and how much of its normalised weights it has.
struct TagShare {
  Index tag = 0;
  double share = 0;
};
/// The tags of a row, tags rising: shares whose squares sum to 1. None where all idf are 0.
[[nodiscard]] std::vector<TagShare> tag_shares(const Features& features, Index row);
/// The same of a row with these tags, rising, and their weights.
[[nodiscard]] std::vector<TagShare> tag_shares(const Features& features,
                                               std::span<const Index> tags,
                                               std::span<const float> weights);
/// What they add up to: factors, and behind them the bias where the side has one.
[[nodiscard]] std::vector<double> sum_of_tags(const Features& features,
                                              std::span<const TagShare> shares);

struct FeatureLearning {
  /// Of the regression of factors on tags, 1e-6 to 1e9; absent: that of 0.01, 0.03, 0.1, ... 300
  /// which predicts the scores of a fifth of the rows best.
  std::optional<double> regularization{};
};

/// What came of it.
struct LearnedFeatures {
  Index joined = 0;     ///< rows that the model had not known
  Index cold = 0;       ///< rows without interactions that have factors by their tags now
  Index tags = 0;       ///< that at least two rows carry
  Index untagged = 0;   ///< rows of the model without a tag
  Index strangers = 0;  ///< rows without interactions, none of whose tags was learned
  double regularization = 0;
};

/// The tags of both sides, and how a model learns from them.
struct FeatureTables {
  std::optional<FeatureTable> users{};
  std::optional<FeatureTable> items{};
  FeatureLearning learning{};

  [[nodiscard]] bool empty() const { return !users && !items; }
};

/// Throws Error(kInvalidArgument) where models of these parameters have no factors, which features
/// are about.
void require_features(const TrainingParams& params);

/// Throws what add_features() would to a model of `data`, before there is one.
void check_features(const Interactions& data, const FeatureTables& tables);

/// Adds rows and tags of `table` to those that the model has of this side, and learns from its
/// factors, as they are, what tags add to them. Rows without interactions get the factors (and
/// bias) of their tags; those of all others stay as they are, bit-identical. Deterministic.
/// Errors: kInvalidArgument (as require_features(); a checkpoint), kBadData (neither an id
/// nor a tag of the table is known to the model; no tag that two rows carry), kCancelled.
LearnedFeatures add_features(Model& model, Side side, const FeatureTable& table,
                             const FeatureLearning& learning = {}, const RunControl& control = {});

/// What came of the tables that were given.
struct LearnedTables {
  std::optional<LearnedFeatures> users{};
  std::optional<LearnedFeatures> items{};
};
/// The same of both sides.
LearnedTables add_features(Model& model, const FeatureTables& tables,
                           const RunControl& control = {});

/// Both, as models have them that rows of `more` joined: those of a table, by add_features().
[[nodiscard]] IdMap ids_with(const IdMap& ids, const IdMap& more);

/// The items, or users, that nobody has touched but whose tags the model has learned; rising.
[[nodiscard]] std::vector<Index> rows_by_features(const Model& model, Side side);

}  // namespace likewise
