"""Figures of two subjects that were measured in turns (A B A B ...), as tables: first ratios, then absolute figures.

A ratio is that of one turn, so both of its figures come from the same minutes of one machine."""

import statistics
import typing

OURS, PEER = "Signalbox", "peer"


class Spread(typing.NamedTuple):
    least: float
    median: float
    most: float


def spread(values):
    """Returns None without values."""
    return Spread(min(values), statistics.median(values), max(values)) if values else None


class Comparison:
    """Collects figures: note() once per turn, subject and figure, in turns of the same order for both subjects."""

    def __init__(self):
        self._figures = {}  # (name, unit): {subject: [value of each turn]}

    def note(self, subject, name, unit, value):
        self._figures.setdefault((name, unit), {}).setdefault(subject, []).append(value)

    def ratios(self):
        """Yields (name, unit, Spread of ours by the peer's). Leaves out what only one has, and turns in which the peer has none or a
        figure is negative, as a small cost may be once the costs of doing nothing are subtracted."""
        for (name, unit), values in self._figures.items():
            pairs = zip(values.get(OURS, ()), values.get(PEER, ()))
            if found := spread([ours / peer for ours, peer in pairs if peer > 0 <= ours]):
                yield name, unit, found

    def table_of_ratios(self):
        return table(("Signalbox by peer", "median", "least", "most"),
                     [(name, *(f"{ratio:.2f}" for ratio in (found.median, found.least, found.most)))
                      for name, _, found in self.ratios()])

    def table_of_figures(self):
        """Returns the median of each figure, with its least and most value if there were several turns."""
        subjects = [subject for subject in (OURS, PEER) if any(subject in values for values in self._figures.values())]
        return table(("", *subjects), [(f"{name}, {unit}" if unit else name, *(_in_words(values.get(subject)) for subject in subjects))
                                       for (name, unit), values in self._figures.items()])


def _in_words(values):
    found = spread(values)
    if not found:
        return "-"
    middle = short(found.median)
    return middle if len(values) == 1 else f"{middle} ({short(found.least)} to {short(found.most)})"


def short(value):
    """Returns a number with three digits that count, or as an integer if it is large."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def table(head, rows):
    """Returns a table in Markdown."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("|" + "|".join(cell if cell == "---" else f" {cell} " for cell in line) + "|" for line in lines)
