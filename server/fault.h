// SPDX-License-Identifier: Apache-2.0
/// `Fault`: why a request has no answer. Every answer that is not one is made of it, and the table
/// of kinds is the one place where they become statuses.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "likewise/error.h"

namespace likewise::server {

enum class FaultKind {
  kInvalidArgument,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kMethodNotAllowed,
  kTimeout,
  kConflict,
  kTooLarge,
  kUriTooLong,
  kUnsupportedMediaType,
  kTooManyRequests,
  kHeaderTooLarge,
  kInternal,
  kUnavailable,
  kStorageFull,
};

class Fault : public std::runtime_error {
 public:
  /// `parameter`: the part of the request that is to blame, or empty.
  Fault(FaultKind kind, const std::string& message, std::string parameter = {})
      : std::runtime_error(message), kind_(kind), parameter_(std::move(parameter)) {}
  [[nodiscard]] FaultKind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string& parameter() const noexcept { return parameter_; }

 private:
  FaultKind kind_;
  std::string parameter_;
};

/// 400, 404, ...
[[nodiscard]] int status_of(FaultKind kind);
/// "invalid_argument", "not_found", ...
[[nodiscard]] std::string_view name_of(FaultKind kind);
/// "Bad Request": what HTTP calls a status.
[[nodiscard]] std::string_view reason_of(int status);

/// What the library could not do with a request.
[[nodiscard]] Fault fault_of(const Error& error);
/// The exception in flight as a fault: a Fault as it is, a
/// StoreError by its reason, any other Error by fault_of(), lack of memory as
/// unavailable, anything else as internal.
[[nodiscard]] Fault current_fault();

/// {"error": {"kind", "message", "parameter"}}
[[nodiscard]] std::string body_of(const Fault& fault);

}  // namespace likewise::server
