"""Samples a controller, and the API server's requests in flight, during a span of time; and restarts a controller that ends."""

import threading

from api_costs import requests_in_flight

_SECONDS = 0.5  # the API server says the most of the last second


class Sampler:
    """A context manager. restart() starts the controller again and returns it. Without a controller it only asks the API server, which
    costs that as much as with one.

    `peak` is that of the controller's resident memory since the beginning of the span.

    A thread samples. The caller calls look_after() now and then: a process ends with the thread that has started it."""

    def __init__(self, bed, controller=None, restart=None):
        self._bed, self.controller, self._restart = bed, controller, restart
        self._stop = threading.Event()
        self._used = self._used_before = 0.0
        self.peak = self.in_flight = self.ends = 0

    def __enter__(self):
        if self.controller:
            self.controller.forget_peak()
        self._sample_controller()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._sample_controller()

    def cpu(self):
        """Returns the CPU seconds of all processes of the controller since the first one's start, by their last samples."""
        self._sample_controller()
        return self._used_before + self._used

    def look_after(self):
        """Starts the controller again if it has ended."""
        if self.controller.running():
            return
        self.ends += 1
        self._used_before += self._used
        self._used = 0.0
        self.controller = self._restart()

    def _run(self):
        while not self._stop.wait(_SECONDS):
            self._sample_controller()
            # Straight from the API server, which may be away.
            status, text = self._bed.plane.api.request("GET", "/metrics", timeout=5)
            if status == 200:
                self.in_flight = max(self.in_flight, requests_in_flight(text))

    def _sample_controller(self):
        if not self.controller:
            return
        try:
            self._used = self.controller.cpu()
            self.peak = max(self.peak, self.controller.memory()[2])
        except (OSError, KeyError, ValueError, IndexError):
            pass  # it has ended
