// SPDX-License-Identifier: Apache-2.0
#include "server/mcp/messages.h"

#include <fmt/format.h>

#include "likewise/error.h"
#include "server/json_text.h"
#include "server/strict_json.h"

namespace likewise::server::mcp {
namespace {

/// Messages of one list. Each may have an answer as long as a request may have.
constexpr std::size_t kMostTogether = 32;

[[nodiscard]] std::string result_text(const Json& id, std::string_view result) {
  JsonText text;
  text.begin_object().key("jsonrpc").value("2.0").key("id").raw(id.dump());
  text.key("result").raw(result).end_object();
  return text.take();
}

[[nodiscard]] std::string error_text(const Json& id, int code, const std::string& message) {
  JsonText text;
  text.begin_object().key("jsonrpc").value("2.0").key("id").raw(id.dump());
  text.key("error").begin_object().key("code").value(code);
  text.key("message").value(printable_message(message)).end_object().end_object();
  return text.take();
}

/// The error in flight, as an answer.
[[nodiscard]] std::string current_error_text(const Json& id) {
  try {
    throw;
  } catch (const RpcError& error) {
    return error_text(id, error.code(), error.what());
  } catch (...) {
    return error_text(id, kInternalError, current_fault().what());
  }
}

[[nodiscard]] bool may_be_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

/// The id to answer to; null where there is none that could be.
[[nodiscard]] Json id_in(const Json& message) {
  const auto found = message.find("id");
  return found != message.end() && may_be_id(*found) ? *found : Json();
}

void check_envelope(const Json& message) {
  const auto refuse = [](const char* why) { throw RpcError(kInvalidRequest, why); };
  if (message.value("jsonrpc", Json()) != "2.0") refuse("a message must have \"jsonrpc\": \"2.0\"");
  if (!message.contains("method") || !message["method"].is_string()) {
    refuse("a message must have a method, which is a text");
  }
  if (message.contains("id") && !may_be_id(message["id"])) {
    refuse("an id must be a text or a whole number");
  }
}

[[nodiscard]] bool is_response(const Json& message) {
  return !message.contains("method") && (message.contains("result") || message.contains("error"));
}

[[nodiscard]] const Json& params_in(const Json& message) {
  static const Json kNone = Json::object();
  const auto found = message.find("params");
  if (found == message.end()) return kNone;
  if (!found->is_object()) throw RpcError(kInvalidParams, "params must be an object");
  return *found;
}

[[nodiscard]] std::optional<std::string> answer_one(const Service& service, Session& session,
                                                    const Json& message) {
  if (!message.is_object()) return error_text({}, kInvalidRequest, "a message must be an object");
  if (is_response(message)) return {};
  try {
    check_envelope(message);
    // A notification. What one may say, that the client is ready or does not wait any more,
    // changes nothing here.
    if (!message.contains("id")) return {};
    return result_text(message["id"],
                       run_method(service, session, message["method"].get_ref<const std::string&>(),
                                  params_in(message)));
  } catch (...) {
    return current_error_text(id_in(message));
  }
}

[[nodiscard]] bool initializes(const Json& message) {
  return message.is_object() && message.value("method", Json()) == "initialize";
}

[[nodiscard]] std::optional<std::string> answer_batch(const Service& service, Session& session,
                                                      const Json& batch) {
  if (batch.empty()) return error_text({}, kInvalidRequest, "a list of messages must not be empty");
  if (batch.size() > kMostTogether) {
    return error_text(
        {}, kInvalidRequest,
        fmt::format("a list may have {} messages, not {}", kMostTogether, batch.size()));
  }
  std::string all;
  for (const Json& message : batch) {
    const auto one = initializes(message)
                         ? error_text(id_in(message), kInvalidRequest, "initialize stands alone")
                         : answer_one(service, session, message);
    if (one) all += (all.empty() ? "[" : ",") + *one;
  }
  if (all.empty()) return {};
  return all + "]";
}

}  // namespace

std::optional<std::string> answer_message(const Service& service, Session& session,
                                          const Json& message) {
  try {
    if (message.is_array() && session.batches()) return answer_batch(service, session, message);
    return answer_one(service, session, message);
  } catch (...) {
    return current_error_text({});
  }
}

std::optional<std::string> answer_text(const Service& service, Session& session,
                                       std::string_view text) {
  Json message;
  try {
    message = read_json(text);
  } catch (...) {
    return refuse_unread(current_fault().what());
  }
  return answer_message(service, session, message);
}

std::string refuse_unread(const std::string& why) { return error_text({}, kParseError, why); }

}  // namespace likewise::server::mcp
