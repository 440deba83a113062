// SPDX-License-Identifier: Apache-2.0
/// The Model Context Protocol without a transport, and over descriptors.
#include <csignal>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/mcp/lines.h"
#include "server/mcp/messages.h"
#include "tests/server/small_service.h"

namespace likewise::test {
namespace {

using server::Json;
using server::mcp::Session;
using testing::ElementsAre;
using testing::HasSubstr;

struct McpTest : testing::Test {
  McpTest() { service.serve(served()); }

  server::Service service;
  Session session{"2025-06-18"};

  /// Null where there is no answer.
  [[nodiscard]] Json say(const std::string& text) {
    const auto answer = server::mcp::answer_text(service, session, text);
    if (answer) {
      EXPECT_EQ(answer->find('\n'), std::string::npos) << "an answer is a line";
    }
    return answer ? Json::parse(*answer) : Json();
  }
  [[nodiscard]] Json ask(const std::string& method, const Json& params = Json::object()) {
    const Json answer =
        say(Json{{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", params}}.dump());
    EXPECT_EQ(answer["jsonrpc"], "2.0");
    EXPECT_EQ(answer["id"], 7);
    return answer;
  }
  [[nodiscard]] Json call(const std::string& tool, const Json& arguments) {
    return ask("tools/call", {{"name", tool}, {"arguments", arguments}})["result"];
  }
  [[nodiscard]] int code(const std::string& text) { return say(text)["error"].value("code", 0); }
};

TEST_F(McpTest, AgreesOnAVersion) {
  for (const std::string_view version : server::mcp::kVersions) {
    session = {};
    const Json result = ask("initialize", {{"protocolVersion", version}})["result"];
    EXPECT_EQ(result["protocolVersion"], version);
    EXPECT_EQ(session.version, version);
    EXPECT_EQ(result["serverInfo"]["name"], "likewise");
    EXPECT_TRUE(result["capabilities"]["tools"].is_object());
  }
  EXPECT_EQ(ask("initialize", {{"protocolVersion", "1999-01-01"}})["result"]["protocolVersion"],
            server::mcp::kVersions.front());
  EXPECT_EQ(ask("initialize")["error"]["code"], -32602);
}

TEST_F(McpTest, BeginsWithInitialize) {
  session = {};
  EXPECT_EQ(ask("ping")["result"], Json::object());
  EXPECT_EQ(ask("tools/list")["error"]["code"], -32600);
  EXPECT_EQ(ask("server/discover")["error"]["code"], -32601);
  EXPECT_FALSE(session.begun());
}

TEST_F(McpTest, ToolsAreTheMarkedOperations) {
  const Json tools = ask("tools/list")["result"]["tools"];
  std::vector<std::string> names;
  for (const Json& tool : tools) {
    names.push_back(tool["name"]);
    EXPECT_EQ(tool["inputSchema"]["type"], "object");
    EXPECT_EQ(tool["outputSchema"]["type"], "object");
    EXPECT_FALSE(tool["inputSchema"].contains("oneOf"));
    EXPECT_EQ(tool["annotations"]["readOnlyHint"], true);
  }
  EXPECT_THAT(names, ElementsAre("recommend", "similar", "predict", "explain", "items", "model"));
  EXPECT_THAT(tools[0]["description"], HasSubstr("Exactly one of users, likes, visitors"));
  for (const server::Operation& operation : service.operations()) {
    EXPECT_TRUE(!operation.tool || operation.access == server::Access::kRead) << operation.name;
  }
  EXPECT_EQ(ask("tools/list", {{"cursor", "x"}})["error"]["code"], -32602);
}

TEST_F(McpTest, AToolAnswersAsItsOperation) {
  const Json request{{"users", {"u107"}}, {"n", 3}};
  const Json result = call("recommend", request);
  const Json expected = answer_of(test::ask(service, "recommend", request.dump()));
  EXPECT_EQ(result["isError"], false);
  EXPECT_EQ(result["structuredContent"], expected);
  EXPECT_EQ(result["content"][0]["type"], "text");
  EXPECT_EQ(Json::parse(result["content"][0]["text"].get<std::string>()), expected);
  EXPECT_EQ(call("items", {{"query", "am\xC3\xA9lie"}})["structuredContent"]["items"][0]["item"],
            "i119");
  EXPECT_EQ(ask("tools/call", {{"name", "model"}})["result"]["structuredContent"]["users"], 30);
}

TEST_F(McpTest, OlderVersionsHaveTextAlone) {
  session.version = "2025-03-26";
  const Json result = call("items", {{"n", 1}});
  EXPECT_FALSE(result.contains("structuredContent"));
  EXPECT_THAT(result["content"][0]["text"], HasSubstr("\"items\":["));
  EXPECT_FALSE(ask("tools/list")["result"]["tools"][0].contains("outputSchema"));
}

TEST_F(McpTest, ARefusalIsTheResultOfATool) {
  const auto refusal = [&](const std::string& tool, const Json& arguments) {
    const Json result = call(tool, arguments);
    EXPECT_EQ(result["isError"], true);
    EXPECT_FALSE(result.contains("structuredContent"));
    return result["content"][0]["text"].get<std::string>();
  };
  EXPECT_THAT(refusal("recommend", {{"users", {"nobody"}}}), HasSubstr("nobody"));
  EXPECT_THAT(refusal("recommend", {{"users", {"u107"}}, {"likes", {"i101"}}}),
              HasSubstr("exactly one of"));
  EXPECT_THAT(refusal("recommend", Json()), HasSubstr("must be an object"));
  EXPECT_THAT(refusal("similar", {{"items", {"i101"}}, {"n", 1'000'000}}), HasSubstr("between"));
  EXPECT_THAT(refusal("explain", {{"item", "i101"}, {"who", 1}}), HasSubstr("no parameter 'who'"));
  const server::Service empty;
  Session begun{"2025-06-18"};
  EXPECT_THAT(server::mcp::answer_text(
                  empty, begun,
                  R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"model"}})")
                  .value(),
              HasSubstr("no model is loaded yet"));
  EXPECT_THAT(ask("tools/call", {{"name", "metrics"}})["error"]["message"],
              HasSubstr("no tool 'metrics', but recommend, similar"));
}

TEST_F(McpTest, TheModelIsAResource) {
  const Json listed = ask("resources/list")["result"]["resources"];
  ASSERT_EQ(listed.size(), 1U);
  const Json read = ask("resources/read", {{"uri", listed[0]["uri"]}})["result"]["contents"][0];
  EXPECT_EQ(read["uri"], listed[0]["uri"]);
  EXPECT_EQ(Json::parse(read["text"].get<std::string>())["algorithm"], "als");
  EXPECT_EQ(ask("resources/read", {{"uri", "likewise://x"}})["error"]["code"], -32002);
}

TEST_F(McpTest, SaysNothingToNotificationsAndAnswers) {
  EXPECT_EQ(say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), Json());
  EXPECT_EQ(say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"),
            Json());
  EXPECT_EQ(say(R"({"jsonrpc":"2.0","method":"of another kind"})"), Json());
  EXPECT_EQ(say(R"({"jsonrpc":"2.0","id":1,"result":{}})"), Json());
}

TEST_F(McpTest, HasACodeForEachBadMessage) {
  EXPECT_EQ(code("{"), -32700);
  EXPECT_EQ(code(""), -32700);
  EXPECT_EQ(code(std::string(100'000, '[')), -32700);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})"), -32700);
  EXPECT_EQ(code("7"), -32600);
  EXPECT_EQ(code("[]"), -32600);
  EXPECT_EQ(code("{}"), -32600);
  EXPECT_EQ(code(R"({"id":1,"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":2,"id":1,"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":null,"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":5})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"pong"})"), -32601);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})"), -32602);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})"), -32602);
  EXPECT_EQ(say(R"({"jsonrpc":"1","id":"a","method":"ping"})")["id"], "a");
  EXPECT_EQ(say(R"({"jsonrpc":"2.0","id":[1],"method":"ping"})")["id"], Json());
}

TEST_F(McpTest, OneVersionTakesLists) {
  const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  const std::string silent = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
  const std::string list = "[" + ping + "," + silent + ",5]";
  EXPECT_EQ(code(list), -32600);
  session.version = "2025-03-26";
  const Json answers = say(list);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0]["result"], Json::object());
  EXPECT_EQ(answers[1]["error"]["code"], -32600);
  EXPECT_EQ(say("[" + silent + "]"), Json());
  EXPECT_EQ(code("[]"), -32600);
  EXPECT_EQ(say(R"([{"jsonrpc":"2.0","id":1,"method":"initialize"}])")[0]["error"]["message"],
            "initialize stands alone");
  std::string many = "[" + ping;
  for (int i = 0; i < 32; ++i) many += "," + ping;
  EXPECT_THAT(say(many + "]")["error"]["message"], HasSubstr("32 messages, not 33"));
}

/// What is answered to lines, each a piece that arrives alone.
[[nodiscard]] std::vector<Json> over_pipes(const server::Service& service,
                                           const std::vector<std::string>& pieces) {
  int in[2];
  int out[2];
  if (pipe(in) != 0 || pipe(out) != 0) throw std::runtime_error("no pipe");
  std::jthread writer([&] {
    for (const std::string& piece : pieces) (void)!::write(in[1], piece.data(), piece.size());
    close(in[1]);
  });
  std::string all;
  std::jthread reader([&] {
    char piece[4096];
    for (ssize_t count = 0; (count = ::read(out[0], piece, sizeof piece)) > 0;) {
      all.append(piece, static_cast<std::size_t>(count));
    }
  });
  server::mcp::serve_lines(service, in[0], out[1]);
  close(out[1]);
  reader.join();
  writer.join();
  close(in[0]);
  close(out[0]);
  std::vector<Json> answers;
  for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1) {
    answers.push_back(Json::parse(all.substr(at, all.find('\n', at) - at)));
  }
  return answers;
}

TEST_F(McpTest, ALineIsAMessage) {
  const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  const auto answers =
      over_pipes(service, {ping.substr(0, 9), ping.substr(9) + "\r\n" + ping + "\n\n \n{\n", ping});
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[1]["result"], Json::object());
  EXPECT_EQ(answers[2]["error"]["code"], -32700);
  EXPECT_EQ(answers[3]["result"], Json::object()) << "the last line needs no end";
}

TEST_F(McpTest, ALineThatIsTooLongIsPassedOver) {
  server::Limits limits;
  limits.body = 100;
  server::Service small(limits);
  const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})"
                           "\n";
  const auto answers = over_pipes(small, {std::string(101, ' ') + ping, std::string(300'000, 'x'),
                                          "y\n" + ping + std::string(200, 'z')});
  ASSERT_EQ(answers.size(), 4U);
  for (const std::size_t refused : {0U, 1U, 3U}) {
    EXPECT_THAT(answers[refused]["error"]["message"], HasSubstr("longer than 100 bytes"));
  }
  EXPECT_EQ(answers[2]["result"], Json::object());
}

}  // namespace
}  // namespace likewise::test
