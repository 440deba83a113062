# SPDX-License-Identifier: Apache-2.0
"""Random interaction texts, read by the program and by the reader of these attacks."""
from __future__ import annotations

import csv
import gzip
import io
import random
import struct
from fractions import Fraction

from . import forms, reader
from .lab import Attack, Case, Ran
from .literals import Refused, Unclear, as_float32, instant
from .matrix import make_matrix, read_matrix
from modelfile import ModelFile

HEADERS = [["user", "item", "value", "time"], ["userId", "movieId", "rating", "timestamp"],
           ["User-ID", "item_id", "Score", "ts"], ["customer", "product", "stars", "date"],
           ["user_id", "item_id", "my_rating", "timestamp"], ["uid", "iid", "nonsense", "other"],
           ["who", "what", "how much", "when it was"]]
NAMES = ["a", "ann", "Ann", " ann", "ann ", "a\tb", 'say "x"', "a,b", "a;b", "x::y", "a|b", "#1",
         "%c", "7", "007", "+7", "-7", "1e3", "user", " ", "\u00e9", "9223372036854775808",
         "n" * 300, "=1+1", "\\n", "'q'", "null", "nan"]
ODD_NUMBERS = ["+1", "+-1", "--1", "-+1", "1e400", "-1e39", "1e39", "0x10", "nan", "inf", "-0",
               ".5", "5.", ".", "1e", "1_000", "1,5", "", " 3 ", "1e-50", "3.4e38",
               "1.0000001", "\u0661"]
TIMES = ["0", "978300760", "978300760.25", "978300760.5", "978300761", "1e9", "-5", "978300760123",
         "978300760123456", "978300760123456789", "2001-02-03", "2001-02-03T04:05:06",
         "2001-02-03T04:05:06.25Z", "2001-02-03 04:05:06.5+01:00", "2001-02-30", "soon", "",
         "1969-12-31T23:59:59.999999Z"]
NANOSECOND = Fraction(1, 1_000_000_000)
DAMAGE = ["NUL", "byte", "cut", "blank line", "extra field", "missing field", "counts", "CR",
          "UTF-16"]


def zstd_frame(content: bytes) -> bytes:
    """A zstd frame of one block as it is (RFC 8878), without a compressor."""
    return (b"\x28\xb5\x2f\xfd" + b"\xa0" + struct.pack("<I", len(content)) +
            ((len(content) << 3) | 1).to_bytes(3, "little") + content)


class Texts(Attack):
    name = "texts"
    share = 2.0

    def attack(self, case: Case) -> None:
        content, options = make(case.random)
        packed = case.random.choice([bytes, bytes, bytes, gzip.compress, zstd_frame])(content)
        case.write("in.txt", packed)
        told = case.run("info", "in.txt", "--json", *options.arguments())
        try:
            check_reading(case, content, options, told)
        except Refused as why:
            case.check(told.code != 0, f"accepted: {kind_of(why)}", f"refused: {why}")
        except Unclear:
            if told.code == 0:
                check_parts(case, None, options, told.json)
        piped = case.run("info", "/dev/stdin", "--json", *options.arguments(),
                         shell='cat in.txt | "$@"')
        case.check(told.code == piped.code and told.out == piped.out, "a pipe is read otherwise",
                   f"of a pipe what is told of the file: {told.out!r}, not {piped.out!r}")


def make(draw: random.Random) -> tuple[bytes, reader.Options]:
    kind = draw.random()
    if kind < 0.3:
        return forms.make(draw)
    return (make_matrix if kind < 0.42 else make_text)(draw), make_options(draw)


def read(content: bytes, options: reader.Options) -> reader.Reading:
    if forms.is_other(content, options):
        return forms.read(content, options)
    if content.lower().startswith(b"%%matrixmarket"):
        return read_matrix(content, options)
    return reader.read(content, options)


def check_reading(case: Case, content: bytes, options: reader.Options, told: Ran) -> None:
    wanted = read(content, options)
    case.check(told.code == 0, "refused", f"exit 0, {len(wanted.pairs)} pairs: {told.message}")
    check_facts(case, wanted, told.json)
    check_model(case, wanted.pairs, "in.txt", options)
    rated = case.run("train", "in.txt", "-o", "rated", "--feedback", "explicit", "--algorithm",
                     case.random.choice(["popular", "als"]), *options.arguments())
    case.check(wanted.valued or rated.code != 0, "ratings without values",
               "a refusal of explicit feedback where no column has values")
    check_parts(case, wanted, options, told.json)


def kind_of(why: Exception) -> str:
    """Without what is of this case."""
    return "".join(part for part in str(why).replace("b\"", "b'").split("b'")[-1:]).split("'")[-1]


def check_facts(case: Case, wanted: reader.Reading, facts: dict) -> None:
    values = [value for value, _ in wanted.pairs.values()]
    own = {"rows": wanted.rows, "bad_rows": wanted.bad_rows, "duplicates": wanted.duplicates,
           "users": len({user for user, _ in wanted.pairs}), "interactions": len(wanted.pairs),
           "items": len({item for _, item in wanted.pairs})}
    for name, value in own.items():
        case.check(facts[name] == value, f"other {name}", f"{name} {value}, not {facts[name]}")
    for name, value in (("min", min(values)), ("max", max(values))):
        told = as_float32(facts["values"][name])
        case.check(told == value, "other values", f"{name} {value}, not {told}")


def check_model(case: Case, pairs: dict, path: str, options: reader.Options) -> None:
    """Ids, pairs and values as a model has them."""
    if not any(row[0] for row in pairs.values()):
        told = case.run("train", path, "-o", "model", "--algorithm", "popular", *options.arguments())
        case.check(told.code == 1, "no likes", "a refusal of values that are all 0")
        return
    case.done("train", path, "-o", "model", "--algorithm", "popular", *options.arguments())
    history = ModelFile(case.read("model")).history()
    wanted = {key: row[0] for key, row in pairs.items()}
    case.check(history == wanted, "another history",
               f"the history {wanted}, not {history}"[:600])


def check_parts(case: Case, wanted: reader.Reading | None, options: reader.Options,
                facts: dict) -> None:
    """`split` and reading again give every row back, as it was."""
    if facts["interactions"] < 2:
        return
    case.done("split", "in.txt", "-o", "parts", "--test", "0.5", *options.arguments())
    written = written_rows(case.read("parts/train.csv")) + written_rows(case.read("parts/test.csv"))
    case.check(len(written) == facts["interactions"], "split has other rows",
               f"{facts['interactions']} rows in both parts, not {len(written)}")
    for part in ("train", "test"):
        rows = written_rows(case.read(f"parts/{part}.csv"))
        check_model(case, {row[:2]: (row[2], None) for row in rows}, f"parts/{part}.csv",
                    reader.Options())
    if wanted is None:
        return
    own = {(*key, *row) for key, row in wanted.pairs.items()}
    case.check({row[:3] for row in written} == {row[:3] for row in own}, "split changes rows",
               f"the rows {own}, not {set(written)}"[:900])
    times = {row[:2]: row[3] for row in written}
    for key, (_, time) in wanted.pairs.items():
        case.check(time is None or abs(times[key] - time) < NANOSECOND, "split changes times",
                   f"the time {time} of {key}, not {times[key]}")


def written_rows(content: bytes) -> list[tuple[bytes, bytes, float, Fraction | None]]:
    """Rows of CSV as Python's csv module reads them, byte by byte."""
    lines = csv.reader(io.StringIO(content.decode("latin-1"), newline=""))
    next(lines)
    return [(row[0].encode("latin-1"), row[1].encode("latin-1"),
             as_float32(float(row[2])) if len(row) > 2 else 1.0,
             instant(row[3].encode()) if len(row) > 3 else None) for row in lines]


def quoted(field: str, delimiter: str, draw: random.Random) -> str:
    """As careful writers do; sometimes not."""
    special = delimiter in field or '"' in field or field != field.strip(" \t")
    if not (special and draw.random() < 0.8) and draw.random() > 0.05:
        return field
    return '"' + field.replace('"', '""') + '"'


def make_options(draw: random.Random) -> reader.Options:
    options = reader.Options()
    if draw.random() < 0.5:
        return options
    options.duplicates = draw.choice(["auto", "auto", "newest", "sum", "mean", "max", "first", "last", "count", "error"])
    options.skip_bad = draw.random() < 0.4
    options.delimiter = draw.choice(["", "", "", ",", "tab", "::"])
    options.header = draw.choice(["auto", "auto", "auto", "yes", "no"])
    options.min_value = draw.choice([None, None, None, 2.0, -1e30])
    options.columns = draw.choice([(), (), (), ("1", "2"), ("2", "1", "3"), ("1", "2", "-", "4")])
    return options


def make_text(draw: random.Random) -> bytes:
    """Rows of a sane file, with none to two oddities."""
    delimiter = draw.choice([",", ",", ",", "\t", ";", "|", "::", " "])
    header, width = draw.choice(HEADERS), draw.choice([2, 3, 3, 3, 4, 4])
    names = draw.sample(NAMES, 4) if draw.random() < 0.5 else ["1", "2", "10", "33"]
    if delimiter == " ":
        names = ["1", "2", "10", "33"]
    rows = [[draw.choice(names), draw.choice(names + ["x1", "x2"]), draw.choice("123459"),
             draw.choice(TIMES[:6]) if draw.random() < 0.5 else str(draw.randint(0, 2**31))][:width]
            for _ in range(draw.choice([1, 2, 3, 5, 8, 12]))]
    if draw.random() < 0.3 and width > 2:
        draw.choice(rows)[2] = draw.choice(ODD_NUMBERS)
    if draw.random() < 0.3 and width > 3:
        draw.choice(rows)[3] = draw.choice(TIMES)
    if draw.random() < 0.7:
        rows.insert(0, header[:width])
    lines = [delimiter.join(quoted(field, delimiter, draw) for field in row) for row in rows]
    end = draw.choice(["\n", "\n", "\r\n"])
    text = (end.join(lines) + draw.choice([end, end, ""])).encode()
    text = b"\xef\xbb\xbf" + text if draw.random() < 0.1 else text
    return damaged(text, lines, delimiter, draw) if draw.random() < 0.3 else text


def damaged(text: bytes, lines: list[str], delimiter: str, draw: random.Random) -> bytes:
    kind, at = draw.choice(DAMAGE), draw.randrange(len(text))
    place = draw.randrange(len(lines))
    if kind == "extra field":
        lines[place] += delimiter + draw.choice(["9", "x", ""])
    elif kind == "missing field":
        lines[place] = lines[place].rpartition(delimiter)[0]
    elif kind == "blank line":
        lines.insert(place, draw.choice(["", "  ", "\t"]))
    elif kind == "counts":
        lines.insert(0, delimiter.join(["40", "40", str(len(lines))]))
    else:
        return {"NUL": text[:at] + b"\0" + text[at:], "cut": text[:at],
                "UTF-16": b"\xff\xfe" + text, "CR": text.replace(b"\n", b"\r"),
                "byte": text[:at] + bytes([draw.randrange(1, 256)]) + text[at + 1:]}[kind]
    return "\n".join(lines).encode() + b"\n"
