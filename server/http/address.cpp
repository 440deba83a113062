// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include <fmt/format.h>

#include "likewise/error.h"
#include "server/http/http_server.h"

namespace likewise::server {

bool Address::is_loopback() const { return host.starts_with("127.") || host == "::1"; }

std::string Address::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Address read_address(const std::string& text) {
  const auto refuse = [&] {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("'{}' is no address to listen at: it must be as 127.0.0.1:8080 or "
                            "[::1]:8080",
                            printable(text)));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) refuse();
  Address address;
  address.host = text.substr(0, colon);
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    refuse();
  }
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + colon + 1, end, address.port);
  if (read.ec != std::errc() || read.ptr != end) refuse();
  return address;
}

}  // namespace likewise::server
