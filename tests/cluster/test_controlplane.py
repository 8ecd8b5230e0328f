"""The test bed itself: what tests take for granted about it."""

import json
import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parents[1] / "support" / "python")]

from controlplane import ControlPlane  # noqa: E402
from controlplane.processes import start_time  # noqa: E402
from rest import Rest, wait_for  # noqa: E402


@pytest.fixture(scope="module")
def plane():
    with ControlPlane(nodes=2) as control_plane:
        yield control_plane


@pytest.fixture(scope="module")
def rest(plane):
    return Rest(plane.kubeconfig)


def job_set(name, labels=None):
    container = {"name": "main", "image": "registry.example.com/x:1"}
    pod = {"metadata": {"labels": labels or {}}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {"spec": {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": pod}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicatedJobs": [{"name": "node", "template": job}]}}


def ended(rest, name):
    return rest.get("jobsets", name).get("status", {}).get("terminalState")


def pods(rest, name):
    return rest.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name}")


def test_pods_of_a_job_set_run_on_nodes_and_it_completes(rest):
    rest.create(job_set("short"))
    wait_for("Completed", lambda: ended(rest, "short") == "Completed")
    assert {p["spec"]["nodeName"] for p in pods(rest, "short")} <= {"node-1", "node-2"}


def test_a_label_makes_pods_fail(rest):
    rest.create(job_set("bad", {"signalbox.test/outcome": "failed"}))
    wait_for("Failed", lambda: ended(rest, "bad") == "Failed")


def test_a_label_makes_pods_run_until_they_are_deleted(rest):
    rest.create(job_set("endless", {"signalbox.test/run-seconds": "never"}))
    wait_for("both to run", lambda: [p["status"]["phase"] for p in pods(rest, "endless")] == ["Running"] * 2)
    rest.create(job_set("after"))
    wait_for("a later one to complete", lambda: ended(rest, "after") == "Completed")
    assert ended(rest, "endless") is None
    rest.delete("jobsets", "endless")
    wait_for("its pods to go", lambda: not pods(rest, "endless"))


def test_rbac_refuses_a_service_account_without_roles(plane):
    config = plane.service_account_kubeconfig("default", "default")
    answer = plane.kubectl("auth", "can-i", "list", "pods", kubeconfig=config, check=False)
    assert answer.strip() == "no"


def test_the_server_says_which_version_it_is(plane):
    assert json.loads(plane.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"].startswith("v1.")


def test_two_run_side_by_side_and_stopping_leaves_nothing_behind(rest):
    other = ControlPlane(lean=True).start()
    pids = other.pids()
    assert len(pids) == 2
    Rest(other.kubeconfig).create({"kind": "ConfigMap", "apiVersion": "v1",
                                   "metadata": {"name": "only-there", "namespace": "default"}})
    assert rest.get("configmaps", "only-there") is None
    other.stop()
    assert [start_time(pid) for pid in pids] == [None, None]
    assert not other.directory.exists()
    assert rest.list("nodes")
