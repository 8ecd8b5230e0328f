"""A restart with many settled TrainJobs reads, and writes nothing. The API server counts the requests. bench/scale does the same
with thousands."""

import concurrent.futures
import os
import pathlib
import re
import time

from deployment import Program
from jobs import runtime, train_job
from lean import finished
from rest import Rest, conditions, true_conditions, wait_for, wait_until_none

BINARIES = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])
JOBS = 150  # five of each kind with each runtime
CLIENTS = 8
RUNTIMES = ["plain", "torch", "flux"]  # flux: with a Secret and a ConfigMap
WRITES = {"POST", "PUT", "PATCH", "APPLY", "DELETE"}


def name(number):
    return f"job-{number:03}"


# A settled job has exactly these conditions, and its True ones are one of these sets.
SETTLED = {
    "complete": [{"Complete"}],
    "failed": [{"Failed"}],
    "suspended": [{"Created", "Suspended"}],
    "running": [{"Created"}],
    "late": [{"Failed"}],
    "blocked": [set()],
    "elsewhere": [set()],
    "leaving": [{"Complete"}],
}
WITH_JOB_SET = {"complete", "failed", "suspended", "running", "leaving"}


def kind_of(number):
    """Most jobs have ended. Some are suspended, some run, some cannot be built, some have another controller."""
    kinds = {0: "suspended", 1: "running", 2: "failed", 3: "late", 4: "blocked", 5: "elsewhere", 6: "leaving"}
    return kinds.get(number % 10, "complete")


def job_of(number):
    """Returns a job. A suspended one is compared with its built objects, with all that it needs."""
    kind = kind_of(number)
    job = train_job(name(number), "absent" if kind == "blocked" else RUNTIMES[number // 10 % len(RUNTIMES)],
                    suspend=kind == "suspended", activeDeadlineSeconds=1 if kind == "late" else 3600)
    if kind == "elsewhere":
        job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    if kind == "leaving":
        job["metadata"]["finalizers"] = ["example.com/not-yet"]
    return job


def all_of(function, numbers):
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(function, numbers))


def end(rest, number):
    verdict = {"complete": "Completed", "leaving": "Completed", "failed": "Failed"}.get(kind_of(number))
    if verdict:
        rest.patch("jobsets", name(number), finished(verdict), subresource="status")


def is_settled(job):
    number = int(job["metadata"]["name"].rpartition("-")[2])
    kind = kind_of(number)
    wanted = {"Created"} if kind == "blocked" else set(true_conditions(job))
    return set(true_conditions(job)) in SETTLED[kind] and set(conditions(job)) == wanted


def writes_by_the_server(rest):
    """Returns {(verb, resource): count} of requests that may change something, without leases and tokens."""
    counts = {}
    for line in rest.request("GET", "/metrics").splitlines():
        if not line.startswith("apiserver_request_total{"):
            continue
        labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
        if labels["verb"] in WRITES and labels["resource"] not in ("leases", "serviceaccounts") and not labels["dry_run"]:
            key = (labels["verb"], labels["resource"] + "/" + labels["subresource"])
            counts[key] = counts.get(key, 0) + float(line.rsplit(" ", 1)[1])
    return counts


def start(plane):
    program = Program(BINARIES / "signalbox-reconciler", plane.directory / "reconciler.log", [
        "--kubeconfig", plane.reconciler_kubeconfig(), "--admin-listen", "127.0.0.1:0"])
    program.wait_until_ready()
    wait_for("the lease", lambda: program.metric("signalbox_leader") == 1)
    return program


def test_a_restart_over_settled_jobs_writes_nothing(plane):
    rest = Rest(plane.kubeconfig)
    for kind in RUNTIMES:
        policy = {"numNodes": 1} if kind == "plain" else {"numNodes": 1, kind: {}}
        rest.create(runtime(kind, ml_policy=policy, ttlSecondsAfterFinished=2**31 - 1))
    all_of(lambda number: rest.create(job_of(number)), range(JOBS))
    first = start(plane)
    expected = {name(number) for number in range(JOBS) if kind_of(number) in WITH_JOB_SET}
    wait_for("the JobSets", lambda: expected <= {job_set["metadata"]["name"] for job_set in rest.list("jobsets")},
             timeout=120, interval=0.3)
    all_of(lambda number: end(rest, number), range(JOBS))
    def unsettled():
        return sorted((kind_of(int(job["metadata"]["name"].rpartition("-")[2])), job["metadata"]["name"], tuple(conditions(job)))
                      for job in rest.list("trainjobs") if not is_settled(job))
    wait_until_none("TrainJobs that are not settled", unsettled, timeout=120, interval=0.3)
    wait_for("the JobSets of late jobs to be deleted",
             lambda: {job_set["metadata"]["name"] for job_set in rest.list("jobsets")} == expected)
    all_of(lambda number: rest.delete("trainjobs", name(number)),
           [number for number in range(JOBS) if kind_of(number) == "leaving"])
    wait_for("the last reconcile to end", lambda: first.metric("signalbox_reconciles_running") == 0)
    assert first.stop() == []
    versions = {job["metadata"]["name"]: job["metadata"]["resourceVersion"] for job in rest.list("trainjobs")}
    before = writes_by_the_server(rest)
    assert sum(before.values()) > 4 * JOBS  # the count works

    second = start(plane)
    wait_for("a reconcile of each job", lambda: second.metric("signalbox_reconciles_total") >= JOBS)
    time.sleep(2)  # late writes would arrive now
    blocked = [number for number in range(JOBS) if kind_of(number) == "blocked"]
    assert second.metric("signalbox_reconciles_total", 'result="done"') == JOBS - len(blocked)
    assert second.metric("signalbox_reconciles_total", 'result="exception"') == 0
    assert writes_by_the_server(rest) == before
    assert {job["metadata"]["name"]: job["metadata"]["resourceVersion"] for job in rest.list("trainjobs")} == versions
    assert second.stop() == []
