// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include "likewise/error.h"
#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

constexpr const char* kServedBy = "served_by";

[[nodiscard]] Like like_of(const Json& json) {
  if (!json.is_object()) return {id_of(json)};
  return {id_of(json["item"]), value_in(json, "likes")};
}

}  // namespace

void refuse_id(std::string_view kind, const std::string& id, const std::string& parameter) {
  throw Fault(FaultKind::kNotFound, fmt::format("{} '{}' is not in the model", kind, printable(id)),
              parameter);
}

std::string id_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<float> value_in(const Json& entry, const std::string& parameter) {
  const auto found = entry.find("value");
  if (found == entry.end()) return {};
  const auto exact = found->get<double>();
  const auto value = static_cast<float>(exact);
  if (value != 0.0F || exact == 0.0) return value;
  throw Fault(FaultKind::kInvalidArgument,
              fmt::format("value {} is too close to 0 for a number of 32 bits", exact), parameter);
}

std::vector<std::string> ids_of(const Json& list) {
  std::vector<std::string> ids;
  ids.reserve(list.size());
  for (const Json& one : list) ids.push_back(id_of(one));
  return ids;
}

void refuse_or_count(const std::string& id, std::string_view kind, const std::string& parameter,
                     UnknownIds unknown, Offset& left_out) {
  if (unknown == UnknownIds::kRefuse) refuse_id(kind, id, parameter);
  ++left_out;
}

std::vector<Index> known_rows(const IdMap& ids, std::span<const std::string> names,
                              std::string_view kind, const std::string& parameter,
                              UnknownIds unknown, Offset& left_out) {
  std::vector<Index> rows;
  rows.reserve(names.size());
  for (const std::string& name : names) {
    if (const auto row = ids.find(name)) {
      rows.push_back(*row);
    } else {
      refuse_or_count(name, kind, parameter, unknown, left_out);
    }
  }
  return rows;
}

Index known_row(const IdMap& ids, const std::string& id, std::string_view kind,
                const std::string& parameter) {
  const auto row = ids.find(id);
  if (!row) refuse_id(kind, id, parameter);
  return *row;
}

void add_visitor(Visitors& visitors, const Model& model, const std::string& name, const Json& likes,
                 UnknownIds unknown, Offset& left_out) {
  std::vector<Like> known;
  for (const Json& one : likes) {
    Like like = like_of(one);
    if (model.items.find(like.item)) {
      known.push_back(std::move(like));
    } else {
      refuse_or_count(like.item, "item", "likes", unknown, left_out);
    }
  }
  visitors.add(model, name, known);
}

UnknownIds unknown_of(const Json& request) {
  return request.value("unknown", "refuse") == "refuse" ? UnknownIds::kRefuse
                                                        : UnknownIds::kLeaveOut;
}

void check_answers(Offset lists, Index n, Offset most) {
  if (lists * n <= most) return;
  throw Fault(FaultKind::kTooLarge,
              fmt::format("{} of {} are more than {} answers; ask in parts", counted(lists, "list"),
                          with_commas(n), with_commas(most)),
              "n");
}

std::optional<std::size_t> named_model(const Service& service, const Json& request) {
  const auto named = request.find(kServedBy);
  if (named == request.end()) return {};
  return service.split().find(named->get_ref<const std::string&>());
}

std::size_t model_for(const Service& service, const Json& request, std::string_view user) {
  const auto named = named_model(service, request);
  return named ? *named : service.split().of_user(user);
}

std::vector<std::vector<std::size_t>> places_by_model(const Service& service, const Json& request,
                                                      std::span<const std::string> users) {
  std::vector<std::vector<std::size_t>> places(service.split().size());
  for (std::size_t u = 0; u < users.size(); ++u) {
    places[model_for(service, request, users[u])].push_back(u);
  }
  return places;
}

std::size_t model_for_anyone(const Service& service, const Json& request) {
  return named_model(service, request).value_or(0);
}

void let_name_a_model(Operation& operation, const std::vector<std::string>& names) {
  if (!operation.of_one_model) return;
  operation.parameters["properties"][kServedBy] = choice_schema(
      "The model that answers. Unless it is given: a user's own, or the first where none is asked "
      "about",
      names);
  Json& answer = operation.answer["properties"];
  if (operation.name == "recommend" || operation.name == "similar") {
    answer["lists"]["items"]["properties"][kServedBy] =
        choice_schema("The model that made the list", names);
  }
  if (operation.name == "user") {
    answer[kServedBy] = choice_schema("The model that learned the history", names);
    answer["others"] = list_schema("Other models that know the user",
                                   object_schema("", {fingerprint_member(),
                                                      {kServedBy, answer[kServedBy], true},
                                                      {"history", answer["history"], true}}));
  }
  if (operation.name == "model") {
    const Json entry = object_schema(
        "", {{"name", text_schema(""), true},
             {"share", number_schema("Of the users, of 1"), true},
             {"model", text_schema("Its fingerprint"), true},
             {"algorithm", text_schema(""), true},
             {"offered", count_schema("Items in the lists of users, since the start"), true},
             {"followed", count_schema("Of these, by an event of the user within a day"), true}});
    answer["models"] = list_schema("All that are served", entry);
  }
}

Member fingerprint_member() {
  return {
      "model",
      text_schema("The fingerprint of the model that answered; of several, with commas between"),
      true};
}

Member left_out_member() {
  return {"left_out",
          object_schema("How many ids the model does not know",
                        {{"users", count_schema(""), true}, {"items", count_schema(""), true}}),
          true};
}

Member unknown_member() {
  Json schema =
      choice_schema("What to do with ids that the model does not know", {"refuse", "leave_out"});
  schema["default"] = "refuse";
  return {"unknown", std::move(schema)};
}

Member n_member(const Limits& limits, Index usual) {
  Json schema = whole_schema("Answers per list", 1, limits.n);
  schema["default"] = usual;
  return {"n", std::move(schema)};
}

Json likes_schema(const Limits& limits) {
  const Json with_value =
      object_schema("", {{"item", id_schema(""), true},
                         {"value", number_schema("As in training: a rating, or a count")}});
  return list_schema("Items that somebody likes: ids, or ids with values",
                     {{"anyOf", {id_schema(""), with_value}}}, limits.likes);
}

Json reasons_schema() {
  return list_schema(
      "Past items, and their parts of the score",
      object_schema("", {{"item", text_schema(""), true},
                         {"title", text_schema("")},
                         {"value", number_schema("The user's own value for it"), true},
                         {"share", number_schema("Its part of the score"), true},
                         {"is_tag", Json{{"type", "boolean"},
                                         {"description",
                                          "A tag of an item that nobody has touched; "
                                          "absent: a past item"}}}}));
}

std::vector<FaultKind> question_faults() { return {FaultKind::kNotFound}; }

void add_fingerprint(std::string& all, const ServedModel& model) {
  all += (all.empty() ? "" : ",") + model.fingerprint();
}

void write_left_out(JsonText& text, const LeftOut& left_out) {
  text.key("left_out").begin_object();
  text.key("users").value(left_out.users).key("items").value(left_out.items).end_object();
}

void write_item(JsonText& text, std::string_view id, std::string_view title) {
  text.key("item").value(id);
  if (!title.empty()) text.key("title").value(title);
}

void write_reasons(JsonText& text, const std::vector<Reason>& reasons) {
  text.key("reasons").begin_array();
  for (const Reason& reason : reasons) {
    text.begin_object();
    write_item(text, reason.item, reason.title);
    text.key("value").value(reason.value).key("share").value(reason.share);
    if (reason.is_tag) text.key("is_tag").value(true);
    text.end_object();
  }
  text.end_array();
}

}  // namespace likewise::server
