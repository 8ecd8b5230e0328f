"""The test bed of the benchmarks of controllers: etcd and an API server with the CRDs and roles, the controller as a process, and a
client that creates objects.

There is no JobSet controller: a client in this process writes the status of JobSets. So the figures are only those of the
controller and of the API server.
"""

import collections
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import ssl
import sys
import threading
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bed"))

from api_costs import parse_requests, request_of  # noqa: E402
from comparison import OURS, PEER  # noqa: E402
from controllers import Peer, Reconciler  # noqa: E402
from cpu_profile import seconds_by_kind  # noqa: E402
from kernel import cpu_seconds, wait_until_quiet  # noqa: E402
from lean import LeanPlane  # noqa: E402
from rest import path_of, wait_for  # noqa: E402

BINARIES = pathlib.Path(os.environ.get("SIGNALBOX_BIN_DIR", ROOT / "build" / "release" / "bin"))
JOBS = "bench"  # the namespace of the TrainJobs
_PROFILE_SECONDS = 2
_CORES_AT_REST, _REST_SECONDS, _PATIENCE = 0.2, 10, 600  # of API server and etcd together; a twentieth of a core is usual
_TRIES = 100  # of a request that the API server is too busy for, or not ready
_PAUSE_SECONDS = 0.1


def shipped_arguments():
    """Returns the arguments of the Deployment in manifests/base, with a free port of loopback."""
    deployment = yaml.safe_load((ROOT / "manifests" / "base" / "reconciler-deployment.yaml").read_text())
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return [re.sub("^--admin-listen=.*", "--admin-listen=127.0.0.1:0", argument) for argument in container["args"]]


def starts_of(peer=None, options=()):
    """Returns {subject: start(bed, begun)} of the reconciler with these options and, if there is one, of the peer's command. A start
    returns the controller, and calls begun() as its process starts."""
    starts = {OURS: lambda bed, begun: bed.start_reconciler(*options, begun=begun)}
    if peer:
        starts[PEER] = lambda bed, begun: bed.start_peer(peer, begun)
    return starts


class Bed:
    """A context manager that runs the control plane. `bed.client` has the permissions of an administrator, and sends so many requests at
    a time. profiling: whether the API server answers requests for profiles."""

    def __init__(self, profiling=False, client_threads=6):
        self._profiling = profiling
        self._client_threads = client_threads

    def __enter__(self):
        self.plane = LeanPlane([f"--profiling={str(self._profiling).lower()}"]).start()
        self.plane.kubectl("apply", "--server-side", "-k", ROOT / "manifests" / "runtimes")
        self.client = Client(self.plane, self._client_threads)
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": JOBS}}, "namespaces")
        self._controller = None
        return self

    def __exit__(self, *exception):
        if self._controller:
            self._controller.stop()
        self.plane.__exit__(*exception)

    def start_reconciler(self, *options, begun=lambda: None):
        """Starts the reconciler. Returns when it leads and its caches are synced; `seconds_to_ready` is the time until then. Calls
        begun() before its process starts."""
        kubeconfig = self.plane.reconciler_kubeconfig()
        begun()
        started = time.monotonic()
        program = self._controller = Reconciler(
            BINARIES / "signalbox-reconciler", self.plane.directory / "reconciler.log",
            ["--kubeconfig", kubeconfig, *shipped_arguments(), *options])
        program.wait_until_ready()
        wait_for("the lease", program.leads, interval=0.05)
        program.seconds_to_ready = time.monotonic() - started
        return program

    def start_peer(self, command, begun):
        """Returns the Peer as soon as its process runs, and calls begun()."""
        self._controller = Peer(command, self.plane.kubeconfig, self.plane.directory / "peer.log")
        begun()
        return self._controller

    def stop_controller(self):
        program, self._controller = self._controller, None
        if problems := program.stop():
            raise AssertionError("; ".join(problems))

    def forget_controller(self):
        """For one that has ended by itself."""
        program, self._controller = self._controller, None
        program.stop()

    def cpu_of_servers(self):
        """Returns the CPU seconds of the API server and of etcd."""
        return {process.name: cpu_seconds(process.pid) for process in self.plane._processes}

    def wait_until_servers_are_quiet(self):
        """Returns when the API server and etcd do no more than what they do by themselves, as some time after a start."""
        wait_until_quiet("the API server with etcd", lambda: sum(self.cpu_of_servers().values()), _CORES_AT_REST, _REST_SECONDS, _PATIENCE)

    def profiler(self):
        """Returns a Profiler that has started; one that does nothing unless the API server answers requests for profiles."""
        return Profiler(self.client if self._profiling else None)

    def requests(self):
        """Returns a Counter of the requests that the API server has answered."""
        return parse_requests(self.client.request("GET", "/metrics").decode())


class Profiler:
    """Takes CPU profiles of the API server, one after the other, until stop()."""

    def __init__(self, client):
        self._client, self._going = client, client is not None
        self._pool = concurrent.futures.ThreadPoolExecutor(1)
        self._seconds = self._pool.submit(self._run)

    def stop(self):
        """Returns the CPU seconds by kind, at the end of the present profile."""
        self._going = False
        self._pool.shutdown()
        return self._seconds.result()

    def _run(self):
        seconds = collections.Counter()
        while self._going:
            seconds += seconds_by_kind(self._client.request("GET", f"/debug/pprof/profile?seconds={_PROFILE_SECONDS}"))
        return seconds


class Refused(RuntimeError):
    """An answer of the API server of `status` 300 or more."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


class Client:
    """Sends several requests at a time, over keep-alive connections. `sent` counts them by their names in Bed.requests()."""

    def __init__(self, plane, threads):
        self._host, self._port = plane.server.removeprefix("https://").split(":")
        self._tls = ssl.create_default_context(cafile=plane.ca_file)
        self._tls.load_cert_chain(*(plane.ca_file.parent / f"admin.{suffix}" for suffix in ("crt", "key")))
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self._local = threading.local()
        self._lock = threading.Lock()
        self.sent = collections.Counter()

    def request(self, method, path, body=None, content_type="application/json"):
        for _ in range(_TRIES):
            connection = self._connection()
            try:
                connection.request(method, path, body, {"Content-Type": content_type})
                response = connection.getresponse()
                text = response.read()
            except OSError:  # the server closes idle connections
                del self._local.connection
                continue
            if response.status != 429:
                break
            time.sleep(_PAUSE_SECONDS)
        if response.status >= 300:
            raise Refused(f"{method} {path}: {response.status} {text[:500].decode()}", response.status)
        with self._lock:
            self.sent[request_of(method, path)] += 1
        return text

    def _connection(self):
        if not hasattr(self._local, "connection"):
            self._local.connection = self._new_connection()
        return self._local.connection

    def _new_connection(self):
        return http.client.HTTPSConnection(self._host, int(self._port), context=self._tls, timeout=60)

    def each(self, function, items):
        """Calls function(item) for all items, several at a time."""
        for _ in self.pool.map(function, items):
            pass

    def stream(self, path):
        """Returns (connection, response) of a GET that does not end. The response is an iterable of lines."""
        for _ in range(_TRIES):
            connection = self._new_connection()
            connection.request("GET", path)
            response = connection.getresponse()
            if response.status < 300:
                return connection, response
            answer = f"{response.status} {response.read(500).decode()}"
            connection.close()
            if response.status != 429:
                break
            time.sleep(_PAUSE_SECONDS)
        raise RuntimeError(f"GET {path}: {answer}")

    def create(self, obj, resource):
        self.request("POST", path_of(resource, obj["metadata"].get("namespace", JOBS)), json.dumps(obj))

    def patch(self, resource, name, change, subresource="", namespace=JOBS):
        self.request("PATCH", path_of(resource, namespace, name) + subresource, json.dumps(change), "application/merge-patch+json")

    def delete_all(self, resource, namespace):
        self.request("DELETE", path_of(resource, namespace))

    def get(self, resource, name):
        return json.loads(self.request("GET", path_of(resource, JOBS, name)))

    def list(self, resource, namespace=JOBS):
        return json.loads(self.request("GET", path_of(resource, namespace)))["items"]

    def count(self, resource, namespace=JOBS):
        """Returns how many there are, by a request that costs next to nothing."""
        answer = json.loads(self.request("GET", path_of(resource, namespace) + "?limit=1"))
        return len(answer["items"]) + answer["metadata"].get("remainingItemCount", 0)

    def wait_for_all(self, what, resource, has, missing, seconds=1200):
        """Waits until has(object) is true for all objects. It asks for one, first for that named `missing`, and lists them only when that
        one is done."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if has(self.get(resource, missing)):
                missing = next((obj["metadata"]["name"] for obj in reversed(self.list(resource)) if not has(obj)), None)
                if missing is None:
                    return
            time.sleep(0.2)
        raise AssertionError(f"after {seconds} s still waiting for {what}: {missing}")
