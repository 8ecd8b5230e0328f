"""How much memory the webhook takes, and may take."""

import pathlib
import re

from webhook_program import BINARY

LIMITS = pathlib.Path(__file__).resolve().parents[3] / "docs" / "webhook-limits.md"
SANITIZED = b"__asan_init" in pathlib.Path(BINARY).read_bytes()
# AddressSanitizer surrounds every allocation, and keeps those that were freed for a while: with it the bound says little.
# scripts/test runs these tests with the program that is shipped as well.
FACTOR = 8 if SANITIZED else 1


def stated_bound(threads, connections, in_flight):
    """Bytes, by the formula of the documentation, so that both say the same."""
    formula = r"(\d+) MB \+ (\d+) kB x connections \+ (\d+) x bytes in flight \+ (\d+) MB x threads"
    base, connection, flight, thread = map(int, re.search(formula, LIMITS.read_text()).groups())
    return FACTOR * (base * 1_000_000 + connection * 1000 * connections + flight * in_flight + thread * 1_000_000 * threads)


def peak_memory(webhook):
    """Bytes, since its start."""
    with open(f"/proc/{webhook.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
