// SPDX-License-Identifier: Apache-2.0
/// Numbers that do not fit: found before they are computed with, or as soon as they come out.
#pragma once

#include <span>
#include <string_view>

#include "likewise/csr.h"
#include "likewise/knn.h"
#include "likewise/model.h"

namespace likewise {

/// The largest size of a rating that ALS takes, and of the confidence that a value gets: what is
/// computed from them in float32, up to the square of a long row's sum, then does not overflow.
inline constexpr double kLargestRating = 1e9;
inline constexpr double kLargestConfidence = 1e12;
/// The smallest spread of ratings that steps of SGD take, where it is one: what they divide by it
/// and its powers stays a number that a model may hold.
inline constexpr double kSmallestRatingSpread = 1e-8;

/// Throws PlacedError(kBadData) that names value, user and item for a value beyond what training by
/// ALS, comparing rows or averaging can compute with.
void check_values(const CsrView& by_user, const AlsParams& params);
void check_values(const CsrView& by_user, const SgdParams& params);
void check_values(const CsrView& by_user, const KnnParams& params);
void check_values(const CsrView& by_user, const BiasParams& params);

/// For a device that computes with weights of 0 and more only, and with lambdas by numbers of
/// entries. Throws PlacedError(kBadData) that names the device, and value, user and item of the
/// smallest confidence below 1 (confidence given), or of a value that is no like where likes are
/// counted.
void check_weights(const CsrView& by_user, const AlsParams& params, std::string_view device);

/// Throws PlacedError(kNumerical) that names the two rows of a similarity that is not finite.
void check_similarities(const KnnLists& neighbours, Side side);

/// Throws Error(kNumerical) that names user and item where a score is not finite; indices of -1 are
/// users and items that the model does not know.
void check_score(const Model& model, Index user, Index item, float score);
/// The same for scores[i] of `user` for item first + i.
void check_scores(const Model& model, Index user, Index first, std::span<const float> scores);

}  // namespace likewise
