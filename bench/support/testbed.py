"""The test bed of the reconciler's benchmarks: etcd and an API server with the CRDs and roles, the reconciler as a process, and
the kernel's figures of that process.

There is no JobSet controller: a client in this process writes the status of JobSets. So the figures are only those of the
reconciler and of the API server.
"""

import concurrent.futures
import http.client
import json
import os
import pathlib
import ssl
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bed"))

from deployment import Program  # noqa: E402
from lean import LeanPlane  # noqa: E402
from rest import path_of, wait_for  # noqa: E402

BINARIES = pathlib.Path(os.environ.get("SIGNALBOX_BIN_DIR", ROOT / "build" / "release" / "bin"))
JOBS = "bench"  # the namespace of the TrainJobs
_TICKS = os.sysconf("SC_CLK_TCK")
_CLIENT_THREADS = 6


class Bed:
    """A context manager that runs the control plane. `bed.client` has the permissions of an administrator."""

    def __enter__(self):
        self.plane = LeanPlane().start()
        self.plane.kubectl("apply", "--server-side", "-k", ROOT / "manifests" / "runtimes")
        self.client = Client(self.plane)
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": JOBS}}, "namespaces")
        self._reconciler = None
        return self

    def __exit__(self, *exception):
        if self._reconciler:
            self._reconciler.stop()
        self.plane.__exit__(*exception)

    def start_reconciler(self, *options):
        """Starts the reconciler. Returns when it leads and its caches are synced; `seconds_to_ready` is the time until then."""
        started = time.monotonic()
        program = self._reconciler = Reconciler(
            BINARIES / "signalbox-reconciler", self.plane.directory / "reconciler.log",
            ["--kubeconfig", self.plane.reconciler_kubeconfig(),
             "--admin-listen", "127.0.0.1:0", "--log-level", "warn", *options])
        program.wait_until_ready()
        wait_for("the lease", lambda: program.metric("signalbox_leader") == 1, interval=0.05)
        program.seconds_to_ready = time.monotonic() - started
        return program

    def stop_reconciler(self):
        program, self._reconciler = self._reconciler, None
        if problems := program.stop():
            raise AssertionError("; ".join(problems))

    def cpu_of_servers(self):
        """Returns the CPU seconds of the API server and of etcd."""
        return {process.name: cpu_seconds(process.pid) for process in self.plane._processes}


class Reconciler(Program):
    """The reconciler's process, with the kernel's figures of it."""

    def port_of(self, what):
        # The log level hides the log line with the port. The port is cached, since callers need it many times per second.
        if not hasattr(self, "_port"):
            self._port = wait_for("the port", self._listening_port, interval=0.02)
        return self._port

    def _listening_port(self):
        """Returns the port that the process listens on, according to the kernel; None before it listens."""
        inodes = set()
        for descriptor in pathlib.Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                inodes.add(os.readlink(descriptor).removeprefix("socket:[").removesuffix("]"))
            except FileNotFoundError:
                pass  # closed in the meantime
        for line in pathlib.Path(f"/proc/{self.pid}/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                return int(fields[1].split(":")[1], 16)
        return None

    def requests(self):
        """Returns {(verb, resource, code): count} of its requests to the API server."""
        counts = {}
        for line in self.admin("/metrics")[1].splitlines():
            if line.startswith("signalbox_api_requests_total{"):
                labels, value = line.removeprefix("signalbox_api_requests_total").rsplit(" ", 1)
                label = dict(part.split("=", 1) for part in labels.strip("{}").split(","))
                key = tuple(label[name].strip('"') for name in ("verb", "resource", "code"))
                counts[key] = counts.get(key, 0) + float(value)
        return counts

    def writes(self):
        """Returns the number of its writes, without those of the lease."""
        return sum(count for (verb, resource, _), count in self.requests().items()
                   if verb in ("POST", "PUT", "PATCH", "DELETE") and not resource.startswith("leases"))

    def count(self, verb, resource, code):
        return self.requests().get((verb, resource, code), 0)

    def wait_until_quiet(self, seconds=2):
        """Returns when it has neither written nor reconciled anything for that long."""
        def activity():
            return self.writes(), self.metric("signalbox_passes_total")
        last, since = activity(), time.monotonic()
        while time.monotonic() - since < seconds:
            time.sleep(0.25)
            if (now := activity()) != last:
                last, since = now, time.monotonic()

    def cpu(self):
        return cpu_seconds(self.pid)

    def memory(self):
        """Returns (resident memory, its peak so far) in MiB."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        return tuple(int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))


class Client:
    """Sends several requests at a time, over keep-alive connections."""

    def __init__(self, plane):
        self._host, self._port = plane.server.removeprefix("https://").split(":")
        self._tls = ssl.create_default_context(cafile=plane.ca_file)
        self._tls.load_cert_chain(*(plane.ca_file.parent / f"admin.{suffix}" for suffix in ("crt", "key")))
        self._pool = concurrent.futures.ThreadPoolExecutor(_CLIENT_THREADS)
        self._local = threading.local()

    def request(self, method, path, body=None, content_type="application/json"):
        for _ in range(100):
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
            time.sleep(0.1)
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {text[:500].decode()}")
        return text

    def _connection(self):
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPSConnection(self._host, int(self._port), context=self._tls, timeout=60)
        return self._local.connection

    def each(self, function, items):
        """Calls function(item) for all items, several at a time."""
        for _ in self._pool.map(function, items):
            pass

    def create(self, obj, resource):
        self.request("POST", path_of(resource, obj["metadata"].get("namespace", JOBS)), json.dumps(obj))

    def list(self, resource, namespace=JOBS):
        return json.loads(self.request("GET", path_of(resource, namespace)))["items"]


def cpu_seconds(pid):
    """Returns the user and system time of a process in seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
