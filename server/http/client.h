// SPDX-License-Identifier: Apache-2.0
/// `Client`: who asks, by an address; behind a proxy the one that the proxy tells.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace likewise::server {

/// An address of IPv6; one of IPv4 as ::ffff:1.2.3.4, as sockets of both kinds have it.
using IpBytes = std::array<std::uint8_t, 16>;
/// "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"; with the number of an interface or without
/// ("%2"). Nothing where it is no address.
[[nodiscard]] std::optional<IpBytes> read_ip(std::string_view text);

struct Client {
  std::string address;  ///< as people write it; of IPv4 always as "192.0.2.1"
  /// One for all requests that are counted together: of an address of IPv6 its network of 64 bits,
  /// which is what a client has.
  std::string key;
};
[[nodiscard]] Client client_of(const IpBytes& ip);

/// The networks whose X-Forwarded-For is believed.
class TrustedProxies {
 public:
  /// None.
  TrustedProxies() = default;
  /// Networks or addresses: "10.0.0.0/8", "2001:db8::/32", "127.0.0.1". Throws
  /// Error(kInvalidArgument).
  [[nodiscard]] static TrustedProxies read(const std::vector<std::string>& networks);

  [[nodiscard]] bool empty() const { return networks_.empty(); }
  [[nodiscard]] bool has(const IpBytes& ip) const;
  /// Who asks through `peer`. `forwarded`: all of X-Forwarded-For; each proxy adds at the end who
  /// asked it. The last address that is no trusted proxy's is the client's: what stands before it,
  /// the client can have written.
  [[nodiscard]] IpBytes client_behind(const IpBytes& peer, std::string_view forwarded) const;

 private:
  struct Network {
    IpBytes ip;
    int bits;  ///< of `ip` that count
  };
  std::vector<Network> networks_;
};

}  // namespace likewise::server
