"""Reads CPU profiles of the API server (Go's, in the format of pprof), and says what the time went into."""

import collections
import gzip

_HANDLERS = "k8s.io/apiserver/pkg/endpoints/handlers."
# The first row of which a function of the stack begins with a name decides. Rules of CRDs come before the requests that evaluate them,
# and handlers before what they call. The body of a write runs on a goroutine of its own, without the handler's name.
_KINDS = (
    ("profiling", ("runtime/pprof.", "net/http/pprof.")),
    ("rules of CRDs (CEL)", ("k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel.",)),
    ("garbage collection", ("runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge")),
    ("PATCH and APPLY", (f"{_HANDLERS}PatchResource", f"{_HANDLERS}(*patcher)", f"{_HANDLERS}(*applyPatcher)", f"{_HANDLERS}(*jsonPatcher)")),
    ("POST", (f"{_HANDLERS}createHandler", f"{_HANDLERS}CreateResource", f"{_HANDLERS}CreateNamedResource")),
    ("PUT", (f"{_HANDLERS}UpdateResource",)),
    ("DELETE", (f"{_HANDLERS}Delete",)),
    ("WATCH", (f"{_HANDLERS}(*WatchServer)", f"{_HANDLERS}serveWatch")),
    ("LIST", (f"{_HANDLERS}ListResource",)),
    ("GET", (f"{_HANDLERS}getResourceHandler", f"{_HANDLERS}GetResource")),
    ("before the handlers", ("k8s.io/apiserver/pkg/server/filters.", "k8s.io/apiserver/pkg/endpoints/filters.")),
    ("watch cache", ("k8s.io/apiserver/pkg/storage/cacher", "k8s.io/apiserver/pkg/storage/etcd3.(*watchChan)")),
    ("connections to etcd", ("google.golang.org/grpc", "go.etcd.io/etcd/client")),
    ("connections of clients", ("net/http.", "golang.org/x/net/http2", "crypto/tls")),
)
REST = "the rest"


def kind_of(stack):
    """Returns what a stack of function names is for."""
    for kind, names in _KINDS:
        if any(function.startswith(names) for function in stack):
            return kind
    return REST


def seconds_by_kind(profile):
    """Returns a Counter of CPU seconds by kind, without those for the profile itself."""
    seconds = collections.Counter()
    for stack, nanoseconds in samples(profile):
        kind = kind_of(stack)
        if kind != "profiling":
            seconds[kind] += nanoseconds / 1e9
    return seconds


def samples(profile):
    """Yields (names of functions from the innermost one, nanoseconds) of each sample."""
    texts, functions, locations, found = [], {}, {}, []
    for number, value in _fields(gzip.decompress(profile)):
        if number == 2:
            found.append(value)
        elif number == 4:
            fields = list(_fields(value))
            lines = [dict(_fields(line)).get(1) for field, line in fields if field == 4]
            locations[dict(fields)[1]] = lines
        elif number == 5:
            fields = dict(_fields(value))
            functions[fields[1]] = fields.get(2, 0)
        elif number == 6:
            texts.append(value.decode())
    for sample in found:
        ids, values = [], []
        for number, value in _fields(sample):
            (ids if number == 1 else values if number == 2 else []).extend([value] if isinstance(value, int) else _integers(value))
        # The values of a CPU profile are a count and nanoseconds.
        yield [texts[functions[function]] for location in ids for function in locations[location]], values[-1]


def _fields(data):
    """Yields (number, value) of a message of protocol buffers; the value is an integer or bytes."""
    at = 0
    while at < len(data):
        key, at = _integer(data, at)
        if key & 7 == 2:
            length, at = _integer(data, at)
            yield key >> 3, data[at:at + length]
            at += length
        elif key & 7 == 0:
            value, at = _integer(data, at)
            yield key >> 3, value
        else:
            raise ValueError(f"a profile with a field of type {key & 7}")


def _integers(data):
    at, values = 0, []
    while at < len(data):
        value, at = _integer(data, at)
        values.append(value)
    return values


def _integer(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
