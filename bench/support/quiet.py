"""TrainJobs whose Pods report to the server of progress on a control plane, and the reconciler beside it."""

import collections
import contextlib
import json
import pathlib
import time
import typing

from testbed import BINARIES, JOBS, Bed  # first, since it makes the modules of tests/bed importable
import pod_reports
import progress_deployment
from deployment import NAMESPACE
from driver import RUNNING, name_of, train_job
from rest import path_of, wait_for

_SECONDS_UNTIL_WRITTEN = 300  # of all reports that wait
_SECONDS_AT_REST = 5
_PATIENCE = 600  # seconds


class Figures(typing.NamedTuple):
    """Of the reconciler, without its Lease and watches that begin again; and what the server of progress wrote."""
    seconds: float
    cpu: float
    reconciles: float
    requests: float
    writes: float

    def __sub__(self, other):
        return Figures(*(mine - its for mine, its in zip(self, other)))

    def __add__(self, other):
        return Figures(*(mine + its for mine, its in zip(self, other)))


class Reporters:
    """port: of the server; ca: the file of its CA; senders: a file for bench_progress_load."""

    def __init__(self, bed, server, reconciler):
        directory = pathlib.Path(bed.plane.directory)
        self._server, self._reconciler = server, reconciler
        self.port, self.ca, self.senders = server.port_of("progress"), directory / "progress.ca", directory / "senders"

    def figures(self):
        requests = collections.Counter(self._reconciler.requests())
        return Figures(time.monotonic(), self._reconciler.cpu(), self._reconciler.metric("signalbox_reconciles_total"),
                       sum(count for (verb, resource, _), count in requests.items()
                           if verb != "WATCH" and not resource.startswith("leases")),
                       self._server.metric("signalbox_progress_writes_total", 'outcome="stored"'))

    def memory(self):
        """Returns MiB of the reconciler."""
        return self._reconciler.memory()[1]

    def wait_until_quiet(self):
        """Returns when all reports are written, and the reconciler has reconciled nothing for some seconds."""
        wait_for("the writes of reports", lambda: self._server.metric("signalbox_progress_write_lag_seconds") == 0,
                 _SECONDS_UNTIL_WRITTEN, 1)
        began = since = time.monotonic()
        last = -1
        while time.monotonic() - since < _SECONDS_AT_REST:
            if (now := self.figures().reconciles) != last:
                if time.monotonic() - began > _PATIENCE:
                    raise AssertionError(f"after {_PATIENCE} s the reconciler is not quiet: {now - last:.0f} reconciles "
                                         f"in the last {time.monotonic() - since:.1f} s")
                since, last = time.monotonic(), now
            time.sleep(0.5)


@contextlib.contextmanager
def reporters(jobs):
    """Makes that many TrainJobs with a JobSet by the reconciler and a running Pod each, none of which has reported. Yields Reporters."""
    with Bed() as bed, progress_deployment.running(bed.plane, BINARIES) as server:
        client = bed.client
        client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}, "serviceaccounts")
        client.each(lambda number: client.create(train_job(number, 0), "trainjobs"), range(jobs))
        beside = Reporters(bed, server, bed.start_reconciler(progress_deployment.DEADLINE_GATE))
        secret = json.loads(client.request("GET", path_of("secrets", NAMESPACE, "signalbox-progress-cert")))
        beside.ca.write_text(pod_reports.ca_of(secret))
        wait_for("all JobSets", lambda: client.count("jobsets") >= jobs, 1200, 0.5)
        job_sets = {job_set["metadata"]["name"]: job_set for job_set in client.list("jobsets")}
        lines = []

        def make_pod(name):
            client.patch("jobsets", name, RUNNING, "/status")
            audience = pod_reports.audience_of(JOBS, name)
            pod = json.loads(client.request("POST", path_of("pods", JOBS), json.dumps(pod_reports.pod_of(f"{name}-0", job_sets[name]))))
            token = json.loads(client.request("POST", path_of("serviceaccounts", JOBS, "default") + "/token",
                                              json.dumps(pod_reports.bound_token_request(pod, audience))))["status"]["token"]
            lines.append(f"/apis/{audience} {token}\n")
        client.each(make_pod, map(name_of, range(jobs)))
        beside.senders.write_text("".join(lines))
        yield beside
