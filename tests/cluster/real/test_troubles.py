"""What only a node that runs programs shows: they go on for a while after they are told to end."""

import copy

import pytest

from node.training import pod_specs, train_job
from rest import wait_for

GRACE = 12  # seconds
# The first process of a container ignores SIGTERM unless it handles it.
DEAF = ["python3", "-c", "import time; print('begins'); time.sleep(600)"]


@pytest.fixture(scope="module")
def patient(runtimes, admin):
    """A runtime whose programs have some seconds to end. Its Jobs would make new Pods beside them: only a podFailurePolicy keeps them from
    that."""
    runtime = copy.deepcopy(admin.get("clustertrainingruntimes", "plain"))
    runtime["metadata"] = {"name": "patient"}
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        job["template"]["spec"].pop("podFailurePolicy")
    for pod in pod_specs(runtime):
        pod["terminationGracePeriodSeconds"] = GRACE
    admin.create(runtime)


def runs(pod):
    return any("running" in status["state"] for status in pod["status"].get("containerStatuses", []))


def test_a_resumed_job_starts_no_program_beside_one_that_still_ends(patient, admin, plugin, pods_of):
    admin.create(train_job("turns", "patient", DEAF))
    first, = wait_for("its Pod to run", lambda: [pod for pod in pods_of("turns") if runs(pod)], 60)
    plugin("suspend", "turns")
    wait_for("its Pod to be told to end", lambda: pods_of("turns")[0]["metadata"].get("deletionTimestamp"), 30)
    plugin("resume", "turns")
    seen = []

    def has_new_pod():
        seen.append({pod["metadata"]["uid"] for pod in pods_of("turns")})
        return seen[-1] - {first["metadata"]["uid"]}
    wait_for("a new Pod", has_new_pod, GRACE + 60)
    assert {first["metadata"]["uid"]} in seen, "the first Pod has ended before the resume, so nothing is shown"
    assert [uids for uids in seen if len(uids) > 1] == []
    assert "WaitingForPods" in {event["reason"] for event in admin.list("events") if event["regarding"]["name"] == "turns"}
    admin.delete("trainjobs", "turns")
