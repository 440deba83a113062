// SPDX-License-Identifier: Apache-2.0
/// `Queries`: questions to a model, and answers in ids, titles and reasons. What every front door
/// does between what it was sent and what it sends back stands here; the doors read and write.
/// `Recommender` below it knows indices alone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/features.h"
#include "likewise/interactions.h"
#include "likewise/model.h"
#include "likewise/read.h"
#include "likewise/recommender.h"
#include "likewise/titles.h"
#include "likewise/types.h"

namespace likewise {

// From ids to rows of a model.

/// The row of an id. Error(kNotFound) names the id and shows what ids look like here, or the id of
/// an item that has it as its title. `kind` is "user" or "item", `where` the place that named it,
/// as "ids.txt:3: ", or "".
[[nodiscard]] Index row_of(const IdMap& ids, std::string_view id, std::string_view kind,
                           std::string_view where = {}, const Titles& titles = {});

enum class UnknownIds {
  kRefuse,    ///< Error(kNotFound), as row_of()
  kLeaveOut,  ///< counted
};

struct FoundRows {
  std::vector<Index> rows;
  Offset unknown = 0;  ///< ids that the model does not have
};
/// The rows of several ids, in their order.
[[nodiscard]] FoundRows rows_of(const IdMap& ids, std::span<const std::string> names,
                                std::string_view kind, UnknownIds unknown = UnknownIds::kRefuse,
                                const Titles& titles = {});

/// Where each id of `from` is in `to`; -1 where it is not.
[[nodiscard]] std::vector<Index> translate(const IdMap& from, const IdMap& to);

// Users who were not trained.

/// What somebody likes, in ids.
struct Like {
  std::string item;
  std::optional<float> value{};  ///< absent: value_of_a_like()
};

/// Of one who is only known to like something: 1, and the highest rating where the model learned
/// from ratings, since a 1 would say the opposite.
[[nodiscard]] float value_of_a_like(const Model& model);

/// What a user of the model did. Error(kInvalidArgument) for an index that none has.
[[nodiscard]] FoldInRow history_of(const Model& model, Index user);

/// `row` and what came after it, the latest last: what a user of the model and its new likes are
/// together. `duplicates` says what two values of an item become, as for update_model(): kSum,
/// kLast or kMax. Likes of items that the model does not have are left out, and counted in
/// `unknown` where it is not null.
[[nodiscard]] FoldInRow with_likes(const Model& model, const FoldInRow& row,
                                   std::span<const Like> later, Duplicates duplicates,
                                   Offset* unknown = nullptr);

/// Users who were not trained, by what they did or by their features.
struct Visitors {
  std::vector<std::string> names{};
  std::vector<FoldInRow> rows{};  ///< one for each name, in the model's items
  Offset unknown = 0;             ///< likes of items that the model does not have: left out
  Index strangers = 0;  ///< visitors none of whose features the model has learned: left out

  /// An item that comes twice counts once; Error(kInvalidArgument) where its values differ.
  void add(const Model& model, std::string name, std::span<const Like> likes,
           UnknownIds unknown_ids = UnknownIds::kRefuse);
  /// One whose row is there already, as with_likes() makes it.
  void add(std::string name, FoldInRow row);
};
/// Every user of `data`.
[[nodiscard]] Visitors visitors_of(const Model& model, const Interactions& data);

/// Everybody of `table`, by those of its tags that the model has learned of its users; the table is
/// best read with FeatureOptions::known. `unknown`: one with no such tag is an Error(kBadData), or
/// left out. Error(kInvalidArgument) for a model that has learned no features of users.
[[nodiscard]] Visitors visitors_of(const Model& model, const FeatureTable& table,
                                   UnknownIds unknown = UnknownIds::kRefuse);

// Questions and answers.

struct Everybody {};
/// Who or what is asked about: all rows of the model, some, or users who were not trained.
using Asked = std::variant<Everybody, std::vector<Index>, Visitors>;

struct RecommendQuestion {
  Asked users{};
  Index n = 10;                               ///< answers per user, >= 1
  bool include_seen = false;                  ///< also items of the user's history
  std::optional<std::vector<Index>> allow{};  ///< only these items
  std::vector<Index> deny{};                  ///< never these
  int reasons = 0;  ///< past items that speak for an answer, so many of them at most
};

struct SimilarQuestion {
  Side side = Side::kItems;
  Asked rows{};  ///< visitors: users nearest to them, by a user-knn model
  Index n = 10;
  /// Absent: cosine. Error(kInvalidArgument) where a model keeps neighbours of its own.
  std::optional<SimilarityMetric> metric{};
};

/// A past item, or a tag of an item that nobody has touched or of a visitor by features, and its
/// part of the score.
struct Reason {
  std::string item;   ///< its id; the name of the tag
  std::string title;  ///< as that of an answer
  float value = 0.0F;
  double share = 0.0;
  bool is_tag = false;
};

struct Answer {
  std::string id;
  std::string title;  ///< what people read: the id where an item has no title; empty without titles
  float score = 0.0F;
  std::vector<Reason> reasons;  ///< those that speak for it, largest share first
};

/// An item's score for one who asks, and all past items that it is made of.
struct Why {
  std::string item;
  std::string title;  ///< as that of an answer
  double score = 0.0;
  double baseline = 0.0;        ///< the part that no past item causes
  std::vector<Reason> reasons;  ///< largest share first, those that speak against it last
};

/// The answers to one who asked, best first.
struct AnswerList {
  std::string asked;  ///< id, or a visitor's name
  std::vector<Answer> answers;
};
/// Called list by list, in the order of the question.
using TakeList = std::function<void(const AnswerList& list)>;

/// What a question came to.
struct QuerySummary {
  Offset asked = 0;
  Offset answers = 0;
  Offset short_lists = 0;  ///< with fewer than n answers: the filters left no more
};

/// Predictions of the pairs of a file.
struct PairPredictions {
  std::vector<float> values;  ///< one for each pair
  /// Pairs that name a user or an item that nothing is known of: predicted from the other side.
  Offset unknown = 0;
};

/// Thread-safe, as Recommender. Memory is bounded, whatever the question.
class Queries {
 public:
  /// `titles`: of the model's items, Error(kBadData) of others; those of the model where they are
  /// empty. The rest is as of Recommender, whose errors come through with ids in place of rows.
  Queries(std::shared_ptr<const Model> model, Device device, Titles titles = {},
          std::optional<bool> clip = {});

  [[nodiscard]] const Model& model() const { return recommender_.model(); }
  [[nodiscard]] const Recommender& recommender() const { return recommender_; }
  [[nodiscard]] const Titles& titles() const { return titles_; }

  QuerySummary recommend(const RecommendQuestion& question, const TakeList& take,
                         const RunControl& control = {}) const;
  QuerySummary similar(const SimilarQuestion& question, const TakeList& take,
                       const RunControl& control = {}) const;
  /// `visitors`: users of the pairs who were not trained, by name.
  [[nodiscard]] PairPredictions predict(const Pairs& pairs, const Visitors& visitors = {},
                                        const RunControl& control = {}) const;
  /// Why `item` for a user of the model.
  [[nodiscard]] Explanation explain(Index user, Index item) const;
  /// The same in ids and titles, for anybody with this history.
  [[nodiscard]] Why why(const FoldInRow& history, Index item) const;

 private:
  class Lists;

  Recommender recommender_;
  Titles titles_;
};

}  // namespace likewise
