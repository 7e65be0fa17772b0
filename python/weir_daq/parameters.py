"""Typed reading of a filter's parameters, as weir/plugin_parameters.hpp does it in C++."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T", int, float, bool, str)

_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_RANGE_MAX = 1_000_000


class ParameterError(ValueError):
    """A parameter is missing, unknown or unusable."""


def whole(value: Any, name: str, bits: int, low: int = 0) -> int:
    """Returns `value` as a whole number that `bits` bits hold, from `low` on. Raises TypeError or ValueError.

    ctypes would take the lowest bits of any number.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} {value!r} is not a whole number") from None
    if not low <= number < 1 << bits:
        raise ValueError(f"{name} {value!r} is not within {low} and 2**{bits} - 1")
    return number


def _refuse(name: str, value: str, why: str) -> ParameterError:
    return ParameterError(f"parameter '{name}': '{value}' {why}")


def _parse(name: str, value: str, kind: type) -> Any:
    if kind is bool:
        if value in _TRUE or value in _FALSE:
            return value in _TRUE
        raise _refuse(name, value, "is not true or false")
    if kind is int:
        if _WHOLE.fullmatch(value):
            return int(value)
        raise _refuse(name, value, "is not a whole number")
    if kind is float:
        if _NUMBER.fullmatch(value):
            return float(value)
        raise _refuse(name, value, "is not a number")
    if kind is str:
        return value
    raise TypeError(f"parameter '{name}': a parameter is an int, a float, a bool or a str, not {kind.__name__}")


class Parameters:
    """The farm file's parameters. One that the plugin's __init__ does not read is refused when it returns."""

    noun = "filter"

    def __init__(self, values: dict[str, str]) -> None:
        self._values = values
        self._known: list[str] = []

    def _look_up(self, name: str) -> str | None:
        if name not in self._known:
            self._known.append(name)
        return self._values.get(name)

    def parameter(self, name: str, default: T, lowest: T | None = None, highest: T | None = None) -> T:
        """Returns the parameter, with the type of `default`, or `default` if the farm file lacks it.

        Raises ParameterError outside [lowest, highest].
        """
        text = self._look_up(name)
        value: T = default if text is None else _parse(name, text, type(default))
        if (lowest is not None and value < lowest) or (highest is not None and value > highest):
            shown = "the default" if text is None else text
            if highest is None:
                raise _refuse(name, shown, f"is below {lowest}")
            if lowest is None:
                raise _refuse(name, shown, f"is above {highest}")
            raise _refuse(name, shown, f"is not between {lowest} and {highest}")
        return value

    def required(self, name: str, kind: type[T]) -> T:
        """Returns the parameter. Raises ParameterError if the farm file lacks it."""
        text = self._look_up(name)
        if text is None:
            raise ParameterError(f"parameter '{name}' is missing")
        value: T = _parse(name, text, kind)
        return value

    def choice(self, name: str, words: Sequence[str]) -> str:
        """Returns the parameter, one of `words`; the first word is the default."""
        text = self._look_up(name)
        if text is None:
            return words[0]
        if text not in words:
            raise _refuse(name, text, "is not one of: " + ", ".join(words))
        return text

    def sources(self, name: str) -> list[int]:
        """Reads a list of numbers and ranges such as `0,2,8-11`. Returns it sorted; empty if not given."""
        found: set[int] = set()
        for item in (self._look_up(name) or "").split(","):
            first, _, last = item.strip().partition("-")
            if not first and not last:
                continue
            low = _parse(name, first.strip(), int)
            high = _parse(name, last.strip(), int) if last else low
            if high < low or high - low >= _RANGE_MAX:
                raise _refuse(name, item.strip(), "is not a range of sources")
            found.update(range(low, high + 1))
        return sorted(found)

    def refuse_unknown(self) -> None:
        """Raises ParameterError if a parameter was given that has not been read."""
        for name in self._values:
            if name not in self._known:
                known = ", ".join(self._known)
                raise ParameterError(
                    f"unknown parameter '{name}': this {self.noun} {'knows ' + known if known else 'takes none'}"
                )
