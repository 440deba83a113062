// SPDX-License-Identifier: Apache-2.0
/// `Operation`: one thing that the server does. The table of them is all that HTTP, OpenAPI and
/// other doors know: names, paths, what goes in and what comes out. An operation is a function of
/// the service and the request; it knows no socket.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/fault.h"
#include "server/limits.h"
#include "server/schema.h"
#include "server/split.h"

namespace likewise::server {

struct HttpRequest;
class Service;

enum class Method { kGet, kPost, kDelete };
[[nodiscard]] std::string_view name_of(Method method);

/// Who may ask, where there are tokens.
enum class Access {
  kAnyone,
  kRead,   ///< with a token for reading or for writing
  kWrite,  ///< with a token for writing
};

/// Where an operation is answered.
enum class Cost {
  kAtOnce,    ///< microseconds: by the thread that reads requests
  kComputed,  ///< by a worker
  kStored,    ///< by a worker of those that wait for a disk or a database
};

/// The body of an answer, or why there is none.
using Outcome = std::variant<std::string, Fault>;

struct Operation {
  std::string name;     ///< "recommend"
  std::string summary;  ///< a sentence
  std::vector<Method> methods;
  std::string path;  ///< "/v1/recommend"; a last part in braces is a parameter
  Access access = Access::kRead;
  Cost cost = Cost::kComputed;
  Json parameters;  ///< schema of an object
  Json answer;      ///< schema of the body; a text where it is not JSON
  std::string content_type = "application/json";
  int status = 200;                 ///< of an answer
  std::vector<FaultKind> faults{};  ///< beside those that any operation may have
  /// Throws Fault or Error.
  std::function<std::string(const Service&, const Json& request)> run;
  /// Several requests at once, where that is cheaper; the same outcomes as of run(), one by one.
  std::function<std::vector<Outcome>(const Service&, std::span<const Json* const>)> run_together{};
  /// Of those, one that is answered alone, as its answer is large.
  std::function<bool(const Json& request)> is_large{};
  bool of_one_model = false;  ///< where several are served, a request may name which one
  bool tool = false;          ///< whether agents have it
  bool is_probe = false;      ///< of those that watch a server: asked at any rate
  /// Where HTTP does not say it by parameters: reads and checks what run() gets. Throws Fault.
  std::function<Json(const HttpRequest&)> read{};
};

/// All of them. Where several models are served, questions may name the one that answers.
[[nodiscard]] std::vector<Operation> make_operations(const Limits& limits, const Split& split = {});

/// What is common to requests: the request checked against the operation's schema, then answered.
/// Never throws.
[[nodiscard]] Outcome answer(const Service& service, const Operation& operation,
                             const Json& request);
/// The same for several requests of one operation, which were checked.
[[nodiscard]] std::vector<Outcome> answer_checked(const Service& service,
                                                  const Operation& operation,
                                                  std::span<const Json* const> requests);

}  // namespace likewise::server
