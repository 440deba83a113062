# SPDX-License-Identifier: Apache-2.0
"""The Model Context Protocol, spoken by its own client: over standard input and output, and over HTTP."""
import asyncio
import json
import pathlib
import signal
import subprocess

import pytest

mcp = pytest.importorskip("mcp", reason="scripts/requirements.txt has the protocol's client")
from mcp import Client, MCPError, StdioServerParameters, stdio_client  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

from conftest import BINARY  # noqa: E402
from test_serve import Server  # noqa: E402

TOOLS = ["recommend", "similar", "predict", "explain", "items", "model"]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def over_lines(model):
    return stdio_client(StdioServerParameters(command=str(pathlib.Path(BINARY).resolve()),
                                              args=["mcp", str(model), "--quiet", "--threads", "2"]))


def spoken(transport, conversation):
    async def speak():
        async with asyncio.timeout(60):
            async with Client(transport) as client:
                return await conversation(client)
    return asyncio.run(speak())


@pytest.fixture
def server(program, cinema):
    started = Server(program, cinema / "model.safetensors")
    yield started
    if started.process.poll() is None:
        assert started.end() == 0


@pytest.fixture(params=["lines", "http"])
def transport(request, cinema):
    if request.param == "lines":
        return over_lines(cinema / "model.safetensors")
    return streamable_http_client(f"http://127.0.0.1:{request.getfixturevalue('server').port}/mcp")


def test_an_agent_finds_and_calls_every_tool(transport):
    calls = {"recommend": {"users": [5], "n": 3}, "similar": {"items": ["7"], "n": 2}, "predict": {"pairs": [[5, 7]]},
             "explain": {"user": 5, "item": 7}, "items": {"n": 4}, "model": {}}

    async def conversation(client):
        tools = (await client.list_tools()).tools
        # The client checks each answer against the schema of the tool.
        return client.protocol_version, tools, {name: await client.call_tool(name, how) for name, how in calls.items()}
    version, tools, answers = spoken(transport, conversation)
    assert version in ("2025-11-25", "2025-06-18", "2025-03-26")
    assert [tool.name for tool in tools] == TOOLS
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)
    for name, answer in answers.items():
        assert not answer.is_error, (name, answer.content)
        found = json.loads(answer.content[0].text)
        if version >= "2025-06-18":
            assert answer.structured_content == found
        assert found["model"]
    lists = json.loads(answers["recommend"].content[0].text)["lists"]
    assert [len(one["items"]) for one in lists] == [3]
    assert len(json.loads(answers["items"].content[0].text)["items"]) == 4


def test_what_is_wrong_is_said(transport):
    async def conversation(client):
        unknown = await client.call_tool("recommend", {"users": ["nobody"]})
        wrong = await client.call_tool("similar", {"items": ["7"], "count": 2})
        with pytest.raises(MCPError, match="no tool 'train'"):
            await client.call_tool("train", {})
        with pytest.raises(MCPError, match="no resource 'likewise://x'"):
            await client.read_resource("likewise://x")
        resources = (await client.list_resources()).resources
        read = await client.read_resource(str(resources[0].uri))
        return unknown, wrong, json.loads(read.contents[0].text)
    unknown, wrong, model = spoken(transport, conversation)
    assert unknown.is_error and "nobody" in unknown.content[0].text
    assert wrong.is_error and "no parameter 'count'" in wrong.content[0].text
    assert model["algorithm"] == "als"


def test_http_has_its_statuses(server):
    assert server.ask("POST", "/mcp", PING)[:2] == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
    for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Host": "evil.example"}, 403),
                            ({"MCP-Protocol-Version": "2099-01-01"}, 400), ({"Content-Type": "text/plain"}, 415),
                            ({"Origin": f"http://127.0.0.1:{server.port}"}, 200)):
        assert server.ask("POST", "/mcp", PING, headers)[0] == status, headers
    assert server.get("/mcp")[0] == 405
    assert server.metric('likewise_requests_total{operation="mcp",status="200"}') == 2


def test_http_wants_the_token(program, cinema, tmp_path):
    (tmp_path / "tokens").write_text("read a-token-for-reading\n")
    server = Server(program, cinema / "model.safetensors", "--tokens", "tokens")
    assert server.ask("POST", "/mcp", PING)[0] == 401
    assert server.ask("POST", "/mcp", PING, {"Authorization": "Bearer a-token-for-reading"})[0] == 200
    assert server.end() == 0


def test_ends_with_its_input_and_says_nothing_else(program, cinema):
    done = program("mcp", cinema / "model.safetensors", stdin=json.dumps(PING) + "\nnot json\n")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, None]
    assert "on standard input and output" in done.stderr
    assert program("mcp", "no.safetensors", exit_code=1).stdout == ""


def test_items_have_the_titles_of_a_file(program, cinema, tmp_path):
    (tmp_path / "titles.csv").write_text("id,title\n7,The Seventh\n")
    asked = [{**PING, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
             {**PING, "method": "tools/call", "params": {"name": "items", "arguments": {"query": "seventh"}}}]
    done = program("mcp", cinema / "model.safetensors", "--titles", "titles.csv", "--quiet",
                   stdin="".join(json.dumps(one) + "\n" for one in asked))
    found = json.loads(done.stdout.splitlines()[1])["result"]["structuredContent"]["items"]
    assert [(one["item"], one["title"]) for one in found] == [("7", "The Seventh")]
    assert done.stderr == ""
    assert "--titles-columns" in program("mcp", cinema / "model.safetensors", "--titles-columns", "2,1",
                                         exit_code=2).stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_at_a_signal(program, cinema, number):
    running = program.start("mcp", cinema / "model.safetensors", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    running.stdin.write(json.dumps(PING).encode() + b"\n")
    running.stdin.flush()
    assert json.loads(running.stdout.readline())["id"] == 1
    running.send_signal(number)
    assert running.wait(30) == 0
    running.stdin.close()
    running.stdout.close()
