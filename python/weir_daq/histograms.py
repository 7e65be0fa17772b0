"""Histograms that a run's filter has booked, as NumPy arrays."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._packages import need
from .errors import FormatError
from .hits import Array


@dataclass(frozen=True)
class Axis:
    """Bins of equal width over [low, high)."""

    bins: int
    low: float
    high: float

    @property
    def edges(self) -> Array:
        return np.linspace(self.low, self.high, self.bins + 1)

    @property
    def centers(self) -> Array:
        return (self.edges[1:] + self.edges[:-1]) / 2


@dataclass(frozen=True)
class Histogram:
    """One histogram. kind: 1d, 2d or profile. flow: sums of weights with under- and overflow, by x, then y."""

    name: str
    kind: str
    x: Axis
    y: Axis | None
    entries: float
    unusable: float  # entries that were not a number
    flow: Array
    sum_y: Array | None  # of a profile: sums of weight * y and weight * y**2, with under- and overflow
    sum_y2: Array | None

    @property
    def values(self) -> Array:
        """Sums of weights without under- and overflow; of a profile, the mean of y in a bin (NaN without entries)."""
        if self.sum_y is None:
            return self.flow[1:-1] if self.y is None else self.flow[1:-1, 1:-1]
        with np.errstate(invalid="ignore", divide="ignore"):
            return (self.sum_y / self.flow)[1:-1]

    @property
    def deviations(self) -> Array:
        """The standard deviation of y in each bin of a profile. Raises ValueError for other kinds."""
        if self.sum_y2 is None:
            raise ValueError(f"histogram '{self.name}' is not a profile")
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self.values
            found: Array = np.sqrt(np.maximum(0.0, (self.sum_y2 / self.flow)[1:-1] - mean**2))
            return found

    def to_hist(self) -> Any:
        """Returns a `hist.Hist` (package hist); a profile has Mean storage."""
        hist = need("hist", "to_hist()")
        axes = [hist.axis.Regular(self.x.bins, self.x.low, self.x.high, name="x", label=self.name)]
        if self.y is not None:
            axes.append(hist.axis.Regular(self.y.bins, self.y.low, self.y.high, name="y"))
        if self.sum_y is None or self.sum_y2 is None:
            made = hist.Hist(*axes, storage=hist.storage.Double(), name=self.name)
            made.view(flow=True)[...] = self.flow
            return made
        made = hist.Hist(*axes, storage=hist.storage.WeightedMean(), name=self.name)
        view = made.view(flow=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(self.flow == 0, 0.0, self.sum_y / self.flow)
        view["sum_of_weights"] = self.flow
        view["sum_of_weights_squared"] = self.flow
        view["value"] = mean
        view["_sum_of_weighted_deltas_squared"] = np.maximum(0.0, self.sum_y2 - self.flow * mean**2)
        return made


class Histograms(dict[str, Histogram]):
    """The histograms of a run by name. incomplete: nodes that were lost with entries."""

    incomplete: list[str]


def _axis(found: dict[str, Any]) -> Axis:
    return Axis(int(found["bins"]), float(found["low"]), float(found["high"]))


def _histogram(found: dict[str, Any]) -> Histogram:
    x = _axis(found["x"])
    y = _axis(found["y"]) if "y" in found else None
    flow = np.asarray(found["contents"], np.float64)
    if y is not None:
        flow = flow.reshape(y.bins + 2, x.bins + 2).T
    elif len(flow) != x.bins + 2:
        raise ValueError(f"histogram '{found['name']}' has {len(flow)} cells instead of {x.bins + 2}")
    sums = [np.asarray(found[key], np.float64) if key in found else None for key in ("sum_y", "sum_y2")]
    return Histogram(found["name"], found["kind"], x, y, found["entries"], found["unusable"], flow, *sums)


def read_histograms(path: str | os.PathLike[str]) -> Histograms:
    """Reads `run-NNNNNN-histograms.json`. Raises FormatError."""
    made = Histograms()
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        made.update({one["name"]: _histogram(one) for one in document["histograms"]})
        made.incomplete = list(document["incomplete"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{os.fspath(path)}: not the histograms of a run: {error}") from None
    return made
