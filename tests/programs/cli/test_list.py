"""`kubectl trainjob list` of ten thousand TrainJobs: within two seconds and 50 MB, from the shipped program."""

import json
import os
import pathlib
import subprocess
import time

import pytest
from paths import shipped
from scripted_api_server import ScriptedApiServer

MANY, PAGE = 10_000, 500
SECONDS, BYTES = 2.0, 50_000_000
JOBS = "/apis/trainer.kubeflow.org/v1alpha1/trainjobs"


def train_job(number):
    """Returns a TrainJob of a usual size, as the API server sends it."""
    managed = [{"manager": manager, "operation": "Apply", "apiVersion": "trainer.kubeflow.org/v1alpha1", "time": "2026-01-15T10:00:00Z",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {f"f:field-{i}": {"f:name": {}, "f:value": {}} for i in range(10)}}}
               for manager in ("kubectl", "trainer")]
    return {"metadata": {"name": f"job-{number}", "namespace": f"team-{number % 50}", "uid": f"00000000-0000-0000-0000-{number:012}",
                         "creationTimestamp": "2026-01-15T10:00:00Z", "managedFields": managed},
            "spec": {"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "torch"},
                     "trainer": {"image": "registry.example.com/team/train:1.0", "command": ["python", "train.py"], "numNodes": 2,
                                 "env": [{"name": f"VARIABLE_{i}", "value": f"value {i}"} for i in range(10)],
                                 "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}}}},
            "status": {"conditions": [{"type": "Created", "status": "True", "reason": "JobsCreationSucceeded", "message": "Succeeded to create Jobs",
                                       "lastTransitionTime": "2026-01-15T10:00:01Z"}],
                       "jobsStatus": [{"name": "node", "active": 1, "ready": 1, "succeeded": 0, "failed": 0, "suspended": 0}]}}


class Cluster(ScriptedApiServer):
    """Has the TrainJobs as texts of pages, so that it takes no time to send them."""

    def __init__(self):
        self.pages = []
        for start in range(0, MANY, PAGE):
            more = {"continue": str(start // PAGE + 1)} if start + PAGE < MANY else {}
            self.pages.append(json.dumps({"metadata": {"resourceVersion": "7", **more},
                                          "items": [train_job(number) for number in range(start, start + PAGE)]}).encode())
        self.lists = []
        super().__init__()

    def answer(self, request, url, body):
        self.lists.append(url.path)
        page = int(dict(part.split("=") for part in url.query.split("&")).get("continue", 0))
        text = self.pages[page] if url.path == JOBS else b'{"items": []}'
        request.send_response(200)
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)


def peak_memory(pid):
    """Returns the most resident memory that the process had, in bytes. (`ru_maxrss` counts that of this process, which forked, too.)"""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024


@pytest.mark.parametrize("output", ["table", "json"])
def test_ten_thousand_train_jobs_are_listed_in_two_seconds_and_fifty_megabytes(output):
    with Cluster() as cluster:
        begin = time.monotonic()
        listing = subprocess.Popen([shipped("kubectl-trainjob"), "list", "-A", "-o", output, "--server", f"http://127.0.0.1:{cluster.port}"],
                                   stdout=subprocess.PIPE, env={**os.environ, "KUBECONFIG": "/nonexistent", "HOME": "/nonexistent"})
        # The output is much longer than a pipe holds, so the program is still there, and at its largest.
        first = listing.stdout.read(1)
        took = time.monotonic() - begin
        most = peak_memory(listing.pid)
        text = (first + listing.stdout.read()).decode()
        _, status, used = os.wait4(listing.pid, 0)
        listing.returncode = status
        listing.stdout.close()
    assert status == 0 and len(cluster.lists) == MANY // PAGE + 2
    assert text.count("running") == MANY and text.count("job-") >= MANY
    # Its own CPU time counts on a machine that others use as well; the wall clock includes this server's.
    assert used.ru_utime + used.ru_stime < SECONDS, (used, took)
    assert most < BYTES
