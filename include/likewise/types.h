// SPDX-License-Identifier: Apache-2.0
/// Numbers that every part shares.
#pragma once

#include <cstdint>
#include <string_view>

namespace likewise {

/// A row or column number: a user, an item, a factor. Never negative in valid data.
using Index = std::int32_t;

/// A position among interactions, or any product of two counts: these pass 2^31.
using Offset = std::int64_t;

/// The largest size of a factor, a bias or a compared value: products of two, and sums of such
/// products, are finite in float32.
inline constexpr float kLargestNumber = 1e15F;

/// The two sides of an interaction matrix. Every algorithm treats them by one function.
enum class Side { kUsers, kItems };

[[nodiscard]] constexpr Side other(Side side) {
  return side == Side::kUsers ? Side::kItems : Side::kUsers;
}

[[nodiscard]] constexpr const char* side_name(Side side) {
  return side == Side::kUsers ? "users" : "items";
}

/// What the values mean. Implicit: strength of a signal (counts, plays; negative = dislike), every
/// missing cell counts as a weak "no". Explicit: ratings, missing cells are unknown.
enum class Feedback { kImplicit, kExplicit };

/// Their names everywhere, in the order above.
inline constexpr std::string_view kFeedbackNames[] = {"implicit", "explicit"};

}  // namespace likewise
