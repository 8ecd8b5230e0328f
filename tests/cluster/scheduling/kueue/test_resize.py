"""A suspended TrainJob gets another number of nodes: Kueue counts it anew, whether it holds quota for it or not, and it runs with as many."""

import datetime

import pytest

from jobs import runtime
from queues import KUEUE_API, flavor, wait_for
from rest import true_conditions

CHECK, JOB = "signalbox-test-manual", "resized"


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def team(signalbox, admin, queue):
    """A queue in which a job with quota waits for a check, which the test passes."""
    admin.create({"apiVersion": KUEUE_API, "kind": "AdmissionCheck", "metadata": {"name": CHECK},
                  "spec": {"controllerName": "signalbox.test/manual"}})
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": now()}
    admin.patch("admissionchecks", CHECK, {"status": {"conditions": [active]}}, subresource="status")
    with queue(flavor("one", cpu="3"), checks=[CHECK]) as made:
        made.rest.create(runtime(kind="TrainingRuntime"))
        yield made
    admin.delete("admissionchecks", CHECK)


def until_counted(team, nodes, reserved):
    """Returns the Workload once it has as many Pods, and the queue has reserved that many CPUs."""
    def look():
        found = team.workload(JOB)
        counts = [each["count"] for each in found["spec"]["podSets"]] if found else []
        has_quota = bool(found) and "QuotaReserved" in true_conditions(found)
        return found if counts == [nodes] and has_quota == (reserved > 0) and team.reserved()["cpu"] == str(reserved) else None
    return wait_for(f"a Workload of {nodes} Pods with {reserved} CPUs", look)


def pass_check(team):
    name = team.workload(JOB)["metadata"]["name"]
    passed = {"name": CHECK, "state": "Ready", "message": "", "lastTransitionTime": now()}
    team.rest.patch("workloads", name, {"status": {"admissionChecks": [passed]}}, subresource="status")


def resize(team, nodes):
    team.rest.patch("trainjobs", JOB, {"spec": {"trainer": {"numNodes": nodes}}})


def test_kueue_counts_a_job_anew_that_is_resized_while_it_is_suspended(team):
    team.submit(JOB, nodes=2, seconds="never")
    until_counted(team, 2, reserved=2)
    assert team.rest.get("trainjobs", JOB)["spec"]["suspend"]
    resize(team, 3)
    until_counted(team, 3, reserved=3)
    pass_check(team)
    assert len(team.until_runs(JOB)) == 3
    workload = until_counted(team, 3, reserved=3)
    # Kueue evicts it, and its quota is free again.
    team.rest.patch("workloads", workload["metadata"]["name"], {"spec": {"active": False}})
    team.until_held(JOB)
    resize(team, 1)
    workload = until_counted(team, 1, reserved=0)
    team.rest.patch("workloads", workload["metadata"]["name"], {"spec": {"active": True}})
    until_counted(team, 1, reserved=1)
    pass_check(team)
    assert len(team.until_runs(JOB)) == 1
    assert team.rest.get("jobsets", JOB)["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 1
