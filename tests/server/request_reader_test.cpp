// SPDX-License-Identifier: Apache-2.0
#include "server/http/request_reader.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/http_server.h"
#include "server/http/rates.h"
#include "tests/errors.h"

namespace likewise::test {
namespace {

using server::Limits;
using server::RequestReader;

const std::string kPost =
    "POST /v1/recommend?x=1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "Authorization: Bearer abc\r\nContent-Length: 5\r\n\r\nhello";

/// 200, or the status of the fault.
[[nodiscard]] int status_of_bytes(const std::string& bytes, const Limits& limits = {}) {
  RequestReader reader(limits);
  try {
    (void)reader.put(bytes);
    return reader.done() ? 200 : 0;
  } catch (const server::Fault& fault) {
    return server::status_of(fault.kind());
  }
}

TEST(RequestReader, TakesBytesAsTheyCome) {
  for (std::size_t cut = 1; cut < kPost.size(); ++cut) {
    RequestReader reader{Limits{}};
    std::string kept = kPost.substr(0, cut);
    kept.erase(0, reader.put(kept));
    kept += kPost.substr(cut) + "GET";
    while (!reader.done()) {
      const std::size_t taken = reader.put(kept);
      ASSERT_GT(taken, 0U) << cut;
      kept.erase(0, taken);
    }
    EXPECT_EQ(kept, "GET");
    EXPECT_EQ(reader.request().method, "POST");
    EXPECT_EQ(reader.request().target, "/v1/recommend?x=1");
    EXPECT_EQ(reader.request().host, "localhost");
    EXPECT_EQ(reader.request().authorization, "Bearer abc");
    EXPECT_EQ(reader.request().body, "hello");
    EXPECT_TRUE(reader.keeps_alive());
  }
}

TEST(RequestReader, TakesChunksByteByByte) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string chunks :
       {"5\r\nhello\r\n0;x\r\nX: y\r\n\r\n", "0\r\nX: y\r\n\r\n", "0\r\n\r\n"}) {
    RequestReader reader{Limits{}};
    std::string kept;
    for (const char byte : head + chunks) {
      EXPECT_FALSE(reader.done());
      kept += byte;
      kept.erase(0, reader.put(kept));
    }
    EXPECT_TRUE(reader.done());
    EXPECT_EQ(reader.request().body, chunks.starts_with('5') ? "hello" : "");
  }
}

TEST(RequestReader, TellsWhatHasComeOfABody) {
  for (const std::string body : {"Content-Length: 5\r\n\r\nhello",
                                 "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"}) {
    const std::string all =
        "POST / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: b\r\n"
        "X-Forwarded-For: c, d\r\n" +
        body;
    RequestReader reader{Limits{}};
    const std::size_t end_of_header = all.find("\r\n\r\n") + 4;
    (void)reader.put(all.substr(0, end_of_header));
    ASSERT_TRUE(reader.header_done());
    EXPECT_EQ(reader.body_bytes(), 0U);
    EXPECT_EQ(reader.request().method, "POST");
    EXPECT_EQ(reader.forwarded_for(), "b,c, d");
    std::string kept = all.substr(end_of_header);
    while (!reader.done()) kept.erase(0, reader.put(kept));
    EXPECT_EQ(reader.body_bytes(), 5U);
    EXPECT_EQ(reader.request().body, "hello");
    reader.drop_body();
    EXPECT_EQ(reader.body_bytes(), 0U);
    EXPECT_EQ(reader.request().target, "/");
  }
}

TEST(RequestReader, OfHttp10ComeNoChunks) {
  EXPECT_EQ(status_of_bytes("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
}

TEST(RequestReader, HasAStatusForEachLimit) {
  Limits limits;
  limits.header = 1024;
  limits.target = 100;
  limits.body = 10;
  const std::string host = "Host: localhost\r\n";
  EXPECT_EQ(status_of_bytes("GET / HTTP/1.1\r\n" + host + "\r\n", limits), 200);
  EXPECT_EQ(
      status_of_bytes("GET /" + std::string(200, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", limits),
      414);
  EXPECT_EQ(status_of_bytes("GET /" + std::string(2000, 'a'), limits), 414);
  EXPECT_EQ(
      status_of_bytes("GET /" + std::string(2000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", limits),
      414);
  EXPECT_EQ(status_of_bytes(
                "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(2000, 'a') + "\r\n\r\n", limits),
            431);
  EXPECT_EQ(status_of_bytes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", limits),
            413);
  EXPECT_EQ(
      status_of_bytes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
                      limits),
      400);
  EXPECT_EQ(status_of_bytes("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "6\r\nhello \r\n6\r\nworld!\r\n0\r\n\r\n",
                            limits),
            413);
}

TEST(RequestReader, RefusesWhatCouldBeReadInTwoWays) {
  const std::string chunks = "5\r\nhello\r\n0\r\n\r\n";
  EXPECT_EQ(
      status_of_bytes("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks),
      200);
  EXPECT_EQ(status_of_bytes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: "
                            "chunked\r\n\r\n" +
                            chunks),
            400);
  EXPECT_EQ(
      status_of_bytes("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: "
                      "5\r\n\r\n" +
                      chunks),
      400);
  EXPECT_EQ(
      status_of_bytes(
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
      400);
  EXPECT_EQ(status_of_bytes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"), 400);
  for (const char* coding : {"gzip", "gzip, chunked", "chunked, gzip", "identity"}) {
    EXPECT_EQ(status_of_bytes(fmt::format(
                  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: {}\r\n\r\n{}", coding, chunks)),
              400)
        << coding;
  }
  EXPECT_EQ(
      status_of_bytes("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n" + chunks),
      200);
  EXPECT_EQ(status_of_bytes("GET / HTTP/1.1\r\nHost: localhost\r\nHost: elsewhere\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 200);
  EXPECT_EQ(status_of_bytes("GET / HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(status_of_bytes("GET / HTTP/3.0\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes("\x16\x03\x01\x02"), 400);
}

TEST(RequestReader, RefusesCompressedBodies) {
  const auto status = [](const std::string& coding, const std::string& rest) {
    return status_of_bytes("POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: " + coding + "\r\n" +
                           rest);
  };
  const std::string body = "Content-Length: 5\r\n\r\nhello";
  const std::string chunks = "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  for (const char* coding :
       {"gzip", "br", "identity, gzip", "identity\r\nContent-Encoding: gzip"}) {
    EXPECT_EQ(status(coding, body), 415) << coding;
    EXPECT_EQ(status(coding, chunks), 415) << coding;
  }
  for (const char* coding : {"identity", "Identity", ""}) {
    EXPECT_EQ(status(coding, body), 200) << coding;
    EXPECT_EQ(status(coding, chunks), 200) << coding;
  }
  EXPECT_EQ(status("gzip", "\r\n"), 200);  // of nothing
}

/// What stands around the chunks of a body counts as header: it must not pile up.
TEST(RequestReader, KeepsNoEndlessChunkHeadersAndTrailers) {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string most(Limits{}.header, 'a');
  EXPECT_EQ(status_of_bytes(post + "5;x=" + most), 431);
  EXPECT_EQ(status_of_bytes(post + std::string(most.size() + 1, '0')), 431);
  EXPECT_EQ(status_of_bytes(post + "5\r\nhello\r\n0\r\nX: " + most), 431);
  std::string trailers;
  while (trailers.size() <= most.size()) trailers += "X: y\r\n";
  EXPECT_EQ(status_of_bytes(post + "5\r\nhello\r\n0\r\n" + trailers), 431);
  EXPECT_EQ(status_of_bytes(post + "5;x=y\r\nhello\r\n0\r\nX: y\r\n\r\n" + most), 200);
}

TEST(RequestReader, OldClientsAreNotKept) {
  RequestReader old{Limits{}};
  (void)old.put("GET / HTTP/1.0\r\n\r\n");
  EXPECT_FALSE(old.keeps_alive());
  RequestReader ending{Limits{}};
  (void)ending.put("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_FALSE(ending.keeps_alive());
}

TEST(Rates, GiveEachClientItsOwn) {
  server::Rates rates(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(rates.admit("a"));
  EXPECT_FALSE(rates.admit("a"));
  EXPECT_TRUE(rates.admit("b"));
  server::Rates any(0);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(any.admit("a"));
}

TEST(Address, IsReadOrRefused) {
  EXPECT_EQ(server::read_address("[::1]:80").host, "::1");
  EXPECT_EQ(server::read_address("[::1]:80").text(), "[::1]:80");
  EXPECT_TRUE(server::read_address("localhost:0").is_loopback());
  EXPECT_FALSE(server::read_address("0.0.0.0:8080").is_loopback());
  for (const char* text : {"8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "::1:80",
                           "127.0.0.1:65536", "127.0.0.1:-1"}) {
    EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)server::read_address(text); }),
                testing::HasSubstr("no address to listen at"))
        << text;
  }
}

}  // namespace
}  // namespace likewise::test
