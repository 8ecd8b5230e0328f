"""What the API server's metrics and the kernel say about the cost of a span of time, and how much of it is the controller's.

Pure: texts, paths and counters in, numbers out. A request is written as its verb and resource, such as "PATCH trainjobs/status".
"""

import collections
import re
import typing

_SERIES = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.M)
_IN_FLIGHT = re.compile(r"^apiserver_current_inflight_requests\{.*\} (\S+)$", re.M)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_VERBS = {"POST": "POST", "PUT": "PUT", "PATCH": "PATCH", "DELETE": "DELETE"}


def parse_requests(metrics):
    """Returns a Counter of the requests, from the text of the API server's /metrics. An answer other than 2xx has its code behind the
    request. A server-side apply is an APPLY. A watch counts when it ends."""
    counts = collections.Counter()
    for labels, value in _SERIES.findall(metrics):
        label = dict(_LABEL.findall(labels))
        if label["resource"]:
            code = "" if label["code"].startswith("2") else f" {label['code']}"
            counts[_name(label["verb"], label["resource"], label["subresource"]) + code] += float(value)
    return counts


def requests_in_flight(metrics):
    """Returns the most requests that the API server handled at a time within the last second. It does not count watches."""
    return sum(float(value) for value in _IN_FLIGHT.findall(metrics))


def request_of(method, path):
    """Returns the same name for a request that a client sends: "LIST jobsets" for a GET of the collection. "" for /metrics and the like."""
    parts = path.partition("?")[0].strip("/").split("/")
    if parts[0] not in ("api", "apis"):
        return ""
    rest = parts[3 if parts[0] == "apis" else 2:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    resource, name, *sub = (*rest, "", "")[:3] if len(rest) < 3 else rest
    verb = _VERBS.get(method) or ("GET" if name else "LIST")
    return _name(verb, resource, sub[0] if sub else "")


def _name(verb, resource, subresource):
    return f"{verb} {resource}" + (f"/{subresource}" if subresource else "")


class Span(typing.NamedTuple):
    """What was counted from one moment to another. cpu: CPU seconds by process, or kind of work. requests: all that the API server answered;
    sent: those of the driver among them."""
    seconds: float
    cpu: collections.Counter
    requests: collections.Counter
    sent: collections.Counter


def without_background(span, background):
    """Returns the CPU seconds of a span by process or kind of work, without those at the rates of `background`."""
    return {name: used - background.cpu[name] * span.seconds / background.seconds for name, used in span.cpu.items()}


def of_controller(span, background, alone=None):
    """Returns (CPU seconds by process or kind of work, Counter of requests) that the controller caused in the span.

    background: a span without controller and driver; its rates are subtracted. alone: a span in which the driver sent the same
    requests without a controller; its CPU is subtracted."""
    cpu, driver = without_background(span, background), without_background(alone, background) if alone else {}
    cpu = {name: used - driver.get(name, 0) for name, used in cpu.items()}
    requests = {}
    for name, count in span.requests.items():
        rest = count - span.sent[name] - background.requests[name] * span.seconds / background.seconds
        # The background's few requests do not come evenly.
        if rest >= 0.5 and not (background.requests[name] and rest < 3):
            requests[name] = rest
    return cpu, collections.Counter(requests)
