# SPDX-License-Identifier: Apache-2.0
"""A second reader of interactions, written from docs/reference/command-line.md and include/likewise/read.h:
plain, slow, and sharing nothing with the program. Where these do not say what a text means, it says
so with Unclear."""
from __future__ import annotations

import dataclasses
import re
from fractions import Fraction

from .literals import Refused, Unclear, as_float32, instant, number

BLANKS = b" \t"
DELIMITERS = {"tab": b"\t", "::": b"::", ",": b",", ";": b";", "|": b"|", "space": b" "}
EVENTS = ("event", "action", "feedback")  # kinds of events: their words may be values
STRICT = (b",", b";", b"|")  # where a quote has to open and close a whole field
ROLES = ("user", "item", "value", "time")
KNOWN = {
    "user": ["user", "userid", "uid", "customer", "reviewerid"],
    "item": ["item", "itemid", "iid", "movieid", "product", "title"],
    "value": ["value", "rating", "score", "stars", "count", "plays"],
    "time": ["time", "timestamp", "date", "ts"],
}


@dataclasses.dataclass
class Options:
    delimiter: str = ""
    header: str = "auto"
    columns: tuple[str, ...] = ()
    duplicates: str = "auto"
    min_value: float | None = None
    skip_bad: bool = False
    format: str = "auto"
    decimal: str = "."
    values: tuple[tuple[str, float], ...] = ()

    def arguments(self) -> list[str]:
        given: list[str] = []
        for flag, value in (("--delimiter", self.delimiter), ("--columns", ",".join(self.columns))):
            given += [flag, value] if value else []
        for flag, value in (("--header", self.header), ("--duplicates", self.duplicates)):
            given += [flag, value] if value != "auto" else []
        for flag, value in (("--format", self.format), ("--decimal", self.decimal)):
            given += [flag, value] if value not in ("auto", ".") else []
        given += ["--values", ",".join(f"{word}={count}" for word, count in self.values)] if self.values else []
        given += ["--min-value", str(self.min_value)] if self.min_value is not None else []
        return given + (["--on-bad-row", "skip"] if self.skip_bad else [])


@dataclasses.dataclass
class Reading:
    """What a text holds: (user, item) -> value and time, in float32 and seconds."""

    pairs: dict[tuple[bytes, bytes], tuple[float, Fraction | None]]
    rows: int
    bad_rows: int
    duplicates: int
    valued: bool  # has a column of values


def split(line: bytes, delimiter: bytes) -> list[bytes]:
    """The fields of a line: quoted ones as in RFC 4180, others without the blanks around them."""
    if delimiter == b" ":
        if b'"' in line:
            raise Unclear("quotes between spaces")
        return re.split(rb"[ \t]+", line.strip(BLANKS))
    fields, at = [], 0
    while True:
        quoted = re.compile(rb'"((?:[^"]|"")*)"').match(line, at)
        if quoted and (quoted.end() == len(line) or line.startswith(delimiter, quoted.end())):
            fields.append(quoted[1].replace(b'""', b'"'))
            end = quoted.end()
        elif line.startswith(b'"', at) and delimiter in STRICT:
            raise Refused("a quote that does not close its field")
        else:
            end = line.find(delimiter, at)
            end = len(line) if end < 0 else end
            fields.append(line[at:end].strip(BLANKS))
            if fields[-1].startswith(b'"') or (delimiter not in STRICT and b'"' in fields[-1]):
                raise Unclear("a quote within a field")
        if end == len(line):
            return fields
        at = end + len(delimiter)


def row_end(text: bytes, at: int, delimiter: bytes) -> int:
    """Where the row that begins at `at` ends: quoted fields that close may hold line ends."""
    line_end = text.find(b"\n", at) % (len(text) + 1)
    while delimiter in STRICT and at <= line_end:
        if text.startswith(b'"', at):
            closed = re.compile(rb'"(?:[^"]|"")*"(?!")').match(text, at)
            if not closed or closed.end() - at > 2**16 or not re.compile(
                    rb"\r?\n|\Z|" + re.escape(delimiter)).match(text, closed.end()):
                return line_end  # a bad line
            if closed.end() > line_end:
                line_end = text.find(b"\n", closed.end()) % (len(text) + 1)
            at = closed.end()
        at = text.find(delimiter, at, line_end) + 1
        if at == 0:
            break
    return line_end


def rows_by(text: bytes, delimiter: bytes) -> list[bytes]:
    rows, start = [], 0
    while start < len(text):
        end = row_end(text, start, delimiter)
        rows.append(text[start:end].removesuffix(b"\r"))
        start = end + 1
    return rows


def detected(lines: list[bytes], decimal: str) -> bytes:
    """The delimiter, where there is no doubt: all lines have as many fields, by no other one."""
    fits = []
    for delimiter in DELIMITERS.values():
        if delimiter == decimal.encode():
            continue
        try:
            counts = {len(split(line, delimiter)) for line in lines}
        except (Refused, Unclear):
            if any(delimiter in line for line in lines):
                raise Unclear("delimiters among quotes") from None
            continue
        if counts != {1}:
            fits.append((delimiter, len(counts) == 1))
    fits = [fit for fit in fits if fit[0] != b" "] or fits
    if not fits:
        raise Refused("no delimiter")
    if len(fits) > 1 or not fits[0][1]:
        raise Unclear("several delimiters")
    return fits[0][0]


def is_number(text: bytes) -> bool:
    try:
        number(text)
    except Refused:
        return False
    return True


def plain(name: bytes) -> str:
    return re.sub(rb"[_\-. #]", b"", name.split(b":")[0]).lower().decode("latin-1")


def role_of(name: bytes) -> str | None:
    return next((role for role in ROLES if plain(name) in KNOWN[role]), None)


def has_header(rows: list[list[bytes]], options: Options) -> bool:
    if options.header != "auto" or any(not c.isdigit() and c != "-" for c in options.columns):
        return options.header != "no"
    if any(is_number(field) for field in rows[0]):
        return False
    if any(role_of(field) in ("user", "item") for field in rows[0]):
        return True
    below = [[row[c] for row in rows[1:] if c < len(row)] for c in range(len(rows[0]))]
    if any(column and len(column) == len(rows) - 1 and all(map(is_number, column))
           for column in below):
        return True
    if any(is_number(field) for column in below for field in column):
        raise Unclear("a first line without numbers above some")
    return False


def chosen(names: list[bytes] | None, rows: list[list[bytes]], fields: int,
           options: Options) -> list[int]:
    """Which column is user, item, value and time; -1 for none."""
    if options.columns:
        return given_columns(names or [], fields, options)
    roles = [role_of(name) for name in names or []]
    if "user" in roles or "item" in roles:
        if any(roles.count(role) > 1 for role in ROLES):
            raise Refused("two columns of the same kind")
        columns = [roles.index(role) if role in roles else -1 for role in ROLES]
        if columns[0] < 0 or columns[1] < 0:
            raise Refused("users or items without a name")
        spare = [c for c in range(fields) if c not in columns]
        events = [c for c in spare if plain(names[c]) in EVENTS] if names and columns[2] < 0 else []
        if events and (options.values or all(len(row) > events[0] and re.fullmatch(b"[a-z]+", row[events[0]]) for row in rows)):
            columns[2] = events[0]
            spare = [c for c in spare if c != events[0]]
        if columns[2] < 0 and spare and all(len(row) > c and is_number(row[c])
                                            for c in spare[:1] for row in rows):
            raise Refused("a column of numbers with an unknown name")
        if columns[2] < 0 and spare:
            raise Unclear("columns with unknown names")
        return columns
    if fields < 2:
        if any(len(row) > 1 for row in rows):
            raise Unclear("a first row of a single column")
        raise Refused("a single column")
    # Numbers of 64 bits, as counts above the rows, name no column.
    naming = any(not re.fullmatch(rb"0|-?[1-9][0-9]*", name) or not -2**63 <= int(name) < 2**63
                 for name in names or [])
    if naming or fields > 6:
        raise Refused("users and items have no name")
    return [c if c < fields else -1 for c in range(len(ROLES))]


def given_columns(names: list[bytes], fields: int, options: Options) -> list[int]:
    columns = []
    for wanted in options.columns:
        if wanted == "-":
            columns.append(-1)
        elif wanted.isdigit():
            columns.append(int(wanted) - 1)
        elif wanted.encode() in names:
            columns.append(names.index(wanted.encode()))
        else:
            raise Unclear("a name that only resembles the header's")
        if columns[-1] >= fields or wanted == "0":
            raise Refused("no such column")
    used = [c for c in columns if c >= 0]
    if len(set(used)) < len(used) or min(columns[:2]) < 0:
        raise Refused("columns named twice, or none for users")
    return columns + [-1] * (len(ROLES) - len(columns))


def refuse_sentences(rows: list[list[bytes]]) -> None:
    """Words between spaces, without a number in the first lines."""
    digits = [any(re.search(rb"[0-9]", field) for field in row) for row in rows]
    if not any(digits):
        raise Refused("words between spaces")
    if not any(digits[:100]):
        raise Unclear("words between spaces above numbers")


def looks_like_counts(rows: list[list[bytes]]) -> bool:
    """Sizes (users, items, rows) in the first line: either understood or refused."""
    first = rows[0]
    whole = [int(f) for f in first if re.fullmatch(rb"[0-9]+", f)]
    return len(first) == len(whole) == 3 and whole[2] == len(rows) - 1


def value_of(field: bytes, options: Options) -> float:
    """A number, the number of a word, or of "true" and "false"."""
    if options.values:
        if field.decode("latin-1") not in dict(options.values):
            raise Refused("a word without a number")
        return as_float32(dict(options.values)[field.decode("latin-1")])
    truth = {b"true": 1.0, b"True": 1.0, b"TRUE": 1.0, b"false": 0.0, b"False": 0.0, b"FALSE": 0.0}
    if field in truth:
        return truth[field]
    if options.decimal == ",":
        field = b"?" if b"." in field else field.replace(b",", b".")
    return number(field)


def row_of(fields: list[bytes], columns: list[int], width: int, named: bool, options: Options) -> tuple[bytes, bytes, float, Fraction | None]:
    if len(fields) > width:
        if named and fields[-1]:
            raise Refused("more fields than the header has")
        raise Unclear("more fields than the first row has")
    if max(columns) >= len(fields):
        raise Refused("too few fields")
    if len(fields) < width:
        raise Unclear("fewer fields than the first row has")
    user, item = fields[columns[0]], fields[columns[1]]
    if not user or not item:
        raise Refused("an empty id")
    value = value_of(fields[columns[2]], options) if columns[2] >= 0 else 1.0
    return user, item, value, instant(fields[columns[3]]) if columns[3] >= 0 else None


def without_preamble(text: bytes, options: Options) -> tuple[bytes, bytes]:
    """The text below comments and "sep=;", and the delimiter that is given or stated; b"": none."""
    delimiter = DELIMITERS[options.delimiter] if options.delimiter else b""
    while True:
        line = text.split(b"\n")[0].removesuffix(b"\r")
        stated = re.fullmatch(rb'"?sep=(.)"?|"?SEP=(.)"?', line)
        if not stated and not re.match(rb"[#%](\Z|[ \t])|##|%%", line):
            return text, delimiter
        if stated and (delimiter or line.count(b'"') == 1):
            raise Unclear("a delimiter that is told twice")
        if stated:
            delimiter = stated[1] or stated[2]
        text = text[text.find(b"\n") % (len(text) + 1) + 1:]


def read(text: bytes, options: Options) -> Reading:
    """The whole text, or Refused, or Unclear."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    if not text or b"\0" in text or text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Refused("no text")
    if b"\r" in text and b"\n" not in text:
        raise Unclear("lines that end in CR alone")
    text, delimiter = without_preamble(text, options)
    lines = [line.removesuffix(b"\r") for line in text.split(b"\n")]
    lines = [line for line in lines if line.strip(BLANKS)]
    if not lines:
        raise Refused("only blank lines")
    if all(re.fullmatch(rb"[-+.0-9]+([ \t]+[0-9]+(:[0-9]+)?:[-+.0-9]+)+", line) for line in lines):
        raise Refused("libsvm or libffm")
    delimiter = delimiter or detected(lines, options.decimal)
    if delimiter == options.decimal.encode():
        raise Refused("decimal commas between commas")
    lines = [line for line in rows_by(text, delimiter) if line.strip(BLANKS)]
    rows: list[list[bytes]] = []
    for line in lines:
        try:
            rows.append(split(line, delimiter))
        except Refused:
            if not rows:
                raise
            if options.header == "auto":
                raise Unclear("broken quotes below what may be a header") from None
            rows.append([])
    named = has_header(rows, options)
    if not named and looks_like_counts(rows):
        raise Unclear("a first line of counts")
    if not (named or options.columns or options.delimiter) and delimiter == b" ":
        refuse_sentences(rows)
    body = rows[1:] if named else rows
    if not named and not options.columns and len(rows) > 1 and is_trec(rows):
        raise Refused("judgements or a run of TREC")
    return merged(body, chosen(rows[0] if named else None, body, len(rows[0]), options),
                  len(rows[0]), named, options)


def is_trec(rows: list[list[bytes]]) -> bool:
    second = [row[1] for row in rows if len(row) > 1]
    if any(cell not in (b"0", b"Q0") for cell in second):
        return False
    grades = [row[3] for row in rows if len(row) > 3]
    if len(rows[0]) == 4:
        return all(re.fullmatch(rb"-[12]|[0-9]|10", grade) for grade in grades)
    return len(rows[0]) == 6 and second[0] == b"Q0"


def merged(rows: list[list[bytes]], columns: list[int], width: int, named: bool,
           options: Options) -> Reading:
    pairs: dict[tuple[bytes, bytes], tuple[float, Fraction | None]] = {}
    sums: dict[tuple[bytes, bytes], float] = {}
    counts: dict[tuple[bytes, bytes], int] = {}
    bad = duplicates = 0
    if columns[2] < 0 and (options.values or options.decimal != "."):
        raise Refused("no column of values for an option of values")
    rule = options.duplicates
    if rule == "newest" and columns[3] < 0:
        raise Refused("no times")
    if rule == "auto":
        rule = ("newest" if columns[3] >= 0 else "last") if columns[2] >= 0 else "sum"
    for fields in rows:
        try:
            user, item, value, time = row_of(fields, columns, width, named, options)
        except Refused:
            if not options.skip_bad:
                raise
            bad += 1
            continue
        key = (user, item)
        if key in pairs:
            duplicates += 1
            if rule == "error":
                raise Refused("a repeated pair")
            earlier, then = pairs[key]
            sums[key] += value
            counts[key] += 1
            if rule == "first" or (rule == "newest" and time is not None and then is not None and time < then):
                value, time = earlier, then
            elif rule not in ("last", "newest") and time is not None:
                time = max(time, then or Fraction(0))
            value = {"max": max(value, earlier), "sum": sums[key], "mean": sums[key] / counts[key],
                     "count": float(counts[key])}.get(rule, value)
        else:
            sums[key], counts[key] = value, 1
            value = 1.0 if rule == "count" else value
        pairs[key] = (value, time)
    if not pairs:
        raise Refused("no rows")
    pairs = {key: (as_float32(value), time) for key, (value, time) in pairs.items()}
    if options.min_value is not None:
        pairs = {key: row for key, row in pairs.items() if row[0] >= options.min_value}
        if not pairs:
            raise Refused("no rows are left")
    return Reading(pairs, len(rows), bad, duplicates, columns[2] >= 0)
