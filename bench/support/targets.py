"""What a benchmark is to reach, said behind the figures themselves."""

import sys


class Targets:
    """Collects what was missed."""

    def __init__(self):
        self.missed = []

    def at_least(self, what, figure, target):
        return self.judge(what, figure >= target, f"at least {target}")

    def at_most(self, what, figure, target):
        return self.judge(what, figure <= target, f"at most {target}")

    def judge(self, what, reached, target):
        """What to print behind the figure."""
        if not reached:
            self.missed.append(f"{what}: {target}")
        return f"  [target: {target}: {'reached' if reached else 'MISSED'}]"

    def end(self, check):
        """With `check` the exit status tells whether all were reached."""
        if self.missed:
            print("missed: " + "; ".join(self.missed))
            if check:
                sys.exit(1)
