// SPDX-License-Identifier: Apache-2.0
/// A server's parts around small models.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "likewise/parameters.h"
#include "server/front.h"
#include "tests/support.h"
#include "training/train.h"

namespace likewise::test {

/// 30 users u0, u1, ... and 20 items i0, i1, ...; the first user has nothing.
[[nodiscard]] inline Interactions small_data() {
  const CsrMatrix drawn = random_csr(30, 20, 6, 5);
  std::vector<Entry> entries;
  for (Index user = 1; user < drawn.rows; ++user) {
    for (std::size_t e = 0; e < drawn.view().row_columns(user).size(); ++e) {
      entries.push_back(
          {user, drawn.view().row_columns(user)[e], drawn.view().row_values(user)[e]});
    }
  }
  const auto ids = [](char letter, Index count) {
    std::vector<std::string> names;
    for (Index i = 0; i < count; ++i) names.push_back(letter + std::to_string(100 + i));
    return names;
  };
  Interactions data;
  data.users = IdMap::from_text(ids('u', 30));
  data.items = IdMap::from_text(ids('i', 20));
  data.by_user = make_csr(30, 20, entries);
  return data;
}

[[nodiscard]] inline std::shared_ptr<const Model> small_model(
    std::string_view algorithm, Feedback feedback, const Interactions& data = small_data()) {
  TrainingParams params = default_params(algorithm, feedback);
  for (const ParameterInfo& parameter : parameters_of(algorithm)) {
    if (parameter.name == "factors") set_parameter(params, "factors", "4");
    if (parameter.name == "iterations") set_parameter(params, "iterations", "3");
  }
  return std::make_shared<const Model>(train(data, params, open_device("cpu")));
}

/// "film 0", ... with one in French.
[[nodiscard]] inline Titles small_titles() {
  std::vector<std::string> names;
  for (int i = 0; i < 19; ++i) names.push_back("The film " + std::to_string(i));
  names.emplace_back("Le Fabuleux Destin d'Am\xC3\xA9lie");
  return make_titles(names);
}

[[nodiscard]] inline std::shared_ptr<const server::ServedModel> served(
    std::string_view algorithm = "als", Feedback feedback = Feedback::kImplicit) {
  return std::make_shared<const server::ServedModel>(small_model(algorithm, feedback),
                                                     open_device("cpu"), small_titles());
}

/// What an operation says to a request in JSON.
[[nodiscard]] inline server::Outcome ask(const server::Service& service, std::string_view operation,
                                         const std::string& request) {
  for (const server::Operation& one : service.operations()) {
    if (one.name == operation) {
      return server::answer(service, one, server::Json::parse(request));
    }
  }
  throw std::logic_error("no such operation");
}

/// Of one that has an answer.
[[nodiscard]] inline server::Json answer_of(const server::Outcome& outcome) {
  if (const auto* fault = std::get_if<server::Fault>(&outcome)) throw *fault;
  return server::Json::parse(std::get<std::string>(outcome));
}

[[nodiscard]] inline server::Fault fault_of(const server::Outcome& outcome) {
  return std::get<server::Fault>(outcome);
}

}  // namespace likewise::test
