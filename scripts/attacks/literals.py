# SPDX-License-Identifier: Apache-2.0
"""What a number and a time are in a text of interactions, by docs/reference/command-line.md."""
from __future__ import annotations

import datetime
import re
import struct
from fractions import Fraction

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DATE = re.compile(rb"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(\.\d+)?(Z|[+-]\d\d:\d\d)?)?")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Refused(Exception):
    """The text is wrong."""


class Unclear(Exception):
    """Documentation does not say what the text means."""


def as_float32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        raise Refused(f"{value} is beyond float32") from None


def number(text: bytes) -> float:
    if not NUMBER.fullmatch(text):
        raise Refused(f"{text!r} is not a number")
    value = as_float32(float(text))
    if value in (float("inf"), float("-inf")):
        raise Refused(f"{text!r} is not finite")
    if abs(value) < 1.2e-38 and re.search(rb"[1-9]", re.split(rb"[eE]", text)[0]):
        raise Unclear("a number below the smallest float32")
    return value


def instant(text: bytes) -> Fraction:
    """Seconds since 1970: numbers by their size in s, ms, us or ns, or ISO 8601."""
    if NUMBER.fullmatch(text):
        seconds = Fraction(text.decode())
        if abs(seconds) >= 2**63:
            raise Refused("a time beyond 64 bits")
        for least, unit in ((10**17, 10**9), (10**14, 10**6), (10**11, 10**3)):
            if seconds >= least:
                return seconds / unit
        return seconds
    match = DATE.fullmatch(text)
    if not match:
        if re.match(rb"\d{4}-", text):
            raise Unclear("another way to write a date")
        raise Refused(f"{text!r} is no time")
    day, clock, fraction, zone = (part.decode() if part else "" for part in match.groups())
    if fraction and clock.count(":") < 2:
        raise Refused("a fraction of a minute")
    try:
        zone = "+00:00" if zone in ("", "Z") else zone
        at = datetime.datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone}")
        seconds = Fraction(int((at - EPOCH).total_seconds()))
    except (ValueError, OverflowError):
        raise Unclear("a date that the calendar may not have") from None
    return seconds + Fraction("0" + fraction if fraction else 0)
