"""Targets of a benchmark, printed behind its figures."""

import sys


class Targets:
    """Collects the missed targets. With `counts` False it has none: for figures of a peer."""

    def __init__(self, counts=True):
        self.missed = []
        self._counts = counts

    def at_least(self, what, figure, target):
        return self.check(what, figure >= target, f"at least {target}")

    def at_most(self, what, figure, target):
        return self.check(what, figure <= target, f"at most {target}")

    def check(self, what, reached, target):
        """Returns the text to print behind the figure."""
        if not self._counts:
            return ""
        if not reached:
            self.missed.append(f"{what}: {target}")
        return f"  [target: {target}: {'reached' if reached else 'MISSED'}]"

    def end(self, check):
        """Prints the missed targets. With `check` it exits with status 1 if there are any."""
        if self.missed:
            print("missed: " + "; ".join(self.missed))
            if check:
                sys.exit(1)
