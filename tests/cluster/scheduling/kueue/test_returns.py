"""A job that Kueue preempts at any moment and admits again, on the same flavor or another one, continues where it was."""

import itertools

import pytest

from progress import uid
from queues import HOST, SideBySide, flavor, wait_for
from rest import true_conditions

MOMENTS = ("before", "during", "after")  # of the initializer's run
PLACES = ("same", "other")               # flavor
CASES = list(itertools.product(MOMENTS, PLACES, (False, True)))
JOB = "moved"
ONLY_ONE = {"key": "signalbox.test/one", "operator": "Exists"}  # of the first flavor alone: it is removed when the job moves
INITIALIZER = "dataset-initializer"


def running(team, replicated_job):
    return [pod for pod in team.pods(JOB, replicated_job) if pod["status"].get("phase") == "Running"]


def name_of(pod):
    return pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"]


def until(moment, team):
    """Waits for the moment of the preemption."""
    team.until_workload(JOB, "Admitted")
    if moment != "before":
        wait_for("the initializer to run", lambda: running(team, INITIALIZER))
    if moment == "after":
        team.finish(JOB, INITIALIZER)
        wait_for("the trainer to run", lambda: running(team, "node"))


def preempt(team, place):
    """Preempts the job by one that fits the first flavor alone, and deletes that again if the job is to return there."""
    fixed = {"manager": "signalbox.test/place", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": name, "template": {"spec": {"template": {"spec": {"nodeSelector": {HOST: "node-1"}}}}}} for name in (INITIALIZER, "node")]}}}}
    before = {uid(pod) for name in (INITIALIZER, "node") for pod in running(team, name)}
    team.submit("urgent", urgent=True, seconds="never", runtimePatches=[fixed])
    team.until_workload(JOB, "Evicted")
    team.until_workload("urgent", "Admitted")
    wait_for("its Pods to be deleted", lambda: not before & {uid(pod) for name in (INITIALIZER, "node") for pod in running(team, name)})
    if place == "same":
        team.until_held(JOB)
        team.rest.delete("trainjobs", "urgent")


def tell(queue, case):
    moment, place, claims = case
    flavors = [flavor("one", "node-1", [ONLY_ONE], cpu="2")] + ([flavor("two", "node-2", cpu="2")] if place == "other" else [])
    with queue(*flavors) as team, team.disk(f"data-{JOB}"):
        team.initialized_runtime(claims)
        team.submit(JOB, seconds="never")
        until(moment, team)
        initializer = uid(team.rest.get("jobs", f"{JOB}-{INITIALIZER}-0"))
        claim = uid(team.rest.get("persistentvolumeclaims", f"data-{JOB}"))
        preempt(team, place)
        node = "node-1" if place == "same" else "node-2"
        if moment != "after":
            # On the former node, the initializer may have started after the preemption.
            wait_for("the initializer to run there", lambda: [pod for pod in running(team, INITIALIZER) if pod["spec"]["nodeName"] == node])
            team.finish(JOB, INITIALIZER)
        pods = wait_for("the trainer to run again", lambda: running(team, "node") or moment == "after" and running(team, INITIALIZER))
        assert {name_of(pod) for pod in pods} == {"node"}, "the initializer runs a second time"
        if moment == "after":
            assert uid(team.rest.get("jobs", f"{JOB}-{INITIALIZER}-0")) == initializer
        if moment != "before":
            assert uid(team.rest.get("persistentvolumeclaims", f"data-{JOB}")) == claim
        assert {pod["spec"]["nodeName"] for pod in pods} == {node}
        assert all((ONLY_ONE in pod["spec"]["tolerations"]) == (place == "same") for pod in pods)
        team.finish(JOB)
        team.until_ends(JOB)
        assert "Evicted" not in true_conditions(team.workload(JOB))


@pytest.fixture(scope="module")
def outcomes(request, queue):
    with SideBySide(request, "case", lambda case: tell(queue, case)) as stories:
        yield stories


@pytest.mark.parametrize("case", [
    pytest.param(case, id=f"{case[0]}-{case[1]}" + ("-claims" if case[2] else "")) for case in CASES])
def test_a_job_goes_on_after_preemption(outcomes, case):
    outcomes.result(case)
