// SPDX-License-Identifier: Apache-2.0
#include "server/fault.h"

#include <algorithm>
#include <array>
#include <new>

#include "server/events/event_store.h"
#include "server/json_text.h"

namespace likewise::server {
namespace {

struct KindInfo {
  FaultKind kind;
  std::string_view name;
  int status;
};

constexpr std::array<KindInfo, 15> kKinds = {{
    {FaultKind::kInvalidArgument, "invalid_argument", 400},
    {FaultKind::kUnauthorized, "unauthorized", 401},
    {FaultKind::kForbidden, "forbidden", 403},
    {FaultKind::kNotFound, "not_found", 404},
    {FaultKind::kMethodNotAllowed, "method_not_allowed", 405},
    {FaultKind::kTimeout, "timeout", 408},
    {FaultKind::kConflict, "conflict", 409},
    {FaultKind::kTooLarge, "too_large", 413},
    {FaultKind::kUriTooLong, "uri_too_long", 414},
    {FaultKind::kUnsupportedMediaType, "unsupported_media_type", 415},
    {FaultKind::kTooManyRequests, "too_many_requests", 429},
    {FaultKind::kHeaderTooLarge, "header_too_large", 431},
    {FaultKind::kInternal, "internal", 500},
    {FaultKind::kUnavailable, "unavailable", 503},
    {FaultKind::kStorageFull, "storage_full", 507},
}};

[[nodiscard]] const KindInfo& info_of(FaultKind kind) {
  return *std::ranges::find(kKinds, kind, &KindInfo::kind);
}

struct Status {
  int status;
  std::string_view reason;
};

constexpr std::array<Status, 20> kStatuses = {{
    {200, "OK"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
}};

/// What the kinds of the library are to one who sent a request: the model and the device are the
/// server's own, everything else came with the request.
[[nodiscard]] FaultKind kind_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
    case ErrorKind::kNumerical:  // a visitor for whom there is no solution
      return FaultKind::kInvalidArgument;
    case ErrorKind::kNotFound:
      return FaultKind::kNotFound;
    case ErrorKind::kOutOfMemory:
    case ErrorKind::kCancelled:
      return FaultKind::kUnavailable;
    case ErrorKind::kBadData:
    case ErrorKind::kIo:
    case ErrorKind::kDevice:
      return FaultKind::kInternal;
  }
  return FaultKind::kInternal;
}

}  // namespace

int status_of(FaultKind kind) { return info_of(kind).status; }

std::string_view name_of(FaultKind kind) { return info_of(kind).name; }

std::string_view reason_of(int status) {
  const auto* found = std::ranges::find(kStatuses, status, &Status::status);
  return found == kStatuses.end() ? std::string_view("Unknown") : found->reason;
}

Fault fault_of(const Error& error) { return {kind_of(error.kind()), error.what()}; }

Fault current_fault() {
  try {
    throw;
  } catch (const Fault& fault) {
    return fault;
  } catch (const StoreError& error) {
    return {error.reason() == StoreError::Reason::kFull ? FaultKind::kStorageFull
                                                        : FaultKind::kUnavailable,
            error.told()};
  } catch (const Error& error) {
    return fault_of(error);
  } catch (const std::bad_alloc&) {
    return {FaultKind::kUnavailable, "there is not enough memory for this request now"};
  } catch (const std::exception& error) {
    return {FaultKind::kInternal, std::string("unexpected failure: ") + error.what()};
  }
}

std::string body_of(const Fault& fault) {
  JsonText text;
  text.begin_object().key("error").begin_object();
  text.key("kind").value(name_of(fault.kind()));
  text.key("message").value(printable_message(fault.what()));
  if (!fault.parameter().empty()) text.key("parameter").value(printable(fault.parameter()));
  text.end_object().end_object();
  return text.take();
}

}  // namespace likewise::server
