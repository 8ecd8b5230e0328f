"""Reconcilers of two releases lead in turns, as during an upgrade that is taken back: each finds what the other has left settled.
scripts/mixed-versions names the programs of the other release; without it both are of this checkout."""

import datetime
import os
import pathlib
import time

import pytest

from deployment import Program
from jobs import runtime, train_job
from lean import finished
from rest import Rest, conditions, true_conditions, wait_for

PROGRAMS = {"this": os.environ["SIGNALBOX_BIN_DIR"], "other": os.environ.get("SIGNALBOX_OTHER_BIN_DIR", os.environ["SIGNALBOX_BIN_DIR"])}


@pytest.fixture
def lead(plane):
    """Returns lead(which): the reconciler of that release leads from then on, and no other one runs."""
    leading = []

    def take_over(which):
        assert [problem for program in leading for problem in program.stop()] == []
        leading[:] = [Program(pathlib.Path(PROGRAMS[which]) / "signalbox-reconciler", plane.directory / f"{which}-reconciler.log", [
            "--kubeconfig", plane.reconciler_kubeconfig(), "--admin-listen", "127.0.0.1:0"])]
        leading[0].wait_until_ready()
        wait_for("the lease", lambda: leading[0].metric("signalbox_leader") == 1)
        return leading[0]
    yield take_over
    assert [problem for program in leading for problem in program.stop()] == []


def completed():
    """Returns the status of a JobSet that completes now."""
    change = finished()
    change["status"]["conditions"][0]["lastTransitionTime"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return change


def counts(**numbers):
    return {"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0, **numbers}


@pytest.mark.long
def test_what_one_release_has_written_the_other_leaves_and_takes_further(plane, lead):
    rest = Rest(plane.kubeconfig)
    rest.create(runtime("keeps", ttlSecondsAfterFinished=3600))
    rest.create(runtime("clears", ttlSecondsAfterFinished=60))
    of_runtime = {"restarted": "keeps", "stalled": "keeps", "ended": "keeps", "expiring": "clears"}
    for name, of in of_runtime.items():
        rest.create(train_job(name, of))

    def write(name, **status):
        rest.patch("jobsets", name, {"status": status}, subresource="status")

    def restart(times, counted):
        write("restarted", restarts=times, restartsCountTowardsMax=counted, replicatedJobsStatus=[counts(ready=1, active=1)])

    def until_counted(times):
        wait_for("the count", lambda: rest.get("trainjobs", "restarted")["status"].get("restarts") == times)
    first = lead("this")
    wait_for("the JobSets", lambda: {each["metadata"]["name"] for each in rest.list("jobsets")} == {*of_runtime})
    restart(2, 1)
    until_counted(2)
    write("expiring", replicatedJobsStatus=[counts(ready=1, active=1)])
    wait_for("the counts", lambda: rest.get("trainjobs", "expiring")["status"].get("jobsStatus", [{}])[0].get("active") == 1)
    rest.patch("jobsets", "ended", completed(), subresource="status")
    wait_for("it to end", lambda: "Complete" in true_conditions(rest.get("trainjobs", "ended")))
    # No JobSet controller runs here.
    wait_for("it to stall", lambda: conditions(rest.get("trainjobs", "stalled")).get("Stalled", {}).get("reason") == "JobsNotCreated", 60)

    def stored():
        """Returns the versions of the JobSets, and what the statuses of the TrainJobs say: another release may put them into another order."""
        job_sets = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in rest.list("jobsets")}
        statuses = {each["metadata"]["name"]: {**each["status"], "conditions": conditions(each)} for each in rest.list("trainjobs")}
        return job_sets, statuses

    def is_settled(program):
        before = program.metric("signalbox_reconciles_total")
        time.sleep(2)  # late writes would arrive now
        return before >= len(of_runtime) and before == program.metric("signalbox_reconciles_total")
    wait_for("the last reconcile", lambda: is_settled(first), 60)
    for which in ("other", "this", "other"):
        before = stored()
        program = lead(which)
        wait_for("a reconcile of each", lambda: is_settled(program), 60)
        assert stored() == before, which
    # The other one may be from before these parts of the status, and this one goes on from its own.
    restart(3, 2)
    write("stalled", replicatedJobsStatus=[counts(ready=1, active=1)])
    lead("this")
    wait_for("it to go on", lambda: "Stalled" not in conditions(rest.get("trainjobs", "stalled")))
    until_counted(3)
    rest.patch("clustertrainingruntimes", "clears", {"spec": {"ttlSecondsAfterFinished": 1}})
    rest.patch("jobsets", "expiring", completed(), subresource="status")
    wait_for("its end", lambda: "Complete" in true_conditions(rest.get("trainjobs", "expiring")))
    # It began with a minute.
    ended = time.monotonic()
    for which in ("other", "this"):
        lead(which)
        assert "deletionTimestamp" not in rest.get("trainjobs", "expiring")["metadata"], which
    # Nothing collects garbage here, so it stays.
    wait_for("its deletion", lambda: "deletionTimestamp" in rest.get("trainjobs", "expiring")["metadata"], 90)
    assert time.monotonic() - ended > 50
    assert rest.get("trainjobs", "ended")["status"]["conditions"][-1]["type"] == "Complete"
