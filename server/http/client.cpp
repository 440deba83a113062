// SPDX-License-Identifier: Apache-2.0
#include "server/http/client.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise::server {
namespace {

constexpr IpBytes kOfIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr std::size_t kPrefix = 12;  ///< bytes of kOfIpv4 that say so
constexpr std::size_t kNetwork = 8;  ///< bytes of IPv6 that a client has
constexpr int kBits = 128;

[[nodiscard]] bool is_ipv4(const IpBytes& ip) {
  return std::equal(ip.begin(), ip.begin() + kPrefix, kOfIpv4.begin());
}

[[nodiscard]] bool same_bits(const IpBytes& a, const IpBytes& b, int bits) {
  for (int bit = 0; bit < bits; bit += 8) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    const int left = std::min(8, bits - bit);
    const auto mask = static_cast<std::uint8_t>(0xFF << (8 - left));
    if (((a[byte] ^ b[byte]) & mask) != 0) return false;
  }
  return true;
}

/// The address in an entry of X-Forwarded-For: some proxies add the port, "192.0.2.1:80" or
/// "[2001:db8::1]:80".
[[nodiscard]] std::optional<IpBytes> read_entry(std::string_view entry) {
  const std::size_t first = std::min(entry.find_first_not_of(" \t"), entry.size());
  entry = entry.substr(first, entry.find_last_not_of(" \t") + 1 - first);
  if (entry.starts_with('[')) return read_ip(entry.substr(1, entry.find(']') - 1));
  const std::size_t colon = entry.find(':');
  const bool has_port = colon != std::string_view::npos && colon == entry.rfind(':');
  return read_ip(has_port ? entry.substr(0, colon) : entry);
}

}  // namespace

std::optional<IpBytes> read_ip(std::string_view text) {
  const std::string plain(text.substr(0, text.find('%')));
  IpBytes ip = kOfIpv4;
  if (inet_pton(AF_INET, plain.c_str(), ip.data() + kPrefix) == 1) return ip;
  if (inet_pton(AF_INET6, plain.c_str(), ip.data()) == 1) return ip;
  return {};
}

Client client_of(const IpBytes& ip) {
  char text[INET6_ADDRSTRLEN] = {};
  if (is_ipv4(ip)) {
    inet_ntop(AF_INET, ip.data() + kPrefix, text, sizeof(text));
    return {text, text};
  }
  inet_ntop(AF_INET6, ip.data(), text, sizeof(text));
  return {text, "6:" + std::string(reinterpret_cast<const char*>(ip.data()), kNetwork)};
}

TrustedProxies TrustedProxies::read(const std::vector<std::string>& networks) {
  TrustedProxies proxies;
  for (const std::string& text : networks) {
    const std::size_t slash = text.find('/');
    const auto ip = read_ip(text.substr(0, slash));
    const int most = ip && is_ipv4(*ip) && text.find(':') == std::string::npos ? 32 : kBits;
    int bits = most;
    bool good = ip.has_value() && text.find('%') == std::string::npos;
    if (slash != std::string::npos) {
      const char* const end = text.data() + text.size();
      const auto read = std::from_chars(text.data() + slash + 1, end, bits);
      good = good && read.ec == std::errc() && read.ptr == end && bits >= 0 && bits <= most;
    }
    if (!good) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("'{}' is no network: give it as 10.0.0.0/8, 2001:db8::/32 or one "
                              "address",
                              printable(text)));
    }
    proxies.networks_.push_back({*ip, bits + kBits - most});
  }
  return proxies;
}

bool TrustedProxies::has(const IpBytes& ip) const {
  return std::ranges::any_of(networks_,
                             [&](const Network& one) { return same_bits(ip, one.ip, one.bits); });
}

IpBytes TrustedProxies::client_behind(const IpBytes& peer, std::string_view forwarded) const {
  IpBytes client = peer;
  while (!forwarded.empty() && has(client)) {
    const std::size_t comma = forwarded.rfind(',');
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
    const auto told = read_entry(forwarded.substr(begin));
    if (!told) break;
    client = *told;
    forwarded = forwarded.substr(0, begin == 0 ? 0 : comma);
  }
  return client;
}

}  // namespace likewise::server
