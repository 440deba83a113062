// SPDX-License-Identifier: Apache-2.0
#include "server/http/client.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "tests/errors.h"

namespace likewise::server {
namespace {

[[nodiscard]] Client client(const std::string& address) {
  return client_of(read_ip(address).value());
}

TEST(Client, IsAnAddressAndWhatItIsCountedBy) {
  EXPECT_EQ(client("192.0.2.1").address, "192.0.2.1");
  EXPECT_NE(client("192.0.2.1").key, client("192.0.2.2").key);
  // As a socket that takes both kinds has them.
  EXPECT_EQ(client("::ffff:192.0.2.1").address, "192.0.2.1");
  EXPECT_EQ(client("::ffff:192.0.2.1").key, client("192.0.2.1").key);
  EXPECT_EQ(client("2001:DB8::1").address, "2001:db8::1");
  EXPECT_EQ(client("2001:db8::1").key, client("2001:db8::ffff:1").key);
  EXPECT_NE(client("2001:db8::1").key, client("2001:db8:0:1::1").key);
  EXPECT_EQ(client("fe80::1%2").address, "fe80::1");
  // A network of IPv6 whose bytes are the text of an address of IPv4.
  EXPECT_NE(client("312e:322e:332e:3435::1").key, client("1.2.3.45").key);
  for (const char* text : {"", "localhost", "192.0.2", "192.0.2.1:80", "[::1]", "1.2.3.4/8"}) {
    EXPECT_FALSE(read_ip(text)) << text;
  }
}

TEST(TrustedProxies, AreNetworks) {
  const TrustedProxies proxies =
      TrustedProxies::read({"10.0.0.0/8", "192.0.2.7", "2001:db8::/33", "198.51.100.128/25"});
  const auto has = [&](const char* address) { return proxies.has(read_ip(address).value()); };
  for (const char* in :
       {"10.255.0.1", "::ffff:10.0.0.1", "192.0.2.7", "2001:db8:7fff::1", "198.51.100.200"}) {
    EXPECT_TRUE(has(in)) << in;
  }
  for (const char* out :
       {"11.0.0.1", "192.0.2.6", "2001:db8:8000::1", "198.51.100.127", "::1", "a00::"}) {
    EXPECT_FALSE(has(out)) << out;
  }
  EXPECT_TRUE(TrustedProxies::read({"0.0.0.0/0"}).has(read_ip("8.8.8.8").value()));
  EXPECT_FALSE(TrustedProxies::read({"0.0.0.0/0"}).has(read_ip("2001:db8::1").value()));
  for (const char* text : {"", "proxy", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8x",
                           "10.0.0/8", "2001:db8::/129", "fe80::1%2"}) {
    EXPECT_THAT(likewise::test::error_of(ErrorKind::kInvalidArgument,
                                         [&] { (void)TrustedProxies::read({text}); }),
                testing::HasSubstr("is no network"))
        << text;
  }
}

TEST(TrustedProxies, SayWhoAsks) {
  const TrustedProxies proxies = TrustedProxies::read({"10.0.0.0/8", "127.0.0.1"});
  const auto who = [&](const char* peer, std::string_view forwarded) {
    return client_of(proxies.client_behind(read_ip(peer).value(), forwarded)).address;
  };
  EXPECT_EQ(who("10.0.0.1", ""), "10.0.0.1");
  EXPECT_EQ(who("10.0.0.1", "192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(who("127.0.0.1", "192.0.2.1, 10.0.0.2"), "192.0.2.1");
  // What a client writes before it asks a proxy changes nothing.
  EXPECT_EQ(who("10.0.0.1", "198.51.100.1, 192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(who("10.0.0.1", "192.0.2.1, unknown"), "10.0.0.1");
  EXPECT_EQ(who("10.0.0.1", "192.0.2.1, unknown, 10.0.0.3"), "10.0.0.3");
  EXPECT_EQ(who("10.0.0.1", ",,"), "10.0.0.1");
  EXPECT_EQ(who("10.0.0.1", "192.0.2.1:4711"), "192.0.2.1");
  EXPECT_EQ(who("10.0.0.1", "[2001:db8::1]:4711"), "2001:db8::1");
  EXPECT_EQ(who("10.0.0.1", "2001:db8::1"), "2001:db8::1");
  // Who is no proxy is not believed.
  EXPECT_EQ(who("192.0.2.9", "192.0.2.1"), "192.0.2.9");
}

}  // namespace
}  // namespace likewise::server
