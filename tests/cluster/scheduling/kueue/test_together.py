"""Properties of both programs together: no writes when all is settled, and either program may be down for a while."""

import json
import os
import pathlib
import subprocess
import time

import pytest

from jobs import runtime, train_job
from progress import events, since, suspend, uid, until, until_alone
from queues import MANAGER, QUEUE_LABEL, flavor, wait_for
from rest import conditions

KINDS = ("trainjobs", "jobsets", "workloads")


@pytest.fixture
def team(queue):
    """A queue for one job of one node."""
    with queue(flavor("one")) as made:
        made.rest.create(runtime(kind="TrainingRuntime"))
        yield made


def versions(team):
    return {(kind, each["metadata"]["name"]): each["metadata"]["resourceVersion"] for kind in KINDS for each in team.rest.list(kind)}


def test_nothing_is_written_when_all_is_settled(signalbox, kueue, admin, team):
    team.submit("done")
    team.until_ends("done")
    team.submit("running", seconds="never")
    team.until_runs("running")
    team.until_workload("running", "PodsReady")
    team.submit("waiting")
    team.until_held("waiting")
    until_alone(admin)
    signalbox.wait_until_idle()
    before = versions(team)
    with kueue.away():
        pass
    signalbox.restart_reconciler()
    signalbox.wait_until_idle()
    assert signalbox.writes() == 0
    assert versions(team) == before


def test_explain_says_which_quota_is_missing(cluster, team):
    team.submit("first", seconds="never")
    team.until_runs("first")
    team.submit("second")
    team.until_held("second")
    program = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"

    def queue_line(name):
        text = subprocess.run([program, "--kubeconfig", cluster.kubeconfig, "-n", team.rest.namespace, "explain", name], capture_output=True,
                              text=True, timeout=60, check=True).stdout
        return next(line for line in text.splitlines() if line.startswith("Queue"))
    assert "admitted by the ClusterQueue " in queue_line("first")
    missing = wait_for("Kueue's reason", lambda: (lambda line: line if "waits: " in line else None)(queue_line("second")))
    assert "insufficient unused quota for cpu in flavor " in missing and " more needed" in missing


def test_a_deadline_frees_quota_within_seconds(team):
    team.submit("late", seconds="never", activeDeadlineSeconds=3)
    team.until_workload("late", "Admitted")
    team.submit("next")
    late = team.until_ends("late", "Failed")
    assert conditions(late)["Failed"]["reason"] == "DeadlineExceeded"
    team.until_ends("next")
    # It takes one or two. Other tests share the cores.
    assert since(team.workload("next"), "QuotaReserved") - since(late, "Failed") <= 10


def test_what_kueue_missed_it_makes_up_for(signalbox, kueue, team):
    team.submit("first", seconds="never")
    team.until_runs("first")
    team.submit("second")
    team.until_held("second")
    with kueue.away():
        # No Job can end meanwhile, because Kueue's webhook reviews each change of a Pod.
        team.finish("first")
        assert team.rest.get("trainjobs", "second")["spec"]["suspend"]
    team.until_ends("first")
    team.until_ends("second")


def test_what_the_reconciler_missed_it_makes_up_for(signalbox, team):
    with signalbox.without_reconciler():
        team.submit("moved", seconds="never")
        wait_for("Kueue to resume it", lambda: team.rest.get("trainjobs", "moved")["spec"]["suspend"] is False)
    team.until_runs("moved")
    with signalbox.without_reconciler():
        team.submit("urgent", urgent=True)
        wait_for("Kueue to suspend it", lambda: team.rest.get("trainjobs", "moved")["spec"]["suspend"])
    team.until_ends("urgent")
    team.until_runs("moved")
    team.finish("moved")
    team.until_ends("moved")


def test_a_job_runs_in_its_place_although_its_manifest_is_applied_again(cluster, team):
    team.submit("first", seconds="never")
    team.until_runs("first")
    manifest = train_job("again", "plain-test", "TrainingRuntime", seconds="never", labels={QUEUE_LABEL: "team"})
    manifest["spec"]["trainer"]["resourcesPerNode"] = {"requests": {"cpu": "1"}}

    def apply(**labels):
        manifest["metadata"]["labels"] |= labels
        cluster.kubectl("apply", "-n", team.name, "-f", "-", input=json.dumps(manifest))
    apply()
    team.until_held("again")
    apply(a="b")
    team.finish("first")
    (pod,) = team.until_runs("again")
    apply(a="c")
    job = team.rest.get("trainjobs", "again")
    assert [each["manager"] for each in job["spec"]["runtimePatches"]] == ["signalbox.test/nodes", MANAGER]
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"} and not job["spec"]["suspend"]


def in_queue(team, runtime_name="queued"):
    """Creates a runtime whose JobSets are in the queue by their own label, and request a CPU."""
    made = runtime(runtime_name, "TrainingRuntime")
    made["spec"]["template"]["metadata"] = {"labels": {QUEUE_LABEL: "team"}}
    pod = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    return team.rest.create(made)


def test_a_job_set_waits_in_the_queue_of_its_runtime_s_label_and_runs_when_it_is_admitted(team):
    in_queue(team)
    team.submit("first", seconds="never")
    team.until_runs("first")
    team.rest.create(train_job("second", "queued", "TrainingRuntime", seconds="never"))
    wait_for("its Workload", lambda: team.workload("second"))
    before = wait_for("its suspended Job", lambda: team.rest.get("jobs", "second-node-0")) and team.rest.get("jobsets", "second")
    time.sleep(3)  # with two that decide, one would resume it, and the other suspend it
    after = team.rest.get("jobsets", "second")
    assert after["spec"]["suspend"] and not team.pods("second")
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    team.finish("first")
    (pod,) = team.until_runs("second")
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    team.submit("urgent", urgent=True)
    team.until_ends("urgent")
    assert uid(pod) != uid(*team.until_runs("second"))
    team.finish("second")
    until(team.rest, "second", "Complete")


def test_a_job_set_that_kueue_resumes_runs_although_its_train_job_is_suspended(signalbox, team):
    in_queue(team)
    team.rest.create(train_job("held", "queued", "TrainingRuntime", seconds="never"))
    team.until_runs("held")
    suspend(team.rest, "held")
    wait_for("the warning", lambda: events(team.rest, "held", "ResumedByQueue"))
    team.until_runs("held")
    signalbox.wait_until_idle()
    # What the warning says helps.
    team.rest.patch("workloads", team.workload("held")["metadata"]["name"], {"spec": {"active": False}})
    wait_for("its Pods to go", lambda: not team.pods("held"))
    signalbox.wait_until_idle()
    assert team.rest.get("jobsets", "held")["spec"]["suspend"]


@pytest.mark.parametrize("claims", [False, True])
@pytest.mark.parametrize("setting", ["always", "on-failure"])
def test_created_is_false_at_no_time_of_a_preempted_jobs_life(signalbox, queue, setting, claims):
    with signalbox.reconfigured(f"--created-condition={setting}"), queue(flavor("one", cpu="2")) as team, team.disk("data-moved"):
        team.initialized_runtime(claims)
        team.submit("moved", seconds="never")
        team.until_workload("moved", "Admitted")
        team.finish("moved", "dataset-initializer")
        team.until_runs("moved")
        team.rest.create(runtime("other", "TrainingRuntime"))
        team.submit("urgent", "other", urgent=True, cpu="2")
        team.until_ends("urgent")
        wait_for("Kueue to resume it", lambda: team.rest.get("trainjobs", "moved")["spec"]["suspend"] is False)
        created = conditions(team.rest.get("trainjobs", "moved")).get("Created")
        assert team.seen.not_created("moved") == {}
        assert (created or {}).get("status") == ("True" if setting == "always" else None)
