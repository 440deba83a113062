// SPDX-License-Identifier: Apache-2.0
/// POST /v1/recommend. Questions that differ in nothing but who asks are answered together.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

/// A request, or the part of it that one model answers, in rows of the model.
struct Question {
  std::size_t model = 0;  ///< its place among those that are served
  RecommendQuestion question;
  LeftOut left_out;
  /// Users whom the split gave this model, and no visitors: whether they follow is counted.
  bool is_counted = false;
  /// Users who did something since the model was made, beside `question.users`, which are then the
  /// rows of all others.
  Visitors live{};
  std::vector<bool> is_live{};  ///< of each user in turn, where there are live ones

  [[nodiscard]] bool of_visitors() const {
    return std::holds_alternative<Visitors>(question.users);
  }
  [[nodiscard]] std::size_t lists() const {
    if (const auto* visitors = std::get_if<Visitors>(&question.users)) return visitors->rows.size();
    return std::get<std::vector<Index>>(question.users).size() + live.rows.size();
  }
  /// Users of the model, in part: an answer of two calls.
  [[nodiscard]] bool is_mixed() const { return !live.rows.empty(); }
};

[[nodiscard]] std::string visitor_name(const Json& visitor, std::size_t at) {
  return visitor.contains("name") ? id_of(visitor["name"]) : fmt::format("visitor {}", at + 1);
}

[[nodiscard]] Visitors visitors_in(const Json& request, const Model& model, LeftOut& left_out) {
  const UnknownIds unknown = unknown_of(request);
  Visitors visitors;
  if (request.contains("likes")) {
    add_visitor(visitors, model, "visitor", request["likes"], unknown, left_out.items);
    return visitors;
  }
  const Json& all = request["visitors"];
  for (std::size_t v = 0; v < all.size(); ++v) {
    add_visitor(visitors, model, visitor_name(all[v], v), all[v]["likes"], unknown, left_out.items);
  }
  return visitors;
}

/// Users as they are now. Where all of them did something new, they are visitors.
void read_users(const Json& request, std::vector<std::string> users, const Service& service,
                const ServedModel& model, Question& read) {
  const UnknownIds unknown = unknown_of(request);
  read.is_counted = service.has_events() && !named_model(service, request);
  std::vector<Index> rows;
  for (std::string& user : users) {
    Who who = service.who(model, user);
    if (std::holds_alternative<std::monostate>(who)) {
      refuse_or_count(user, "user", "users", unknown, read.left_out.users);
      continue;
    }
    read.is_live.push_back(std::holds_alternative<FoldInRow>(who));
    if (read.is_live.back()) {
      read.live.add(std::move(user), std::get<FoldInRow>(std::move(who)));
    } else {
      rows.push_back(std::get<Index>(who));
    }
  }
  if (rows.empty() && read.is_mixed()) {
    read.question.users = std::exchange(read.live, {});
  } else {
    read.question.users = std::move(rows);
  }
}

[[nodiscard]] std::vector<Index> items_in(const Json& request, const char* parameter,
                                          const Model& model, LeftOut& left_out) {
  return known_rows(model.items, ids_of(request[parameter]), "item", parameter, unknown_of(request),
                    left_out.items);
}

void read_filters(const Json& request, const Model& model, Question& read) {
  if (request.contains("allow")) {
    read.question.allow = items_in(request, "allow", model, read.left_out);
    if (read.question.allow->empty()) {
      throw Fault(FaultKind::kInvalidArgument,
                  "allow has no item that the model knows, so nothing may be recommended", "allow");
    }
  }
  if (request.contains("deny")) {
    read.question.deny = items_in(request, "deny", model, read.left_out);
  }
}

/// What `users`, which are some of the request's, or its visitors ask of a model.
[[nodiscard]] Question read_question(const Json& request, std::vector<std::string> users,
                                     const Service& service, const ServedModel& served,
                                     std::size_t place) {
  const Model& model = served.model();
  Question read;
  read.model = place;
  read.question.n = request.value("n", kUsualN);
  read.question.include_seen = request.value("include_seen", false);
  read.question.reasons = request.value("reasons", 0);
  if (request.contains("users")) {
    read_users(request, std::move(users), service, served, read);
  } else {
    read.question.users = visitors_in(request, model, read.left_out);
  }
  read_filters(request, model, read);
  return read;
}

void check_size(const Limits& limits, Offset lists, Index n, Index reasons) {
  check_answers(lists, n, limits.answers);
  if (reasons > 0) check_answers(lists, n, limits.explained);
}

/// The users of a request by the models that answer them; nobody's where it is of visitors, whom
/// the model that is named or the first answers.
struct Audience {
  std::vector<std::vector<std::string>> users;  ///< of each model
  std::vector<std::size_t> models;              ///< of each user in turn
  std::optional<std::size_t> only;              ///< the model that answers all of it
};
[[nodiscard]] Audience audience_of(const Json& request, const Service& service) {
  Audience all{std::vector<std::vector<std::string>>(service.split().size()), {}, {}};
  if (!request.contains("users")) {
    all.only = model_for_anyone(service, request);
    return all;
  }
  for (std::string& user : ids_of(request["users"])) {
    all.models.push_back(model_for(service, request, user));
    all.users[all.models.back()].push_back(std::move(user));
  }
  if (std::ranges::count(all.models, all.models.front()) == std::ssize(all.models)) {
    all.only = all.models.front();
  }
  return all;
}

/// `model`: its name, where there are several.
void write_list(JsonText& text, const AnswerList& list, const std::string& model, bool reasons) {
  text.begin_object().key("user").value(list.asked);
  if (!model.empty()) text.key("served_by").value(model);
  text.key("items").begin_array();
  for (const Answer& answer : list.answers) {
    text.begin_object();
    write_item(text, answer.id, answer.title);
    text.key("score").value(answer.score);
    if (reasons) write_reasons(text, answer.reasons);
    text.end_object();
  }
  text.end_array().end_object();
}

/// Lists in the order of the users, whether they did something new or not.
void recommend_mixed(const Queries& queries, const Question& asked, const TakeList& take) {
  std::vector<AnswerList> known;
  std::vector<AnswerList> live;
  RecommendQuestion question = asked.question;
  queries.recommend(question, [&](const AnswerList& list) { known.push_back(list); });
  question.users = asked.live;
  queries.recommend(question, [&](const AnswerList& list) { live.push_back(list); });
  auto next_known = known.begin();
  auto next_live = live.begin();
  for (const bool is_live : asked.is_live) take(is_live ? *next_live++ : *next_known++);
}

void ask(const ServedModel& model, const Question& asked, const TakeList& take) {
  if (asked.is_mixed()) {
    recommend_mixed(model.queries(), asked, take);
  } else {
    model.queries().recommend(asked.question, take);
  }
}

/// The body of an answer, list by list.
class Body {
 public:
  Body(const Service& service, const std::string& fingerprints) : service_(service) {
    text_.begin_object().key("model").value(fingerprints);
    text_.key("lists").begin_array();
  }
  void add(const AnswerList& list, const Question& asked) {
    write_list(text_, list, service_.split().names()[asked.model], asked.question.reasons > 0);
    if (!asked.is_counted) return;
    for (const Answer& one : list.answers) {
      service_.follows().offer(asked.model, list.asked, one.id);
    }
  }
  [[nodiscard]] std::string finish(const LeftOut& left_out) {
    text_.end_array();
    write_left_out(text_, left_out);
    text_.end_object();
    return text_.take();
  }

 private:
  const Service& service_;
  JsonText text_;
};

[[nodiscard]] std::string answer_one(const Service& service, const ServedModel& model,
                                     const Question& asked) {
  Body body(service, model.fingerprint());
  ask(model, asked, [&](const AnswerList& list) { body.add(list, asked); });
  return body.finish(asked.left_out);
}

/// Lists of several models, in the order of the users. Users that are left out have none.
[[nodiscard]] std::string answer_split(const Service& service, const Json& request,
                                       const Audience& audience) {
  struct Part {
    Question asked;
    std::vector<AnswerList> lists;
    std::size_t next = 0;
  };
  std::vector<Part> parts(audience.users.size());
  std::string fingerprints;
  LeftOut left_out;
  for (std::size_t m = 0; m < parts.size(); ++m) {
    if (audience.users[m].empty()) continue;
    const auto model = service.model(m);
    add_fingerprint(fingerprints, *model);
    parts[m].asked = read_question(request, audience.users[m], service, *model, m);
    ask(*model, parts[m].asked, [&, m](const AnswerList& list) { parts[m].lists.push_back(list); });
    left_out.users += parts[m].asked.left_out.users;
    left_out.items = std::max(left_out.items, parts[m].asked.left_out.items);  // the same filters
  }
  Body body(service, fingerprints);
  std::vector<std::size_t> at(parts.size());
  for (const std::size_t m : audience.models) {
    Part& part = parts[m];
    const std::string& user = audience.users[m][at[m]++];
    if (part.next == part.lists.size() || part.lists[part.next].asked != user) continue;
    body.add(part.lists[part.next++], part.asked);
  }
  return body.finish(left_out);
}

[[nodiscard]] Offset lists_asked(const Json& request) {
  for (const char* several : {"users", "visitors"}) {
    const auto found = request.find(several);
    if (found != request.end()) return std::ssize(*found);
  }
  return 1;
}

void check_whole(const Service& service, const Json& request) {
  check_size(service.limits(), lists_asked(request), request.value("n", kUsualN),
             request.value("reasons", 0));
}

[[nodiscard]] std::string recommend(const Service& service, const Json& request) {
  check_whole(service, request);
  Audience audience = audience_of(request, service);
  if (!audience.only) return answer_split(service, request, audience);
  const std::size_t m = *audience.only;
  const auto model = service.model(m);
  return answer_one(service, *model,
                    read_question(request, std::move(audience.users[m]), service, *model, m));
}

/// Whether one call can answer both.
[[nodiscard]] bool go_together(const Question& a, const Question& b) {
  const auto free = [](const Question& q) { return !q.question.allow && q.question.deny.empty(); };
  return free(a) && free(b) && !a.is_mixed() && !b.is_mixed() && a.model == b.model &&
         a.of_visitors() == b.of_visitors() && a.question.n == b.question.n &&
         a.question.include_seen == b.question.include_seen &&
         a.question.reasons == b.question.reasons;
}

void append(Asked& to, const Asked& from) {
  if (auto* rows = std::get_if<std::vector<Index>>(&to)) {
    std::ranges::copy(std::get<std::vector<Index>>(from), std::back_inserter(*rows));
    return;
  }
  auto& visitors = std::get<Visitors>(to);
  const auto& more = std::get<Visitors>(from);
  std::ranges::copy(more.names, std::back_inserter(visitors.names));
  std::ranges::copy(more.rows, std::back_inserter(visitors.rows));
}

/// Questions of several requests on their way to outcomes.
class Together {
 public:
  Together(const Service& service, std::span<const Json* const> requests)
      : service_(service),
        models_(service.split().size()),
        questions_(requests.size()),
        outcomes_(requests.size(), std::string()) {
    for (std::size_t r = 0; r < requests.size(); ++r) {
      outcome_of(r, [&] { read(r, *requests[r]); });
    }
  }

  [[nodiscard]] std::vector<Outcome> take() {
    while (!open_.empty()) {
      std::vector<std::size_t> group;
      std::vector<std::size_t> rest;
      for (const std::size_t r : open_) {
        (go_together(questions_[open_.front()], questions_[r]) || r == open_.front() ? group : rest)
            .push_back(r);
      }
      answer_group(group);
      open_ = std::move(rest);
    }
    return std::move(outcomes_);
  }

 private:
  template <class Work>
  void outcome_of(std::size_t r, const Work& work) {
    try {
      work();
    } catch (...) {
      outcomes_[r] = current_fault();
    }
  }

  /// The same one for all requests, whatever is swapped meanwhile.
  [[nodiscard]] const ServedModel& model(std::size_t m) {
    if (models_[m] == nullptr) models_[m] = service_.model(m);
    return *models_[m];
  }

  void read(std::size_t r, const Json& request) {
    check_whole(service_, request);
    Audience audience = audience_of(request, service_);
    if (!audience.only) {
      outcomes_[r] = answer_split(service_, request, audience);
      return;
    }
    const std::size_t m = *audience.only;
    questions_[r] = read_question(request, std::move(audience.users[m]), service_, model(m), m);
    open_.push_back(r);
  }

  void answer_group(const std::vector<std::size_t>& group) {
    if (group.size() > 1 && answered_at_once(group)) return;
    for (const std::size_t r : group) {
      outcome_of(r, [&] {
        outcomes_[r] = answer_one(service_, model(questions_[r].model), questions_[r]);
      });
    }
  }

  /// False where one of them has no answer, which may not be the fault of the others.
  [[nodiscard]] bool answered_at_once(const std::vector<std::size_t>& group) {
    const ServedModel& served = model(questions_[group.front()].model);
    RecommendQuestion all = questions_[group.front()].question;
    for (std::size_t g = 1; g < group.size(); ++g) {
      append(all.users, questions_[group[g]].question.users);
    }
    std::vector<AnswerList> lists;
    try {
      served.queries().recommend(all, [&](const AnswerList& list) { lists.push_back(list); });
    } catch (const Error&) {
      return false;
    }
    auto next = lists.begin();
    for (const std::size_t r : group) {
      Body body(service_, served.fingerprint());
      for (std::size_t l = 0; l < questions_[r].lists(); ++l) body.add(*next++, questions_[r]);
      outcomes_[r] = body.finish(questions_[r].left_out);
    }
    return true;
  }

  const Service& service_;
  std::vector<std::shared_ptr<const ServedModel>> models_;
  std::vector<Question> questions_;
  std::vector<std::size_t> open_;  ///< requests without an outcome
  std::vector<Outcome> outcomes_;
};

[[nodiscard]] std::vector<Outcome> recommend_together(const Service& service,
                                                      std::span<const Json* const> requests) {
  return Together(service, requests).take();
}

[[nodiscard]] Json recommend_parameters(const Limits& limits) {
  const Json visitor = object_schema(
      "", {{"name", id_schema("What the answer calls it")}, {"likes", likes_schema(limits), true}});
  Json reasons =
      whole_schema("Past items that speak for each answer, so many at most", 0, limits.reasons);
  reasons["default"] = 0;
  return with_one_of(
      object_schema(
          "", {{"users", list_schema("Users of the model", id_schema(""), limits.batch)},
               {"likes", likes_schema(limits)},
               {"visitors", list_schema("Several who are not in the model", visitor, limits.batch)},
               n_member(limits, kUsualN),
               {"include_seen", switch_schema("Also items of the user's history", false)},
               {"allow", list_schema("Only these items", id_schema(""), limits.likes)},
               {"deny", list_schema("None of these items", id_schema(""), limits.likes)},
               {"reasons", std::move(reasons)},
               unknown_member()}),
      {"users", "likes", "visitors"});
}

/// More than this, and there is little to gain from others' company.
[[nodiscard]] bool has_many_answers(const Json& request) {
  constexpr std::size_t kMany = 1000;
  std::size_t lists = 1;
  for (const char* of : {"users", "visitors"}) {
    if (const auto found = request.find(of); found != request.end()) lists = found->size();
  }
  return lists * request.value("n", static_cast<std::size_t>(kUsualN)) > kMany;
}

[[nodiscard]] Json recommend_answers() {
  const Json item = object_schema("", {{"item", text_schema(""), true},
                                       {"title", text_schema("")},
                                       {"score", number_schema(""), true},
                                       {"reasons", reasons_schema()}});
  const Json list =
      object_schema("", {{"user", text_schema("The user's id, or the visitor's name"), true},
                         {"items", list_schema("Best first", item), true}});
  return object_schema("", {fingerprint_member(),
                            {"lists", list_schema("In the order of the request", list), true},
                            left_out_member()});
}

}  // namespace

Operation recommend_operation(const Limits& limits) {
  return {.name = "recommend",
          .summary = "Recommend items to users of the model, or to visitors by what they like",
          .methods = {Method::kGet, Method::kPost},
          .path = "/v1/recommend",
          .parameters = recommend_parameters(limits),
          .answer = recommend_answers(),
          .faults = question_faults(),
          .run = recommend,
          .run_together = recommend_together,
          .is_large = has_many_answers,
          .of_one_model = true,
          .tool = true};
}

}  // namespace likewise::server
