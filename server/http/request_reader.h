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

  // Once the header is done.
  /// Bytes of the body that have come.
  [[nodiscard]] std::size_t body_bytes() const;
  /// Whether the client waits for a word before it sends the body.
  [[nodiscard]] bool expects_word() const;
  /// Refers to this object; its body is what has come.
  [[nodiscard]] HttpRequest request() const;
  [[nodiscard]] bool keeps_alive() const;
  /// All lines of X-Forwarded-For, in their order, with commas between.
  [[nodiscard]] std::string forwarded_for() const;
  /// Gives back the memory of the body, which nobody reads any more.
  void drop_body();

 private:
  struct Parser;
  void check_header() const;

  std::unique_ptr<Parser> parser_;
  Limits limits_;
  bool begun_ = false;
  bool line_done_ = false;  ///< whether the first line is over, within the limit
};

}  // namespace likewise::server
