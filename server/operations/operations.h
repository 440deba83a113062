// SPDX-License-Identifier: Apache-2.0
/// The rows of the table of operations, and what they share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/query.h"
#include "server/json_text.h"
#include "server/operation.h"
#include "server/served_model.h"

namespace likewise::server {

[[nodiscard]] Operation recommend_operation(const Limits& limits);
[[nodiscard]] Operation similar_operation(const Limits& limits);
[[nodiscard]] Operation predict_operation(const Limits& limits);
[[nodiscard]] Operation explain_operation(const Limits& limits);
[[nodiscard]] Operation items_operation(const Limits& limits);
[[nodiscard]] Operation events_operation(const Limits& limits);
[[nodiscard]] Operation user_operation();
[[nodiscard]] Operation erase_operation();
[[nodiscard]] Operation model_operation();
[[nodiscard]] Operation health_operation();
[[nodiscard]] Operation ready_operation();
[[nodiscard]] Operation metrics_operation();
[[nodiscard]] Operation openapi_operation();

/// Answers per list.
inline constexpr Index kUsualN = 10;

/// A text or an integer, as text.
[[nodiscard]] std::string id_of(const Json& value);
[[nodiscard]] std::vector<std::string> ids_of(const Json& list);
/// The value of an event or a like, where it has one. A Fault that names `parameter` for one that
/// is not 0 and would become 0.
[[nodiscard]] std::optional<float> value_in(const Json& entry, const std::string& parameter);

/// How many ids were left out because the model does not have them.
struct LeftOut {
  Offset users = 0;
  Offset items = 0;
};

/// A Fault(kNotFound) that names `parameter`.
[[noreturn]] void refuse_id(std::string_view kind, const std::string& id,
                            const std::string& parameter);
/// One that is unknown: a Fault(kNotFound) that names `parameter`, or counted.
void refuse_or_count(const std::string& id, std::string_view kind, const std::string& parameter,
                     UnknownIds unknown, Offset& left_out);
/// Rows of ids. An unknown one is a Fault(kNotFound) that names `parameter`, or counted.
[[nodiscard]] std::vector<Index> known_rows(const IdMap& ids, std::span<const std::string> names,
                                            std::string_view kind, const std::string& parameter,
                                            UnknownIds unknown, Offset& left_out);
/// The same for one id, which has to be known.
[[nodiscard]] Index known_row(const IdMap& ids, const std::string& id, std::string_view kind,
                              const std::string& parameter);

/// What a visitor likes. An unknown item is a Fault(kNotFound), or counted.
void add_visitor(Visitors& visitors, const Model& model, const std::string& name, const Json& likes,
                 UnknownIds unknown, Offset& left_out);

/// The parameter `unknown`.
[[nodiscard]] UnknownIds unknown_of(const Json& request);
/// Throws Fault(kTooLarge) where lists of n answers are too many.
void check_answers(Offset lists, Index n, Offset most);

/// Where several models are served: questions take the name of the one that answers, and answers
/// say which one did.
void let_name_a_model(Operation& operation, const std::vector<std::string>& names);
/// The model that a request names; else nothing.
[[nodiscard]] std::optional<std::size_t> named_model(const Service& service, const Json& request);
/// The model that answers about a user: the one that is named, else the user's own.
[[nodiscard]] std::size_t model_for(const Service& service, const Json& request,
                                    std::string_view user);
/// The places of users in their list, by the models that answer about them.
[[nodiscard]] std::vector<std::vector<std::size_t>> places_by_model(
    const Service& service, const Json& request, std::span<const std::string> users);
/// For a question about no user: the one that is named, else the first.
[[nodiscard]] std::size_t model_for_anyone(const Service& service, const Json& request);

// Pieces of schemas.
[[nodiscard]] Member fingerprint_member();
[[nodiscard]] Member left_out_member();
[[nodiscard]] Member unknown_member();
[[nodiscard]] Member n_member(const Limits& limits, Index usual);
[[nodiscard]] Json likes_schema(const Limits& limits);
[[nodiscard]] Json reasons_schema();
/// What can be wrong with ids.
[[nodiscard]] std::vector<FaultKind> question_faults();

// Pieces of answers.
/// To those before, with a comma between.
void add_fingerprint(std::string& all, const ServedModel& model);
void write_left_out(JsonText& text, const LeftOut& left_out);
void write_reasons(JsonText& text, const std::vector<Reason>& reasons);
/// "item", "title" where there is one.
void write_item(JsonText& text, std::string_view id, std::string_view title);

}  // namespace likewise::server
