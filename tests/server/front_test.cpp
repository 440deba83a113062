// SPDX-License-Identifier: Apache-2.0
/// HTTP without a socket: routes, query strings, tokens, headers, and the document about them.
#include "server/front.h"

#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/host_name.h"
#include "server/json_text.h"
#include "server/openapi.h"
#include "server/strict_json.h"
#include "tests/errors.h"
#include "tests/server/small_service.h"

namespace likewise::test {
namespace {

using server::Front;
using server::HttpRequest;
using server::Json;
using server::Reply;
using testing::HasSubstr;

struct FrontTest : testing::Test {
  FrontTest() { service.serve(served()); }

  server::Service service;
  Front front{service, {}};

  /// The reply to a request that is answered here and now.
  [[nodiscard]] Reply reply(const HttpRequest& request) const {
    auto taken = front.take(request);
    if (auto* done = std::get_if<Reply>(&taken)) return *done;
    const auto& task = std::get<server::Task>(taken);
    return front.reply_to(
        task.operation,
        server::answer(service, service.operations()[task.operation], task.request));
  }
  [[nodiscard]] Reply get(std::string_view target) const {
    return reply({.method = "GET", .target = target, .host = "localhost:8080"});
  }
  [[nodiscard]] Reply post(std::string_view target, std::string_view body,
                           std::string_view type = "application/json") const {
    return reply({.method = "POST",
                  .target = target,
                  .host = "localhost",
                  .content_type = type,
                  .body = body});
  }
};

TEST_F(FrontTest, TakesTheSameFromAddressAndBody) {
  const Reply by_address =
      get("/v1/recommend?user=u101&user=u102&n=3&include_seen=true&deny=i101&unknown=leave_out");
  const Reply by_body = post(
      "/v1/recommend",
      R"({"users": ["u101", "u102"], "n": 3, "include_seen": true, "deny": ["i101"], "unknown": "leave_out"})");
  EXPECT_EQ(by_address.status, 200) << by_address.body;
  EXPECT_EQ(by_address.body, by_body.body);
}

TEST_F(FrontTest, WholeNumbersAreWholeHoweverTheyAreWritten) {
  const Reply plain = post("/v1/recommend", R"({"users": ["u101"], "n": 10})");
  EXPECT_EQ(plain.status, 200);
  for (const char* n : {"10.0", "1e1", "100e-1"}) {
    EXPECT_EQ(post("/v1/recommend", fmt::format(R"({{"users": ["u101"], "n": {}}})", n)).body,
              plain.body)
        << n;
  }
  EXPECT_THAT(post("/v1/recommend", R"({"users": [7.0]})").body, HasSubstr("user '7' is not"));
}

TEST_F(FrontTest, DecodesAddresses) {
  EXPECT_THAT(get("/v1/items?query=am%C3%A9lie+destin").body, HasSubstr("i119"));
  EXPECT_THAT(get("/v1/items?query=film%2").body, HasSubstr("hexadecimal"));
  EXPECT_EQ(get("/v1/items?query=film%2").status, 400);
  EXPECT_EQ(get("/v1/items?&&n=1&").status, 200);
}

TEST_F(FrontTest, HasAStatusForEachFault) {
  EXPECT_EQ(get("/nowhere").status, 404);
  EXPECT_EQ(get("/v1/recommend?user=nobody").status, 404);
  EXPECT_EQ(get("/v1/recommend?user=u101&m=1").status, 400);
  EXPECT_THAT(get("/v1/recommend?users=u101").body, HasSubstr("did you mean user?"));
  EXPECT_THAT(get("/v1/recommend?n=1").body, HasSubstr("exactly one of user, like\""));
  EXPECT_THAT(get("/v1/recommend?=1").body, HasSubstr("there is no parameter '' here\""));
  EXPECT_EQ(get("/v1/recommend?user=u101&=1").status, 400);
  EXPECT_EQ(get("/v1/recommend?user=u101&n=ten").status, 400);
  EXPECT_EQ(get("/v1/recommend?user=u101&n=1&n=2").status, 400);
  EXPECT_THAT(get("/v1/users/u101?user=u102").body, HasSubstr("user is given twice"));
  EXPECT_EQ(get("/v1/users/u101?user=u101").status, 400);
  EXPECT_EQ(reply({.method = "DELETE", .target = "/v1/users/u101?user=u102"}).status, 400);
  EXPECT_EQ(get("/v1/users/u101").status, 200);
  EXPECT_EQ(get("/v1/predict").status, 405);
  EXPECT_THAT(get("/v1/predict").headers, HasSubstr("Allow: POST\r\n"));
  EXPECT_THAT(reply({.method = "DELETE", .target = "/v1/items"}).headers,
              HasSubstr("Allow: GET, POST, HEAD\r\n"));
  EXPECT_EQ(reply({.method = "BREW", .target = "/v1/model"}).status, 405);
  EXPECT_EQ(post("/v1/recommend", "{}", "text/plain").status, 415);
  EXPECT_EQ(post("/v1/recommend", "{", "application/json; charset=utf-8").status, 400);
  for (const char* type : {"application/json;charset=utf-8", "Application/JSON ; Charset=\"UTF-8\"",
                           "application/json; a=b; charset=utf8", "application/json;"}) {
    EXPECT_EQ(post("/v1/recommend", R"({"users": ["u101"]})", type).status, 200) << type;
  }
  for (const char* type :
       {"application/json; charset=latin1", "application/json;charset=\"utf-16\"",
        "application/json; charset=utf-8; charset=utf-16", "application/json; charset",
        "application/jsonx", "", ";"}) {
    EXPECT_EQ(post("/v1/recommend", R"({"users": ["u101"]})", type).status, 415) << type;
  }
  EXPECT_EQ(post("/v1/recommend?n=1", R"({"users": ["u101"]})").status, 400);
  EXPECT_EQ(reply({.method = "GET", .target = "/v1/model", .body = "x"}).status, 400);
  const Json body = Json::parse(get("/v1/recommend?user=nobody").body);
  EXPECT_EQ(body["error"]["kind"], "not_found");
  EXPECT_EQ(body["error"]["parameter"], "users");
}

TEST_F(FrontTest, OnlyAnswersToItsOwnNames) {
  const auto status = [&](std::string_view host) {
    return reply({.method = "GET", .target = "/healthz", .host = host}).status;
  };
  for (const char* host : {"localhost", "localhost:80", "LocalHost", "localhost.:80",
                           "127.0.0.1:8080", "[::1]:8080", ""}) {
    EXPECT_EQ(status(host), 200) << host;
  }
  EXPECT_EQ(status("evil.example"), 403);
  EXPECT_EQ(status("127.0.0.1.evil.example"), 403);
  const Front named(service, {false, {server::read_host_name("Films.Example.")}});
  for (const char* host : {"films.example:443", "FILMS.example", "films.example."}) {
    EXPECT_EQ(
        std::get<server::Task>(named.take({.method = "GET", .target = "/healthz", .host = host}))
            .request,
        Json::object())
        << host;
  }
}

/// Its own host takes the place of the header's.
TEST_F(FrontTest, TakesWholeAddresses) {
  const auto status = [&](std::string_view target, std::string_view host = "localhost") {
    return reply({.method = "GET", .target = target, .host = host}).status;
  };
  EXPECT_EQ(status("http://localhost:9101/healthz"), 200);
  EXPECT_EQ(status("HTTPS://LocalHost/healthz", "evil.example"), 200);
  EXPECT_EQ(status("http://localhost"), 200);  // the page
  EXPECT_EQ(status("http://localhost?n=1"), 200);
  EXPECT_EQ(get("http://localhost/v1/items?n=3").body, get("/v1/items?n=3").body);
  EXPECT_EQ(status("http://evil.example/healthz"), 403);
  for (const char* target :
       {"http://", "http:///healthz", "http://localhost:x@evil.example/healthz",
        "ftp://localhost/healthz", "localhost/healthz", "http:/healthz", "*", ""}) {
    EXPECT_EQ(status(target), 400) << target;
  }
}

TEST(HostName, IsReadOrRefused) {
  EXPECT_EQ(server::read_host_name("Films_2.example-1.ORG."), "films_2.example-1.org");
  for (const char* text : {"", ".", "*", "*.example", "films.example:443", "https://films.example",
                           "films..example", ".films", "[::1]", "films.example/x", "fé.example"}) {
    EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)server::read_host_name(text); }),
                HasSubstr("is no name of a host"))
        << text;
  }
}

TEST_F(FrontTest, TokensOpenWhatTheyMay) {
  const TemporaryFolder folder;
  const std::string path = folder / "tokens";
  std::ofstream(path) << "# who may ask\nread aaaaaaaaaaaaaaaa\n\nwrite bbbbbbbbbbbbbbbbbbbb\n";
  front.use_tokens(server::Tokens::read(path));
  const auto status = [&](std::string_view target, std::string_view authorization) {
    return reply({.method = "GET", .target = target, .authorization = authorization}).status;
  };
  EXPECT_EQ(status("/healthz", ""), 200);
  EXPECT_EQ(status("/v1/model", ""), 401);
  EXPECT_EQ(status("/v1/model", "Bearer aaaaaaaaaaaaaaab"), 401);
  EXPECT_EQ(status("/v1/model", "Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 401);
  EXPECT_EQ(status("/v1/model", "Basic aaaaaaaaaaaaaaaa"), 401);
  EXPECT_EQ(status("/v1/model", "bearer aaaaaaaaaaaaaaaa"), 200);
  EXPECT_EQ(status("/v1/model", "Bearer bbbbbbbbbbbbbbbbbbbb"), 200);
  EXPECT_THAT(reply({.method = "GET", .target = "/v1/model"}).headers,
              HasSubstr("WWW-Authenticate: Bearer"));
  const server::Tokens tokens = server::Tokens::read(path);
  EXPECT_THROW(tokens.require(server::Access::kWrite, "Bearer aaaaaaaaaaaaaaaa"), server::Fault);
  tokens.require(server::Access::kWrite, "Bearer bbbbbbbbbbbbbbbbbbbb");
}

/// What is wrong with a header needs no body, and is counted for the operation that was meant.
TEST_F(FrontTest, RefusesByTheHeader) {
  const TemporaryFolder folder;
  std::ofstream(folder / "tokens") << "read aaaaaaaaaaaaaaaa\n";
  front.use_tokens(server::Tokens::read(folder / "tokens"));
  const std::string known = "Bearer aaaaaaaaaaaaaaaa";
  const auto routed = [&](HttpRequest header) {
    const server::Route route = front.route(header);
    const int status = route.reply ? route.reply->status : 0;
    if (route.reply) {
      EXPECT_EQ(route.reply->operation, route.operation);
    }
    return fmt::format("{} {}", service.operation_name(route.operation), status);
  };
  HttpRequest header{.method = "POST", .target = "/v1/recommend", .host = "localhost"};
  EXPECT_EQ(routed(header), "recommend 401");
  header.authorization = known;
  EXPECT_EQ(routed(header), "recommend 415");
  header.content_type = "application/json";
  EXPECT_EQ(routed(header), "recommend 0");
  EXPECT_TRUE(front.route(header).takes_body);
  EXPECT_FALSE(front.route(header).is_probe);
  header.target = "/v1/recommend?n=1";
  EXPECT_EQ(routed(header), "recommend 400");
  header.target = "/v1/events";
  EXPECT_EQ(routed(header), "events 403");
  header.target = "/mcp";
  EXPECT_EQ(routed(header), "mcp 0");
  header.target = "/healthz";
  EXPECT_EQ(routed(header), "none 405");
  header.target = "/nowhere";
  EXPECT_EQ(routed(header), "none 404");
  const auto of_get = [&](std::string_view target, std::string_view authorization = {}) {
    return routed(
        {.method = "GET", .target = target, .host = "localhost", .authorization = authorization});
  };
  EXPECT_EQ(of_get("/"), "page 200");
  EXPECT_EQ(of_get("/openapi.json"), "openapi 0");
  EXPECT_EQ(of_get("/metrics"), "metrics 401");
  EXPECT_EQ(of_get("/v1/recommend?user=u101&x=1", known), "recommend 0");
  EXPECT_EQ(
      reply({.method = "GET", .target = "/v1/recommend?x=1", .authorization = known}).operation,
      front.route({.method = "GET", .target = "/v1/recommend", .authorization = known}).operation);
  const auto probe = [&](std::string_view target, std::string_view authorization) {
    return front.route({.method = "GET", .target = target, .authorization = authorization})
        .is_probe;
  };
  for (const char* target : {"/healthz", "/readyz"}) EXPECT_TRUE(probe(target, "")) << target;
  EXPECT_TRUE(probe("/metrics", known));
  EXPECT_FALSE(probe("/metrics", "")) << "tokens are guessed at the usual rate";
  EXPECT_FALSE(probe("/v1/model", known));
}

TEST(Tokens, RefuseBadFiles) {
  const TemporaryFolder folder;
  const std::string path = folder / "tokens";
  const auto error = [&](const char* text) {
    std::ofstream(path) << text;
    return error_of(ErrorKind::kBadData, [&] { (void)server::Tokens::read(path); });
  };
  EXPECT_THAT(error("read short\n"), HasSubstr(":1: a token has 16"));
  EXPECT_THAT(error("\nadmin aaaaaaaaaaaaaaaa\n"), HasSubstr(":2: a line must be"));
  EXPECT_THAT(error("read aaaaaaaaaaaaaaaa x\n"), HasSubstr("a line must be"));
  EXPECT_THAT(error("read aaaaaaaaaaaaaaaa\nwrite aaaaaaaaaaaaaaaa\n"), HasSubstr("twice"));
  EXPECT_THAT(error("# none\n"), HasSubstr("no token"));
  EXPECT_THAT(error_of(ErrorKind::kNotFound, [&] { (void)server::Tokens::read(folder / "x"); }),
              HasSubstr("cannot be read"));
}

TEST_F(FrontTest, EveryReplyHasTheHeadersOfSafety) {
  for (const Reply& one : {get("/v1/model"), get("/nowhere"), get("/metrics")}) {
    const std::string bytes = server::bytes_of(one, true, false);
    EXPECT_THAT(bytes, HasSubstr("Content-Security-Policy: default-src 'none'"));
    EXPECT_THAT(bytes, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
    EXPECT_THAT(bytes,
                testing::ContainsRegex("\r\nDate: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} 20[0-9]{2} "
                                       "[0-9]{2}:[0-9]{2}:[0-9]{2} GMT\r\n"));
    EXPECT_THAT(bytes, testing::EndsWith("\r\n\r\n" + one.body));
    EXPECT_THAT(server::bytes_of(one, false, true), testing::EndsWith("Connection: close\r\n\r\n"));
  }
}

TEST_F(FrontTest, TheDocumentHasEveryOperation) {
  const Json document = Json::parse(get("/openapi.json").body);
  std::size_t found = 0;
  for (const auto& [path, methods] : document["paths"].items()) found += methods.size();
  std::size_t expected = 0;
  for (const server::Operation& operation : service.operations()) {
    if (!operation.read) expected += operation.methods.size();
  }
  EXPECT_EQ(found, expected);
  const Json& parameters = document["paths"]["/v1/recommend"]["get"]["parameters"];
  std::vector<std::string> names;
  for (const Json& parameter : parameters) names.push_back(parameter["name"]);
  EXPECT_THAT(names, testing::UnorderedElementsAre("allow", "deny", "include_seen", "like", "n",
                                                   "reasons", "unknown", "user"));
}

TEST_F(FrontTest, AnswersAgents) {
  const auto say = [&](std::string_view body, std::string_view version = "2025-06-18",
                       std::string_view origin = "") {
    return reply({.method = "POST",
                  .target = "/mcp",
                  .host = "localhost:8080",
                  .content_type = "application/json",
                  .body = body,
                  .origin = origin,
                  .mcp_version = version});
  };
  constexpr const char* kPing = R"({"jsonrpc": "2.0", "id": 1, "method": "ping"})";
  EXPECT_EQ(say(kPing).body, R"({"jsonrpc":"2.0","id":1,"result":{}})");
  EXPECT_EQ(say(kPing, "").status, 200);
  EXPECT_EQ(say(kPing, "", "http://localhost:8080").status, 200);
  EXPECT_EQ(say(kPing, "", "http://localhost:8081").status, 403);
  EXPECT_EQ(say(kPing, "", "null").status, 403);
  EXPECT_EQ(say(kPing, "2026-07-28").status, 400);
  EXPECT_EQ(say("7").status, 400);
  EXPECT_EQ(say("{").status, 400);
  const Reply silent = say(R"({"jsonrpc": "2.0", "method": "notifications/initialized"})");
  EXPECT_EQ(silent.status, 202);
  EXPECT_EQ(silent.body, "");
  EXPECT_EQ(get("/mcp").status, 405);
  EXPECT_EQ(reply({.method = "DELETE", .target = "/mcp"}).status, 405);
}

TEST(StrictJson, RefusesWhatOthersGuessAt) {
  const auto kind = [](const std::string& text) {
    try {
      (void)server::read_json(text, {.depth = 4, .values = 10});
    } catch (const server::Fault& fault) {
      return server::status_of(fault.kind());
    }
    return 200;
  };
  EXPECT_EQ(kind(R"({"a": [1, 2.5, true, null, "x", {"b": -3}]})"), 200);
  EXPECT_EQ(kind(R"({"a": 1, "a": 2})"), 400);
  EXPECT_EQ(kind(""), 400);
  EXPECT_EQ(kind("{} x"), 400);
  EXPECT_EQ(kind("[1e999]"), 400);
  EXPECT_EQ(kind("[1e-999]"), 400);
  EXPECT_EQ(kind("[-0.01E-999]"), 400);
  EXPECT_EQ(kind("[0.0, 0e9, -0.0E-999]"), 200);
  EXPECT_EQ(kind("\"\xFF\""), 400);
  EXPECT_EQ(kind("[NaN]"), 400);
  EXPECT_EQ(kind("[[[[1]]]]"), 200);
  EXPECT_EQ(kind("[[[[[1]]]]]"), 413);
  EXPECT_EQ(kind("[1,1,1,1,1,1,1,1,1]"), 200);
  EXPECT_EQ(kind("[1,1,1,1,1,1,1,1,1,1]"), 413);
  EXPECT_EQ(kind(std::string(100'000, '[')), 413);
}

TEST(JsonText, IsReadAsItWasMeant) {
  const std::string text = "a\"b\\c\n\x01 \xC3\xA9 \xF0\x9F\x8E\xAC";
  server::JsonText json;
  json.begin_object().key(text).value(text).key("list").begin_array();
  json.value(1).value(0.1F).value(true).begin_object().end_object().begin_array().end_array();
  json.end_array().key("bad").value("\xFF\xC3(\xED\xA0\x80").end_object();
  const Json read = Json::parse(json.take());
  EXPECT_EQ(read[text], text);
  EXPECT_EQ(read["list"].size(), 5U);
  EXPECT_EQ(read["list"][1].get<float>(), 0.1F);
  EXPECT_THAT(read["bad"].get<std::string>(), HasSubstr("\xEF\xBF\xBD("));
}

}  // namespace
}  // namespace likewise::test
