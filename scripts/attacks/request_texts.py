# SPDX-License-Identifier: Apache-2.0
"""Requests made of an OpenAPI document, and ways to spoil them."""
from __future__ import annotations

import json
import random
import urllib.parse
from typing import Any

WORDS = ["1", "2", "59", "0", "-1", "1e3", "nobody", "", " ", "a" * 300, "\u00e9\u00df\u4e2d", "\u202e", "\U0001f600", "'; --",
         "%", "\x00", "\n", "../..", "<b>"]
NUMBERS = [0, 1, -1, 2, 10, 1000, 1001, 2**31, 2**63, -2**63, 2**64, 0.5, 1e38, -1e39, 1e308, 5e-324]
ODD_JSON = [b"", b"{", b"[]", b"null", b"{}}", b'{"users": [1], "users": [2]}', b'{"n": 1e999}', b'{"n": NaN}', b'{"a": "\xff\xfe"}',
            b'{"users": ["\\ud800"]}', b'\xef\xbb\xbf{}', b'{"likes": [' + b"1," * 20000 + b"1]}", b"[" * 5000, b'{"a":' * 5000,
            b'{"users": ["' + b"x" * 2000 + b'"]}', b"-", b"1" * 5000, b'{"n": ' + b"9" * 400 + b"}"]
HEADERS = [b"X: " + b"a" * 20000, b"Host: evil.example", b"Host:", b"Content-Length: 5", b"Content-Length: -1",
           b"Content-Length: 18446744073709551616", b"Content-Length: 99999999", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip",
           b"Transfer-Encoding: chunked, chunked", b"Expect: 100-continue", b"Expect: something", b"Connection: close",
           b"Connection: upgrade", b"Upgrade: h2c", b"X : y", b" folded", b"X: \x00", b"X: \x80\xff", b": no name", b"X" * 9000 + b": y",
           b"Authorization: Bearer x", b"If-None-Match: *", b"Origin: http://evil.example", b"Content-Type: text/plain",
           b"Content-Encoding: gzip"]
CHUNKS = [b"5\r\nhello\r\n0\r\n\r\n", b"5;a=b\r\n{}   \r\n0\r\nX: y\r\n\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n", b"0\r\n", b"5\nhello",
          b"5;" + b"x" * 40000, b"0\r\n" + b"X: y\r\n" * 8000, b"1\r\n{\r\n" * 3000, b"2\r\n{}\r\n0\r\n\r\n", b"0" * 40000, b"2\r\n{}0\r\n\r\n"]
METHODS = [b"GET", b"POST", b"DELETE", b"PUT", b"HEAD", b"OPTIONS", b"TRACE", b"CONNECT", b"PATCH", b"get", b"", b"G" * 9000]
TARGETS = [b"/", b"*", b"http://localhost/v1/model", b"//", b"/v1/../healthz", b"/v1/users/", b"/v1/users/%00", b"/v1/users/%", b"/%ff",
           b"/v1/recommend?" + b"user=1&" * 1200, b"/v1/recommend?user", b"/v1/recommend?=&&=1", b"/v1/items?query=%c3", b"/mcp", b"/\x80"]


class Document:
    """What the server says that can be asked, and requests made of it."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.operations = [(method.upper(), path, about) for path, methods in told["paths"].items()
                           for method, about in methods.items()] + [("POST", "/mcp", {"parameters": [], "responses": {}})]
        self.statuses = {int(status) for _, _, about in self.operations for status in about["responses"]} | {304, 404, 406}

    def request(self, draw: random.Random) -> tuple[str, str, bytes | None, set[int]]:
        """Method, target, body, and the statuses that it may have."""
        method, path, about = draw.choice(self.operations)
        query = []
        for one in about["parameters"]:
            if one["in"] == "path":
                path = path.replace("{" + one["name"] + "}", urllib.parse.quote(text_of(draw, one["schema"]), safe="") or "x")
            elif draw.random() < (0.9 if one["required"] else 0.3):
                for _ in range(draw.choice([1, 1, 1, 2, 5])):
                    query.append((one["name"], text_of(draw, one["schema"])))
        target = path + ("?" + urllib.parse.urlencode(query) if query else "")
        body = None
        if method == "POST":
            body = draw.choice(ODD_JSON) if draw.random() < 0.2 else json.dumps(self.body(draw, about)).encode()
        return method, target, body, {int(status) for status in about["responses"]} or self.statuses

    def body(self, draw: random.Random, about: dict[str, Any]) -> Any:
        if "requestBody" not in about:
            return {"jsonrpc": "2.0", "id": draw.choice([1, "a", None, 1.5]), "params": value_of(draw, {"type": "object"}),
                    "method": draw.choice(["initialize", "tools/list", "tools/call", "ping", "x"])}
        return value_of(draw, about["requestBody"]["content"]["application/json"]["schema"])


def text_of(draw: random.Random, schema: dict[str, Any]) -> str:
    made = value_of(draw, schema["items"] if schema.get("type") == "array" else schema)
    return made if isinstance(made, str) else json.dumps(made)


def value_of(draw: random.Random, schema: dict[str, Any]) -> Any:
    """A value as the schema has it, mostly."""
    if draw.random() < 0.03:
        return draw.choice([None, True, [], {}, [[]], draw.choice(WORDS), draw.choice(NUMBERS)])
    if "anyOf" in schema:
        return value_of(draw, draw.choice(schema["anyOf"]))
    if "enum" in schema:
        return draw.choice(schema["enum"])
    kind = schema["type"] if isinstance(schema["type"], str) else draw.choice(schema["type"])
    if kind == "object":
        return object_of(draw, schema)
    if kind == "array":
        count = draw.choice([schema.get("minItems", 0), 1, 2, 5, 5, schema.get("maxItems", 5) + 1 if draw.random() < 0.01 else 3])
        return [value_of(draw, schema["items"]) for _ in range(count)]
    if kind in ("integer", "number"):
        return draw.choice([draw.choice(NUMBERS), draw.randrange(1, 60), schema.get("minimum", 0), schema.get("maximum", 9)])
    if kind == "boolean":
        return draw.random() < 0.5
    return draw.choice([draw.choice(WORDS), str(draw.randrange(60)), "x" * draw.randrange(schema.get("maxLength", 100) + 2)])


def object_of(draw: random.Random, schema: dict[str, Any]) -> dict[str, Any]:
    members = schema.get("properties", {})
    needed = set(schema.get("required", []))
    if "oneOf" in schema and draw.random() < 0.9:
        needed.update(draw.choice(schema["oneOf"])["required"])
        others = {name for one in schema["oneOf"] for name in one["required"]} - needed
        members = {name: one for name, one in members.items() if name not in others}
    made = {name: value_of(draw, one) for name, one in members.items()
            if draw.random() < (0.97 if name in needed else 0.3)}
    if draw.random() < 0.03:
        made[draw.choice(WORDS)] = 1
    return made


def whole(method: str, target: str, body: bytes | None) -> bytes:
    head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n".encode()
    if body is None:
        return head + b"\r\n"
    return head + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def spoilt(draw: random.Random, bytes_: bytes) -> bytes:
    """What is left of a request."""
    head, _, body = bytes_.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    kind = draw.randrange(11)
    if kind == 0:
        return bytes_[:draw.randrange(len(bytes_) + 1)]
    if kind == 1:
        changed = bytearray(bytes_)
        for _ in range(draw.choice([1, 1, 2, 8, 64])):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        return bytes(changed)
    if kind == 2:
        return draw.randbytes(draw.choice([1, 3, 16, 200, 5000]))
    if kind == 3:
        lines.insert(draw.randrange(len(lines) + 1), draw.choice(HEADERS))
    if kind == 4:
        lines += [draw.choice(HEADERS) for _ in range(draw.choice([2, 10, 300]))]
    if kind == 5:
        del lines[draw.randrange(len(lines))]
    if kind == 6:
        lines[0] = draw.choice(METHODS) + b" " + draw.choice(TARGETS) + draw.choice([b" HTTP/1.1", b" HTTP/1.0", b" HTTP/2.0", b""])
    if kind == 7:
        lines = [line for line in lines if not line.startswith(b"Content-Length")] + [b"Transfer-Encoding: chunked"]
        body = draw.choice(CHUNKS)
    if kind == 8:
        body = draw.choice([b"", body * 2, b"\r\n", body + b"{", draw.randbytes(100), b"x" * 70_000])
    if kind == 9:
        return bytes_.replace(b"\r\n", draw.choice([b"\n", b"\r", b"\r\n\r\n", b"\n\r"]))
    if kind == 10:
        at = draw.randrange(len(bytes_))
        return bytes_[:at] + draw.choice([b"\x00", b"\r\n", b" ", b"\xff" * 300, b"A" * 100_000, bytes_]) + bytes_[at:]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
