"""Work that comes at a steady rate, as from users that do not wait for each other, and percentiles of its latencies."""

import math
import time


def offer(pool, call, items, rate):
    """Calls call(item) in threads of `pool`, `rate` times a second by the clock however long the calls take. Returns {item: when its
    call was due, by time.monotonic()}: what waits for a thread waits for the server, and that time counts."""
    due, calls, first = {}, [], time.monotonic()
    for number, item in enumerate(items):
        due[item] = first + number / rate
        time.sleep(max(0, due[item] - time.monotonic()))
        calls.append(pool.submit(call, item))
    for each in calls:
        each.result()
    return due


def percentile(values, percent):
    """Returns the least of the values that so many percent of them do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]
