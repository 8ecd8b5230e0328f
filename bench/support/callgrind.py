"""Reads profiles of callgrind, and compares the instructions of one and the same work in two commits.

Instructions do not depend on other work on the machine, so one run of each is enough."""

import dataclasses
import re
import typing

ALLOWED = 0.10  # more instructions than before
# Functions with less of the whole work count with those that call them.
LEAST_SHARE = 0.05
MOST_NAMED = 8

_ID = re.compile(r"\((\d+)\)(?: (.*))?")
_CLONE = re.compile(r" ?\[clone [^]]*\]")


@dataclasses.dataclass
class Profile:
    """Instructions: all, and by function its own and those with what it calls."""
    total: int = 0
    own: dict = dataclasses.field(default_factory=dict)
    inclusive: dict = dataclasses.field(default_factory=dict)


class Growth(typing.NamedTuple):
    """Instructions of a function with what it calls, before and now, and by how many its own ones have grown."""
    function: str
    before: int
    now: int
    own: int

    def __str__(self):
        return f"{self.function}: {self.now:,} instead of {self.before:,} ({self.now / self.before - 1:+.1%}), of its own {self.own:+,}"


def read_profile(lines, runs=1):
    """Reads a profile of so many runs of the same work. Returns that of one run."""
    reader = _Reader()
    for line in lines:
        reader.read(line.rstrip("\n"))
    return Profile(sum(reader.own.values()) // runs, {name: cost // runs for name, cost in reader.own.items()},
                   {name: cost // runs for name, cost in reader.inclusive.items()})


class _Reader:
    """Reads the format of https://valgrind.org/docs/manual/cl-format.html, of one event."""

    def __init__(self):
        self.own, self.inclusive = {}, {}
        self._names, self._function, self._is_call = {}, None, False

    def read(self, line):
        key, equals, value = line.partition("=")
        if equals and key == "fn":
            self._function = self._name(value)
        elif equals and key in ("cfn", "cfi", "cfl", "cob", "fl", "fi", "fe", "ob"):
            if key == "cfn":
                self._name(value)  # may define it
        elif equals and key == "calls":
            self._is_call = True
        elif self._function and line[:1] in "0123456789+-*" and line:
            self._add(int(line.split()[-1]))

    def _add(self, cost):
        name, is_inner = self._function
        if not self._is_call:
            self.own[name] = self.own.get(name, 0) + cost
        self._is_call = False
        # What a function does within itself is part of its outermost call.
        if not is_inner:
            self.inclusive[name] = self.inclusive.get(name, 0) + cost

    def _name(self, text):
        """Returns the name of a function, without the compiler's marks, and whether it is called by itself."""
        found = _ID.match(text)
        number, name = found.groups() if found else (text, text)
        if name:
            plain = _CLONE.sub("", name)
            self._names[number] = (plain.partition("'")[0], "'" in plain)
        return self._names[number]


def growths(before, now, allowed=ALLOWED):
    """Returns the functions that take more than before, beyond what is allowed; those first of which the own instructions have grown
    most. Work that has moved from one function to another is no growth: all of the work must have grown with it."""
    grown = []
    for function, cost in now.inclusive.items():
        was = before.inclusive.get(function)
        if was and cost > was * (1 + allowed) and cost >= now.total * LEAST_SHARE and 2 * (now.total - before.total) >= cost - was:
            grown.append(Growth(function, was, cost, now.own.get(function, 0) - before.own.get(function, 0)))
    return sorted(grown, key=lambda growth: -growth.own)


def changed_most(before, now, most=MOST_NAMED):
    """Returns the functions whose own instructions differ most from those before, the new and the lost ones too: (difference, function)."""
    differences = [(now.own.get(name, 0) - before.own.get(name, 0), name) for name in {*before.own, *now.own}]
    return sorted((each for each in differences if each[0]), key=lambda each: (-abs(each[0]), each[1]))[:most]


def verdict(case, before, now, allowed=ALLOWED):
    """Returns (whether it takes no more than is allowed, text)."""
    share = now.total / before.total - 1
    grown = growths(before, now, allowed)
    good = share <= allowed and not grown
    text = f"{case}: {now.total:,} instructions instead of {before.total:,} ({share:+.1%}){'' if good else ': MORE THAN ALLOWED'}"
    lines = [text, *(f"  {growth}" for growth in grown[:MOST_NAMED])]
    if not good or abs(share) > allowed / 2:
        lines += [f"  {difference:+,} in {name}" for difference, name in changed_most(before, now)]
    return good, "\n".join(lines)
