"""Measures what a span of time costs the API server, etcd and the driver."""

import collections
import time

from api_costs import Span

PROFILE = "profile: "  # begins the names of kinds of work in the CPU of a Span, each a part of the API server's


class Meter:
    """start(), and then stop(), which returns the Span since then."""

    def __init__(self, bed):
        self._bed = bed
        self.began = None  # by time.monotonic()

    def start(self):
        self.began = time.monotonic()
        self._requests = self._bed.requests()  # it costs CPU, which is not counted
        self._sent, self._cpu = collections.Counter(self._bed.client.sent), self._bed.cpu_of_servers()
        self._profiler = self._bed.profiler()

    def forget_api_server(self):
        """Counts all that the present API server has done, since it has been started after start()."""
        self._requests = collections.Counter()
        self._cpu["kube-apiserver"] = 0

    def busy(self):
        """Returns the CPU seconds of API server and etcd so far."""
        return sum(self._bed.cpu_of_servers().values()) - sum(self._cpu.values())

    def stop(self):
        kinds = self._profiler.stop()
        seconds = time.monotonic() - self.began
        cpu = collections.Counter({name: used - self._cpu[name] for name, used in self._bed.cpu_of_servers().items()})
        cpu.update({PROFILE + kind: used for kind, used in kinds.items()})
        return Span(seconds, cpu, self._bed.requests() - self._requests, self._bed.client.sent - self._sent)
