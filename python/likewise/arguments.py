# SPDX-License-Identifier: Apache-2.0
"""What is wrong with an argument, in words. What the extension says of types names those of C++."""
from __future__ import annotations

import functools
import inspect
import numbers
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, ParamSpec, TypeVar

import numpy as np

from likewise import _core

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

#: How the extension begins what is said here in words.
_REFUSAL = "incompatible function arguments"


def call(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """function(...), where a bool of NumPy is one of Python; TypeError that names an argument of another type,
    ValueError for a number beyond the range of its type."""
    plain: Any = [_plain(one) for one in args]
    named: Any = {name: _plain(one) for name, one in kwargs.items()}
    _refuse_bools(function, plain, named)
    try:
        return function(*plain, **named)
    except TypeError as error:
        told = str(error)
        if _REFUSAL not in told:
            raise
    raise _in_words(_signature(told), plain, named)


def _plain(value: Any) -> Any:
    """The same without NumPy's bools, which the extension does not know; parameters are a dict."""
    if isinstance(value, np.bool_):
        return bool(value)
    return {name: _plain(one) for name, one in value.items()} if type(value) is dict else value


def no_parameter(whose: str, name: str, known: Sequence[str]) -> str:
    """What is said of a name that is none of the known: the nearest and all of them."""
    return f"{whose} has no parameter {name!r}{_core.suggestion(name, known)}; it has {', '.join(known) or 'none'}"


def by_name(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors say which parameters it has where one is given that it has not."""
    return _checked(function, f"{function.__name__}()")


def by_names(cls: type[C]) -> type[C]:
    """A class with by_name() of its public methods and of its constructor."""
    for name, method in vars(cls).copy().items():
        whose = cls.__name__ if name == "__init__" else f"{name}()"
        if name.startswith("_") and name != "__init__":
            continue
        if inspect.isfunction(method):
            setattr(cls, name, _checked(method, whose))
        elif isinstance(method, classmethod):
            setattr(cls, name, classmethod(_checked(method.__func__, whose)))
    return cls


def _checked(function: Callable[P, R], whose: str) -> Callable[P, R]:
    parameters = inspect.signature(function).parameters
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return function
    known = [name for name in parameters if name not in ("self", "cls")]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs.keys() - parameters.keys():
            raise TypeError(no_parameter(whose, name, known))
        return function(*args, **kwargs)

    return checked


def shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def count_of(n: Any, name: str = "n") -> int:
    """A number of answers, rows or iterations."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"{name}: a whole number is needed, not {shown(n)}")
    if not 1 <= n <= np.iinfo(np.int32).max:
        raise ValueError(f"{name}: {n}: a number from 1 to {np.iinfo(np.int32).max} is needed")
    return int(n)


def refuse_idle(**arguments: tuple[Any, bool, str]) -> None:
    """ValueError for the first argument that was given (is not None) and would do nothing: each is its value,
    whether it is used, and what it needs."""
    for name, (value, used, needs) in arguments.items():
        if value is not None and not used:
            raise ValueError(f"{name}={shown(value)} would do nothing: it needs {needs}")


RANKING = 'metrics with one that ranks, as "ndcg"'
LISTS = 'metrics with one of lists, as "ndcg"'


def lengths_of(k: Any) -> list[int]:
    """The lengths of lists, one or several; of None 10."""
    if k is None:
        return [10]
    return [count_of(one, "k") for one in ([k] if np.ndim(k) == 0 else list(k))]


def whole(number: Any, name: str) -> int:
    """A whole number of any type that has __index__."""
    try:
        if not isinstance(number, bool):
            return operator.index(number)
    except TypeError:
        pass
    raise TypeError(f"{name} must be a whole number, not {shown(number)} of type {type(number).__name__}")


def names_of(given: Any, name: str) -> list[str]:
    """One name, or several."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise TypeError(f"{name} must be a name or several, not {shown(given)}")
    return list(given)


def check_callback(callback: Any) -> None:
    """TypeError for what cannot be called; None is no callback."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function, not {shown(callback)} of type {type(callback).__name__}")


def _refuse_bools(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """The extension takes True for 1 where a number is needed."""
    if any(isinstance(value, bool) for value in (*args, *kwargs.values())):
        types = dict(_parameters(function))
        for name, value in {**dict(zip(types, args)), **kwargs}.items():
            if isinstance(value, bool) and types.get(name, "").partition(" | ")[0] in ("int", "float"):
                raise TypeError(f"{name} must be {_WORDS[types[name].partition(' | ')[0]][0]}, not {value}")


@functools.cache
def _parameters(function: Any) -> list[tuple[str, str]]:
    """(name, type) of the parameters of a function of the extension."""
    return [pair for overload in getattr(function, "__nb_signature__", ()) for pair in _signature("1. " + overload[0])]


def _in_words(signature: list[tuple[str, str]], args: Sequence[Any], kwargs: dict[str, Any]) -> Exception:
    given = dict(zip((name for name, _ in signature), args)) | kwargs
    types = dict(signature)
    for name, value in given.items():
        words = [_words_of(kind) for kind in types.get(name, "object").split(" | ")]
        if not any(fits(value) for _, fits in words):
            wanted = " or ".join(word for word, _ in words if word != "None")
            return TypeError(f"{name} must be {wanted}, not {shown(value)} of type {type(value).__name__}")
        if value is None and types.get(name) == "object":
            wanted = "a str, bytes or os.PathLike" if name == "path" else "given"
            return TypeError(f"{name} must be {wanted}, not None")
    for name, value in given.items():
        if "int" in types.get(name, "") and _beyond(value):
            return ValueError(f"{name}: {shown(value)} is out of range")
    return TypeError(f"an argument of another type is needed: {', '.join(given)}")


def _signature(told: str) -> list[tuple[str, str]]:
    """(name, type) of the parameters, by "    1. name(self, n: int = 10, ...) -> tuple"."""
    line = next((line for line in told.splitlines() if line.strip().startswith("1. ")), "")
    parameters = _split(line[line.find("(") + 1:line.rfind(") ->")])
    pairs = [part.partition(":")[::2] for part in parameters if ":" in part]
    return [(name.strip(), kind.partition(" = ")[0].strip()) for name, kind in pairs]


def _split(text: str) -> list[str]:
    """Parts between commas that stand in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "[({") - (character in "])}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _words_of(kind: str) -> tuple[str, Callable[[Any], bool]]:
    """A type of the extension's signatures in words, and whether a value has it."""
    if kind.endswith("Sequence[str]"):
        return "a sequence of texts", lambda value: _all(value, str)
    if kind.endswith("Sequence[int]"):
        return "a sequence of whole numbers", lambda value: _all(value, numbers.Integral)
    if kind.startswith("likewise._core."):
        return f"likewise.{kind.rpartition('.')[2]}", lambda value: type(value).__name__ == kind.rpartition(".")[2]
    return _WORDS.get(kind, (kind, lambda value: True))


_WORDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", lambda value: isinstance(value, numbers.Integral)),
    "float": ("a number", lambda value: isinstance(value, numbers.Real)),
    "str": ("text (str)", lambda value: isinstance(value, str)),
    "bool": ("True or False", lambda value: isinstance(value, bool)),
    "dict": ("a dict", lambda value: isinstance(value, dict)),
    "tuple": ("a tuple", lambda value: isinstance(value, tuple)),
    "None": ("None", lambda value: value is None),
}


def _all(values: Any, kind: Any) -> bool:
    return isinstance(values, (list, tuple)) and all(isinstance(value, kind) for value in values)


def _beyond(value: Any) -> bool:
    wide = list(value) if isinstance(value, (list, tuple)) else [value]
    return any(isinstance(one, numbers.Integral) and not 0 <= int(one) < 2**31 for one in wide)
