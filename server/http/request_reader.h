// SPDX-License-Identifier: Apache-2.0
/// `RequestReader`: bytes to a request of HTTP/1, within limits. The parser is Boost.Beast's; no
/// other file but its own includes it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "server/front.h"

namespace likewise::server {

class RequestReader {
 public:
  explicit RequestReader(const Limits& limits);
  ~RequestReader();
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;

  /// Reads on; returns how many of the bytes it took. Stops at the end of a request. Throws Fault
  /// where it is none: the connection is of no use any more then.
  [[nodiscard]] std::size_t put(std::string_view bytes);

  [[nodiscard]] bool begun() const { return begun_; }  ///< whether a byte has come
  [[nodiscard]] bool header_done() const;
  [[nodiscard]] bool done() const;
  /// Once the header is done: bytes that the body may take.
  [[nodiscard]] std::size_t body_bytes() const;
  /// Once the header is done: whether the client waits for a word before it sends the body.
  [[nodiscard]] bool expects_word() const;

  // Once the request is done.
  /// Refers to this object.
  [[nodiscard]] HttpRequest request() const;
  [[nodiscard]] bool keeps_alive() const;

 private:
  struct Parser;
  void check_header() const;

  std::unique_ptr<Parser> parser_;
  Limits limits_;
  bool begun_ = false;
  bool line_done_ = false;  ///< whether the first line is over, within the limit
};

}  // namespace likewise::server
