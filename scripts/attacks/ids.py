# SPDX-License-Identifier: Apache-2.0
"""Random ids: whatever is written reads back the same, by every writer and every reader."""
from __future__ import annotations

import csv
import gzip
import io
import json
import random

from .lab import Attack, Case
from modelfile import ModelFile

LETTERS = [b" ", b"\t", b'"', b",", b";", b"|", b"::", b":", b"#", b"%", b"+", b"-", b".", b"\\",
           b"'", b"0", b"1", b"7", b"a", b"B", b"=", b"\xc3\xa9", b"\xef\xbb\xbf", b"\x80", b"\x7f",
           b"\x1b", b"user", b"item", b"nan", b"1e5", b"\xe2\x80\xa8", b"<", b"&", b"/", b"\n", b"\r\n"]


def random_ids(draw: random.Random) -> list[bytes]:
    """Distinct ones: numbers, nearly numbers, or anything."""
    kind = draw.choice(["any", "any", "any", "plain", "whole numbers"])
    found: set[bytes] = set()
    while len(found) < 5:
        if kind == "whole numbers":
            found.add(str(draw.choice([0, 1, -1, 7, 2**31, -2**63, 2**63 - 1, 10**15]) ).encode())
        elif kind == "plain":
            found.add(draw.choice([b"a", b"7", b"07", b"+7", b"1.0", b"A", b"", b"a a"]) or b"x")
        else:
            found.add(b"".join(draw.choices(LETTERS, k=draw.choice([1, 1, 2, 3, 9, 500]))))
    return sorted(found)


def quoted(field: bytes) -> bytes:
    return b'"' + field.replace(b'"', b'""') + b'"'


class Ids(Attack):
    name = "ids"

    def attack(self, case: Case) -> None:
        draw = case.random
        users, items = random_ids(draw), random_ids(draw)
        pairs = {(u, i) for u in users for i in items if draw.random() < 0.6}
        pairs |= {(u, items[0]) for u in users} | {(users[0], i) for i in items}
        rows = b"".join(quoted(u) + b"," + quoted(i) + b",1\n" for u, i in sorted(pairs))
        case.write("data.csv", b"user,item,value\n" + rows)
        self.same_pairs(case, "data.csv", pairs, "read")
        case.done("split", "data.csv", "-o", "parts", "--test", "0.4")
        case.write("both.csv", case.read("parts/train.csv") +
                   case.read("parts/test.csv").partition(b"\n")[2])
        self.same_pairs(case, "both.csv", pairs, "split and read")
        case.done("train", "data.csv", "-o", "model", "--algorithm", "popular")
        self.lists(case, users, items, pairs)
        draw.choice([self.user_file, self.item_file, self.argument])(case, users, items)

    def same_pairs(self, case: Case, path: str, pairs: set[tuple[bytes, bytes]], how: str,
                   *options: str) -> None:
        case.done("train", path, "-o", "again", "--algorithm", "popular", *options)
        found = set(ModelFile(case.read("again")).history())
        case.check(found == pairs, f"other ids: {how}",
                   f"of {path} the pairs {sorted(pairs)}, not {sorted(found)}"[:900])

    def lists(self, case: Case, users: list[bytes], items: list[bytes],
              pairs: set[tuple[bytes, bytes]]) -> None:
        """Rows of predictions and recommendations, in a form of one's choice."""
        end = case.random.choice([".csv", ".tsv", ".jsonl"])
        packed = case.random.choice(["", ".gz"])
        odd = "odd" + case.random.choice([".parquet", ".json", ".txt", ".CSV", ".csv.xz", ".x"]) + packed
        ran = case.run("predict", "model", "data.csv", "-o", odd)
        case.check(ran.code == 2 and not (case.folder / odd).exists(), "a table of no known format",
                   f"a refusal of {odd} before any work, not {ran.code}")
        if end == ".tsv" and any(b"\n" in one for one in users + items):
            ran = case.run("predict", "model", "data.csv", "-o", "rows.tsv")
            case.check(ran.code == 1 and "line break" in ran.message, "line breaks in .tsv",
                       f"a refusal to write {users} and {items} between tabs")
            return
        if end == ".jsonl" and not all(map(is_utf8, users + items)):
            ran = case.run("predict", "model", "data.csv", "-o", "rows.jsonl")
            case.check(ran.code == 1, "JSON of ids that it cannot hold",
                       f"a refusal to write {users} and {items} as JSON")
            return
        case.done("predict", "model", "data.csv", "-o", f"rows{end}{packed}")
        content = case.read(f"rows{end}{packed}")
        found = rows_of(gzip.decompress(content) if packed else content, end)
        told = {(row["user"], row["item"]) for row in found}
        case.check(told == pairs and len(found) == len(pairs), f"other ids: predict {end}",
                   f"the pairs {sorted(pairs)}, not {sorted(told)}"[:900])
        if end != ".jsonl":
            self.same_pairs(case, f"rows{end}{packed}", pairs, f"predict {end} and read",
                            "--columns", "user,item,prediction")
        case.done("recommend", "model", "--all", "--include-seen", "-n", "99", "-o", f"lists{end}")
        told = {(row["user"], row["item"]) for row in rows_of(case.read(f"lists{end}"), end)}
        case.check(told == {(u, i) for u in users for i in items}, f"other ids: recommend {end}",
                   f"all of {users} with all of {items}, not {sorted(told)}"[:900])

    def user_file(self, case: Case, users: list[bytes], items: list[bytes]) -> None:
        chosen = lines_of(users)
        if not chosen:
            return
        case.write("ids.txt", b"\n".join(chosen) + b"\n")
        ran = case.done("recommend", "model", "--users", "ids.txt", "--include-seen")
        found = {row["user"] for row in rows_of(ran.out, ".csv")}
        case.check(found == set(chosen), "other ids: --users", f"{chosen}, not {sorted(found)}")

    def item_file(self, case: Case, users: list[bytes], items: list[bytes]) -> None:
        chosen = lines_of(items)
        if not chosen:
            return
        case.write("ids.txt", b"\n".join(chosen) + b"\n")
        for flag in ("--allow", "--deny"):
            wanted = set(chosen) if flag == "--allow" else set(items) - set(chosen)
            ran = case.run("recommend", "model", "--all", "--include-seen", flag, "ids.txt")
            found = {row["item"] for row in rows_of(ran.out, ".csv")}
            case.check(ran.code != 0 and not wanted or found == wanted, f"other ids: {flag}",
                       f"{sorted(wanted)}, not {sorted(found)}: {ran.message}")

    def argument(self, case: Case, users: list[bytes], items: list[bytes]) -> None:
        user = case.random.choice(users)
        word = "--user=" + user.decode("utf-8", "surrogateescape")
        ran = case.done("recommend", "model", word, "--include-seen")
        found = {row["user"] for row in rows_of(ran.out, ".csv")}
        case.check(found == {user}, "other ids: --user", f"{user}, not {sorted(found)}")


def lines_of(ids: list[bytes]) -> list[bytes]:
    """Ids for a file with one to a line, which is no place for line breaks or a byte order mark."""
    return [one for one in ids if not one.startswith(b"\xef\xbb\xbf") and b"\n" not in one]


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def rows_of(content: bytes, end: str) -> list[dict[str, bytes]]:
    """Ids as bytes, by the readers of Python."""
    if end == ".jsonl":
        lines = [json.loads(line) for line in content.split(b"\n") if line]
        return [{name: str(value).encode() for name, value in row.items()} for row in lines]
    table = csv.DictReader(io.StringIO(content.decode("latin-1"), newline=""),
                           delimiter="\t" if end == ".tsv" else ",")
    return [{name: value.encode("latin-1") for name, value in row.items()} for row in table]
