"""The controllers that the benchmarks measure, as processes: Signalbox's reconciler, and a peer that a command starts."""

import http.client
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.request

import kernel
from controlplane.processes import start_time
from deployment import Program
from kernel import age, cpu_seconds, resident
from rest import wait_for

_QUIET = 0.015  # of a core; what a controller takes for its lease alone
_PATIENCE = 600  # seconds
_PROBED_EVERY = 2  # seconds, as the readiness probe of the Deployment
# Signalbox's metric, and that of controller-runtime for the controller of TrainJobs.
_RECONCILES = re.compile(
    r'^(?:signalbox_reconciles_total|controller_runtime_reconcile_total\{(?:.*,)?controller="trainjob[^"]*")[^}]*\} (\S+)$', re.M)


def count_reconciles(metrics):
    """Returns the number of reconciles of TrainJobs, from the text of a controller's /metrics; None without a metric of them."""
    counts = [float(value) for value in _RECONCILES.findall(metrics)]
    return sum(counts) if counts else None


class Measured:
    """The kernel's figures of `pid`."""

    def cpu(self):
        return cpu_seconds(self.pid)

    def memory(self):
        """Returns (anonymous memory, resident memory, the latter's peak so far) in MiB."""
        return resident(self.pid, "RssAnon"), resident(self.pid), resident(self.pid, "VmHWM")

    def forget_peak(self):
        """Lets the peak begin anew."""
        kernel.forget_peak(self.pid)

    def memory_at(self, seconds):
        """Returns memory() so many seconds after the start of the process, which is probed until then."""
        while (left := seconds - age(self.pid)) > 0:
            self.probe()
            time.sleep(min(left, _PROBED_EVERY))
        return self.memory()

    def probe(self):
        """Reads what a kubelet and Prometheus read, where that is known."""

    def wait_until_quiet(self, seconds=2):
        """Returns when it has done next to nothing for that long."""
        kernel.wait_until_quiet("the controller", self.cpu, _QUIET, seconds, _PATIENCE)

    def reconciles(self):
        """Returns count_reconciles() of the port of its that has it."""
        for port in self.listening_ports():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                    count = count_reconciles(answer.read().decode())
            except (OSError, http.client.HTTPException):  # a port for something else
                continue
            if count is not None:
                return count
        return None

    def listening_ports(self):
        """Returns the ports that the process listens on, according to the kernel."""
        inodes = set()
        for descriptor in pathlib.Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                inodes.add(os.readlink(descriptor).removeprefix("socket:[").removesuffix("]"))
            except FileNotFoundError:
                pass  # closed in the meantime
        ports = []
        for line in pathlib.Path(f"/proc/{self.pid}/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                ports.append(int(fields[1].split(":")[1], 16))
        return ports


class Reconciler(Measured, Program):
    """Signalbox's."""

    def probe(self):
        for path in ("/healthz", "/readyz", "/metrics"):
            self.admin(path)

    def port_of(self, what):
        # The log level hides the log line with the port. The port is cached, since callers need it many times per second.
        if not hasattr(self, "_port"):
            self._port = wait_for("the port", self.listening_ports, interval=0.02)[0]
        return self._port

    def requests(self):
        """Returns {(verb, resource, code): count} of its requests to the API server, as it counts them itself."""
        counts = {}
        for line in self.admin("/metrics")[1].splitlines():
            if line.startswith("signalbox_api_requests_total{"):
                labels, value = line.removeprefix("signalbox_api_requests_total").rsplit(" ", 1)
                label = dict(part.split("=", 1) for part in labels.strip("{}").split(","))
                key = tuple(label[name].strip('"') for name in ("verb", "resource", "code"))
                counts[key] = counts.get(key, 0) + float(value)
        return counts


class Peer(Measured):
    """A controller that a command of the shell starts, with KUBECONFIG set to an administrator's.

    The command may first create CRDs and roles of its own. Then it starts the controller, prints the line "pid N" at once, and ends
    after the controller. It is run again after each stop() on the same control plane."""

    def __init__(self, command, kubeconfig, log):
        with open(log, "ab") as errors:
            self._command = subprocess.Popen(command, shell=True, env={**os.environ, "KUBECONFIG": str(kubeconfig)}, text=True,
                                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        for line in self._command.stdout:
            if found := re.fullmatch(r"pid (\d+)\s*", line):
                self.pid = int(found[1])
                return
        raise RuntimeError(f"the command of the peer ended with {self._command.wait()} without a line \"pid N\": {log}")

    def running(self):
        return start_time(self.pid) is not None

    def stop(self):
        """Ends it by SIGTERM. Returns the problems of its end."""
        if not self.running():
            os.killpg(self._command.pid, signal.SIGKILL)
            return ["the peer has ended by itself"]
        os.kill(self.pid, signal.SIGTERM)
        try:
            self._command.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._command.pid, signal.SIGKILL)
            return ["the command of the peer has not ended 30 s after SIGTERM to its controller"]
        return []
