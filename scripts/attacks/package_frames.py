# SPDX-License-Identifier: Apache-2.0
"""Columns of all kinds, in all containers, against the same values read plainly:
python -m attacks.package_frames SEED COUNT. Prints a kind of failure and what was expected, or nothing."""
from __future__ import annotations

import dataclasses
import datetime
import decimal
import fractions
import random
import sys
import warnings
from typing import Any, Callable

import numpy as np

import likewise

try:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    CONTAINERS = ["numpy", "pandas", "polars", "arrow"]
except ImportError:
    CONTAINERS = ["numpy"]

FIRST, END = -100_000_000_000, 253_402_300_800  # seconds that a time may have, both outside
EPOCH = datetime.datetime(1970, 1, 1)
PER_UNIT = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9,
            "s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}

Encode = Callable[[list[Any]], Any]


@dataclasses.dataclass
class Column:
    """What it means, row by row, None where something is missing; and what holds it."""

    meant: list[Any]
    held: Any
    how: str
    time_unit: str | None = None


def masked(kind: Any, nothing: Any) -> Encode:
    def encode(given: list[Any]) -> Any:
        plain = np.array([nothing if one is None else one for one in given], dtype=kind)
        return np.ma.MaskedArray(plain, [one is None for one in given])
    return encode


def plain(kind: Any) -> Encode:
    return lambda given: np.array(given, dtype=kind)


def of_pandas(kind: Any) -> Encode:
    return lambda given: pd.array(given, dtype=kind)


def of_arrow(kind: Any) -> Encode:
    return lambda given: pa.array(given, kind)


def of_polars(kind: Any) -> Encode:
    return lambda given: pl.Series(given, dtype=kind)


def integers(container: str, nulls: bool) -> dict[str, Encode]:
    if container == "arrow":
        kinds = [pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.int64()]
        return {**{str(kind): of_arrow(kind) for kind in kinds},
                "dictionary": lambda given: pa.array(given, pa.int64()).dictionary_encode()}
    if container == "polars":
        return {str(kind): of_polars(kind) for kind in (pl.Int8, pl.UInt32, pl.UInt64, pl.Int64)}
    found: dict[str, Encode] = {"masked": masked(np.int32, 99), "objects": plain(object)}
    if not nulls:
        found |= {kind: plain(kind) for kind in ("i1", "u1", "<i4", ">i8", "u8")}
    if container == "pandas":
        found |= {kind: of_pandas(kind) for kind in ("Int8", "UInt64", "int64[pyarrow]", "category")}
        del found["masked"]
    else:
        found["list"] = list if not nulls else plain(object)
    return found


def texts(container: str, nulls: bool) -> dict[str, Encode]:
    if container == "arrow":
        kinds = [pa.string(), pa.large_string(), pa.string_view()]
        return {**{str(kind): of_arrow(kind) for kind in kinds},
                "dictionary": lambda given: pa.array(given, pa.string()).dictionary_encode()}
    if container == "polars":
        return {str(kind): of_polars(kind) for kind in (pl.String, pl.Categorical)}
    found: dict[str, Encode] = {"masked": masked(str, "zz"), "objects": plain(object), "list": list}
    if not nulls:
        found["U"] = plain(str)
    if container == "pandas":
        found |= {kind: of_pandas(kind) for kind in ("string", "str", "string[pyarrow]", "category")}
        found["large"] = of_pandas(pd.ArrowDtype(pa.large_string()))
        del found["masked"]
    return found


def ids(draw: random.Random, container: str, rows: int, nulls: bool) -> Column:
    number = draw.random() < 0.5
    meant: list[Any] = [draw.randint(0, 60) for _ in range(rows)]
    if not number:
        before = draw.choice(["ï", "", "0"])
        meant = [f"{before}{one}" for one in meant]
    meant = with_nulls(draw, meant, nulls)
    kinds = (integers if number else texts)(container, None in meant)
    how = draw.choice(sorted(kinds))
    return Column(meant, kinds[how](meant), how)


def with_nulls(draw: random.Random, meant: list[Any], nulls: bool) -> list[Any]:
    return [None if nulls and draw.random() < 0.2 else one for one in meant]


def values(draw: random.Random, container: str, rows: int, nulls: bool) -> Column:
    kind = draw.choice(["bool", "small", "float", "decimal"])
    one = {"bool": lambda: draw.random() < 0.5, "small": lambda: draw.randint(0, 5),
           "float": lambda: draw.randint(-40, 40) / 4,
           "decimal": lambda: decimal.Decimal(draw.randint(-10**6, 10**6)).scaleb(-2)}[kind]
    given = with_nulls(draw, [one() for _ in range(rows)], nulls)
    kinds = {"bool": bools, "small": integers, "float": floats, "decimal": decimals}[kind](container, None in given)
    kinds.pop("category", None)
    kinds.pop("dictionary", None)
    how = draw.choice(sorted(kinds))
    return Column([None if v is None else float(v) for v in given], kinds[how](given), f"{kind} {how}")


def bools(container: str, nulls: bool) -> dict[str, Encode]:
    if container == "arrow":
        return {"bool": of_arrow(pa.bool_())}
    if container == "polars":
        return {"bool": of_polars(pl.Boolean)}
    found: dict[str, Encode] = {"objects": plain(object), "list": list}
    if container == "pandas":
        found |= {kind: of_pandas(kind) for kind in ("boolean", "bool[pyarrow]")}
    else:
        found["masked"] = masked(bool, False)
    return found if nulls else {**found, "bool": plain(bool)}


def floats(container: str, nulls: bool) -> dict[str, Encode]:
    if container == "arrow":
        return {str(kind): (lambda kind: lambda given: pa.array(
            [None if one is None else np.float16(one) for one in given], kind) if kind == pa.float16()
            else pa.array(given, kind))(kind) for kind in (pa.float16(), pa.float32(), pa.float64())}
    if container == "polars":
        return {str(kind): of_polars(kind) for kind in (pl.Float32, pl.Float64)}
    found: dict[str, Encode] = {"objects": plain(object), "list": list, "f8": plain("f8"),
                                "f2": plain("f2"), ">f4": plain(">f4"), "longdouble": plain(np.longdouble),
                                "fractions": lambda given: [None if one is None else fractions.Fraction(one)
                                                            for one in given]}
    if container == "pandas":
        return found | {kind: of_pandas(kind) for kind in ("Float64", "Float32", "double[pyarrow]")}
    return found | {"masked": masked("f4", 9), "masked wide": masked("f8", 9)}


def decimals(container: str, nulls: bool) -> dict[str, Encode]:
    if container == "arrow":
        return {str(kind): of_arrow(kind) for kind in (pa.decimal128(12, 2), pa.decimal128(38, 9))}
    if container == "polars":
        return {"decimal": of_polars(pl.Decimal(12, 4))}
    found: dict[str, Encode] = {"objects": plain(object), "list": list}
    if container == "pandas":
        found["decimal[pyarrow]"] = lambda given: pd.array(given, dtype=pd.ArrowDtype(pa.decimal128(12, 3)))
    return found


def times(draw: random.Random, container: str, rows: int, nulls: bool) -> Column:
    """Numbers of a unit, from all over its 64 bits; what is meant is nanoseconds."""
    numbers = draw.random() < 0.3
    units = ["s", "ms", "us", "ns"] if numbers else \
        {"numpy": list(PER_UNIT), "pandas": ["s", "ms", "us", "ns"], "polars": ["ms", "us", "ns"],
         "arrow": ["s", "ms", "us", "ns", "D"]}[container]
    unit = draw.choice(units)
    unsigned = numbers and draw.random() < 0.3
    bits = 31 if unit == "D" and container == "arrow" else 63
    meant = with_nulls(draw, [moment(draw, unit, bits, unsigned) for _ in range(rows)], nulls)
    kinds = numbers_of_times(container, unsigned, None in meant) if numbers else stamps(container, unit, meant)
    how = draw.choice(sorted(kinds))
    held = kinds[how](meant)
    exact = [None if one is None or one == -2**63 or one >= 2**63 else one * PER_UNIT[unit] for one in meant]
    inside = [None if one is None or not FIRST * 10**9 < one < END * 10**9 else one for one in exact]
    return Column(inside, held, f"{unit} {how}", unit if numbers else None)


def numbers_of_times(container: str, unsigned: bool, nulls: bool) -> dict[str, Encode]:
    if container == "arrow":
        return {"integers": of_arrow(pa.uint64() if unsigned else pa.int64())}
    if container == "polars":
        return {"integers": of_polars(pl.UInt64 if unsigned else pl.Int64)}
    if container == "pandas":
        kind = "UInt64" if unsigned else "Int64"
        of_numpy = masked("u8" if unsigned else "i8", 3)  # pandas itself makes floats of lists with large numbers
        return {kind: lambda given: pd.arrays.IntegerArray(of_numpy(given).data, of_numpy(given).mask),
                f"{kind.lower()}[pyarrow]": of_pandas(f"{kind.lower()}[pyarrow]")}
    return {"masked": masked("u8" if unsigned else "i8", 3), "objects": plain(object),
            **({} if nulls else {"integers": plain("u8" if unsigned else "i8")})}


def stamps(container: str, unit: str, meant: list[Any]) -> dict[str, Encode]:
    def of_numpy(given: list[Any]) -> Any:
        return np.array([-2**63 if one is None else one for one in given], dtype="i8").view(f"M8[{unit}]")

    if container == "arrow" and unit == "D":
        return {"date32": lambda given: pa.array(given, pa.int32()).cast(pa.date32())}
    if container == "arrow":
        return {f"timestamp {zone}": (lambda zone: lambda given: pa.array(given, pa.int64()).cast(
            pa.timestamp(unit, zone)))(zone) for zone in (None, "UTC", "Asia/Tokyo")}
    if container == "polars":
        return {"datetime": lambda given: pl.Series(given, dtype=pl.Int64).cast(pl.Datetime(unit))}
    if container == "pandas":
        return {"array": of_numpy, "series": lambda given: pd.Series(of_numpy(given)),
                "zone": lambda given: pd.Series(of_numpy(given)).dt.tz_localize("UTC"),
                "arrow": lambda given: pd.array(pa.array(given, pa.int64()).cast(pa.timestamp(unit)),
                                                dtype=pd.ArrowDtype(pa.timestamp(unit)))}
    found: dict[str, Encode] = {"array": of_numpy, "masked": lambda given: np.ma.MaskedArray(
        of_numpy(given), [one is None for one in given])}
    if unit == "us" and all(one is None or -62_000_000_000 < one // 10**6 < END for one in meant):
        found["datetimes"] = lambda given: [None if one is None else EPOCH + datetime.timedelta(microseconds=one)
                                            for one in given]
    return found


def moment(draw: random.Random, unit: str, bits: int, unsigned: bool) -> int:
    """Near 1970, in the years that are kept, at their ends, at the ends of 64 bits."""
    year = 31_556_952 * 10**9 // PER_UNIT[unit]
    most = 2**bits - 1
    found = draw.choice([draw.randint(-2, 2), draw.randint(0, 60 * max(1, year)), draw.randint(-700, 700) * year,
                         draw.randint(-3100, 8000) * year, (END - draw.randint(0, 1)) * 10**9 // PER_UNIT[unit],
                         draw.choice([-most, most, most // 2 + 1, most // 60])])
    if unsigned:
        return draw.choice([abs(found) % 2**64, 2**63 + draw.randint(0, 2**62)])
    return max(-most, min(most, found))


def expected_of(columns: dict[str, Column], rows: int) -> tuple[dict[Any, Any], int | None]:
    """(value, time) of each pair that is there, and the first row that lacks something."""
    kept, first = {}, None
    for row in range(rows):
        parts = {name: column.meant[row] for name, column in columns.items()}
        if None in parts.values():
            first = row if first is None else first
            continue
        kept[str(parts["user"]), str(parts["item"])] = (np.float32(parts["value"]), parts.get("time"))
    return kept, first


def found_in(data: likewise.Interactions) -> dict[Any, Any]:
    matrix = data.to_csr().tocoo()
    users, items = np.asarray(data.users)[matrix.row], np.asarray(data.items)[matrix.col]
    stamps: list[Any] = [None] * data.nnz
    if data.times is not None:
        per = PER_UNIT[np.datetime_data(data.times.dtype)[0]]
        stamps = [int(one) * per for one in data.times.view(np.int64)]
    return {(str(u), str(i)): (v, t) for u, i, v, t in zip(users, items, matrix.data, stamps)}


def container_of(container: str, columns: dict[str, Any]) -> Any:
    if container == "numpy":
        return columns
    return {"pandas": lambda: pd.DataFrame(columns), "polars": lambda: pl.DataFrame(columns),
            "arrow": lambda: pa.table(columns)}[container]()


def failure(draw: random.Random) -> str:
    """A kind of failure and what was expected; nothing where all was right."""
    container, rows = draw.choice(CONTAINERS), draw.randint(1, 12)
    nulls = draw.random() < 0.4
    columns = {"user": ids(draw, container, rows, nulls), "item": ids(draw, container, rows, nulls),
               "value": values(draw, container, rows, nulls)}
    if draw.random() < 0.6:
        columns["time"] = times(draw, container, rows, nulls)
    pairs = list(zip(columns["user"].meant, columns["item"].meant))
    if len(set(pairs)) < rows:
        return ""  # what repeated pairs become is told elsewhere
    how = f"{container}: " + ", ".join(f"{name} {one.how}" for name, one in columns.items())
    shown = "\n".join(f"{name}: {one.meant} in {type(one.held).__name__}" for name, one in columns.items())
    kept, first = expected_of(columns, rows)
    held = {name: one.held for name, one in columns.items()}
    unit = columns["time"].time_unit if "time" in columns else None
    if draw.random() < 0.1:
        return other_name(container, held, columns["value"], how)
    for policy in ("fail", "skip"):
        try:
            data = likewise.Interactions(container_of(container, held), time_unit=unit, on_bad_row=policy)
        except ValueError as error:
            if kept and (policy == "skip" or first is None):
                return f"refused\n{how}: {error}\n{shown}"
            if first is not None and policy == "fail" and f"position {first}:" not in str(error):
                return f"another row is named\n{how}: row {first}, not: {error}\n{shown}"
            continue
        except Exception as error:  # noqa: BLE001: of any kind it is one
            return f"{type(error).__name__}\n{how}: {error}\n{shown}"
        if first is not None and policy == "fail":
            return f"taken\n{how}: row {first} lacks something\n{shown}"
        found = found_in(data)
        fine = data.times is None or data.times.dtype == "datetime64[ns]"
        wanted = {pair: (value, time if fine or time is None else time // 1000 * 1000)
                  for pair, (value, time) in kept.items()}
        for name, known in (("user", data.users), ("item", data.items)):
            given = {type(one) for one in columns[name].meant if one is not None}
            if {type(one) for one in known} - given:
                return f"ids of another type\n{how}: {given}, not {list(known)}\n{shown}"
        if found != wanted:
            return f"other values\n{how}: {wanted}, not {found}\n{shown}"
    return ""


def other_name(container: str, held: dict[str, Any], column: Column, how: str) -> str:
    """Numbers under another name are not passed over."""
    if all(one is None for one in column.meant):
        return ""
    renamed = {"warmth" if name == "value" else name: one for name, one in held.items() if name != "time"}
    try:
        likewise.Interactions(container_of(container, renamed))
    except ValueError as error:
        return "" if "'warmth'" in str(error) else f"another refusal\n{how}: {error}"
    return f"numbers passed over\n{how}"


warnings.simplefilter("ignore")
seed, count = sys.argv[1:]
for number in range(int(count)):
    told = failure(random.Random(f"{seed}/{number}"))
    if told:
        print(told + f"\nof {seed}/{number}")
        break
