// SPDX-License-Identifier: Apache-2.0
/// The parameters of EASE; the fields of EaseParams say the same to C++.
#pragma once

#include "algorithms/parameters/parameter.h"
#include "likewise/ease.h"

namespace likewise {

template <>
struct EnumNames<EaseForm> {
  static constexpr std::span<const std::string_view> kAll = kEaseFormNames;
};

template <>
struct Description<EaseParams> {
  using P = EaseParams;

  using Searched = std::optional<SearchRange>;
  static constexpr bool scales_items(const P& p) { return p.scale_items; }
  static constexpr bool is_local(const P& p) { return p.form == EaseForm::kLocal; }

  static constexpr auto kAll = std::tuple{
      Parameter{"feedback", &P::feedback, kFeedbackMeaning},
      Parameter{"user_exponent", &P::user_exponent,
                "How little users with many entries count: the exponent of a user's entries"}
          .between(0.0, 2.0, "in [0, 2]")
          .searched([](const P&, const P&) -> Searched { return linear_range(0.0, 1.0); }),
      Parameter{"scale_items", &P::scale_items,
                "Learn from what items have in common relative to their entries; off, with "
                "{user_exponent 0}, is plain EASE, which needs a {regularization} of hundreds"},
      Parameter{"item_exponent", &P::item_exponent, "How much popular items are damped"}
          .share()
          .searched([](const P& p, const P&) -> Searched {
            return p.scale_items ? Searched(linear_range(0.0, 1.0)) : std::nullopt;
          })
          .only_if(scales_items, "{scale_items on}"),
      Parameter{"regularization", &P::regularization, "lambda: pulls weights to 0"}
          .positive()
          .searched([](const P&, const P& usual) -> Searched {
            return log_range(usual.regularization / 30.0, usual.regularization * 30.0);
          }),
      Parameter{"dropout", &P::dropout,
                "p: weights that do not rely on any one item, as if entries were left out with "
                "this probability"}
          .between(0.0, 0.99, "in [0, 0.99]")
          .searched([](const P&, const P&) -> Searched { return linear_range(0.0, 0.9); }),
      Parameter{"form", &P::form,
                "dense: weights of all pairs of items; local: of each item and its most similar "
                "ones"}
          .left_open("dense where items x items numbers fit into memory, else local"),
      Parameter{"candidates", &P::candidates,
                "M: most similar items of an item, by {similarity rp3}, that have weights"}
          .between(1, 4096, "in [1, 4096]")
          .only_if(is_local, "{form local}")};
};

}  // namespace likewise
