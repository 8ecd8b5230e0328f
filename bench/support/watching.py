"""Sees by a watch when objects become as they should be."""

import contextlib
import http.client
import json
import queue
import socket
import threading
import time

from rest import path_of

_SERVED_SECONDS = 3600  # by the API server
_LOOK_SECONDS = 0.5


class Watch:
    """A context manager. look(object) returns something true of an object that is as it should be. existing: also see the objects that
    exist already; they count as arriving at first.

    A thread reads the watch and notes time.monotonic() as each event arrives. Events are parsed later, by wait_for(): parsing must not
    delay what arrives next."""

    def __init__(self, client, resource, namespace, look, existing=False):
        self._client, self._path, self._look, self._existing = client, path_of(resource, namespace), look, existing
        self._events = queue.SimpleQueue()
        self._seen = {}
        self._connection, self._is_left = None, False

    def open(self):
        path = f"{self._path}?watch=1&timeoutSeconds={_SERVED_SECONDS}"
        if not self._existing:
            listed = json.loads(self._client.request("GET", self._path + "?limit=1"))
            path += f"&resourceVersion={listed['metadata']['resourceVersion']}"
        self._connection, self._response = self._client.stream(path)
        self._connection.sock.settimeout(None)
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __enter__(self):
        return self if self._connection else self.open()

    def __exit__(self, *_):
        self._is_left = True
        self._events.put((time.monotonic(), None))
        with contextlib.suppress(OSError):
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _read(self):
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
            for line in self._response:
                self._events.put((time.monotonic(), line))
        self._events.put((time.monotonic(), None))

    def wait_for(self, names, seconds, meanwhile=lambda: None):
        """Returns {name: (time of the first event that shows it as it should be, what look() returned)}. Calls meanwhile() while it
        waits."""
        names = list(names)
        deadline, missing = time.monotonic() + seconds, set(names) - self._seen.keys()
        while missing:
            try:
                missing.discard(self.note(*self._events.get(timeout=_LOOK_SECONDS)))
            except queue.Empty:
                meanwhile()
            if missing and time.monotonic() > deadline:
                raise AssertionError(f"after {seconds} s still waiting for {len(missing)} of {self._path}: {min(missing)}")
        return {name: self._seen[name] for name in names}

    def arriving(self):
        """Yields the name of an object at each event that shows it as it should be, until the watch is left."""
        while True:
            at, line = self._events.get()
            if self._is_left:
                return
            if name := self.note(at, line):
                yield name

    def note(self, at, line):
        """Takes one event. Returns the object's name if it is as it should be."""
        if not line:
            raise AssertionError(f"the watch of {self._path} ended")
        event = json.loads(line)
        if event["type"] == "ERROR":
            raise AssertionError(f"the watch of {self._path} failed: {event['object']}")
        obj = event["object"]
        name, found = obj["metadata"]["name"], event["type"] != "DELETED" and self._look(obj)
        if found:
            self._seen.setdefault(name, (at, found))
        return name if found else None
