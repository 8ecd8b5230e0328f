"""The rules of a TrainJob's lifecycle on the real control plane."""

import pytest

from jobs import runtime, train_job
from progress import pods, resume, running_pods, suspend, until, until_alone, until_not_created, until_runs
from rest import true_conditions, wait_for


@pytest.mark.together
def test_four_torch_nodes_run_to_complete(signalbox, rest):
    rest.create(runtime("torch-test", ml_policy={"torch": {}}))
    rest.create(train_job("four", "torch-test", nodes=4))
    job = until(rest, "four", "Complete")

    ran = pods(rest, "four")
    assert len(ran) == 4
    env = {e["name"]: e.get("value") for e in ran[0]["spec"]["containers"][0]["env"]}
    assert env["PET_NNODES"] == "4"
    assert env["PET_MASTER_ADDR"] == "four-node-0-0.four"
    assert [c["type"] for c in job["status"]["conditions"]] == ["Complete"]
    assert job["status"]["jobsStatus"] == [
        {"name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0}]


@pytest.mark.together
def test_the_job_set_is_the_field_manager_trainers_by_server_side_apply(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("managed", suspend=True))
    until(rest, "managed", "Suspended")
    wait_for("its JobSet", lambda: rest.get("jobsets", "managed"))
    resume(rest, "managed")
    until(rest, "managed", "Complete")
    entries = rest.get("jobsets", "managed")["metadata"]["managedFields"]
    ours = [entry for entry in entries if entry["manager"] == "trainer"]
    applied, resumed = sorted(ours, key=lambda entry: entry["operation"])
    assert (applied["operation"], resumed["operation"]) == ("Apply", "Update")
    assert "f:replicatedJobs" in applied["fieldsV1"]["f:spec"]
    # A resume without a change writes nothing else.
    assert resumed["fieldsV1"] == {"f:spec": {"f:suspend": {}}}


@pytest.mark.together
def test_a_failing_pod_makes_the_train_job_failed(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("doomed", outcome="failed"))
    job = until(rest, "doomed", "Failed", timeout=60)
    assert true_conditions(job)["Failed"]["reason"] == "FailedJobs"


@pytest.mark.together
def test_a_namespaced_runtime_serves_its_namespace(signalbox, rest):
    rest.create(runtime("local", kind="TrainingRuntime"))
    rest.create(train_job("near", "local", kind="TrainingRuntime"))
    until(rest, "near", "Complete")


@pytest.mark.together
def test_a_running_job_can_be_suspended_and_resumed(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("yoyo", seconds="never"))
    until_runs(rest, "yoyo")
    suspend(rest, "yoyo")
    until(rest, "yoyo", "Suspended")
    wait_for("its pods to go", lambda: not pods(rest, "yoyo"))
    wait_for("no active Job", lambda: all(
        j["active"] == 0 and j["suspended"] == 1 for j in rest.get("trainjobs", "yoyo")["status"]["jobsStatus"]))

    resume(rest, "yoyo")
    until_runs(rest, "yoyo")


@pytest.mark.together
def test_a_job_that_cannot_be_built_says_why_and_starts_once_the_runtime_is_corrected(signalbox, rest):
    broken = runtime("fragile")
    broken["spec"]["template"]["spec"]["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["absent"]}
    rest.create(broken)
    rest.create(train_job("hopeful", "fragile"))
    message = until_not_created(rest, "hopeful", "JobsCreationFailed")["message"]
    assert f"JobSet {rest.namespace}/hopeful" in message and "absent" in message

    fixed = rest.get("clustertrainingruntimes", "fragile")
    del fixed["spec"]["template"]["spec"]["successPolicy"]
    rest.replace("clustertrainingruntimes", fixed)
    until(rest, "hopeful", "Complete")


@pytest.mark.together
def test_a_runtime_edited_or_deleted_after_the_start_changes_nothing(signalbox, rest):
    rest.create(runtime("fleeting"))
    rest.create(train_job("steady", "fleeting", seconds=8))
    wait_for("its pod", lambda: pods(rest, "steady"))
    before = rest.get("jobsets", "steady")["spec"]
    edited = rest.get("clustertrainingruntimes", "fleeting")
    edited["spec"]["mlPolicy"]["numNodes"] = 7
    rest.replace("clustertrainingruntimes", edited)
    rest.delete("clustertrainingruntimes", "fleeting")
    assert not true_conditions(rest.get("trainjobs", "steady")).get("Complete")
    until(rest, "steady", "Complete")
    assert rest.get("jobsets", "steady")["spec"] == before


@pytest.mark.together
def test_a_job_managed_by_another_controller_is_left_alone(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("foreign", managedBy="kueue.x-k8s.io/multikueue"))
    rest.create(train_job("ours"))
    until(rest, "ours", "Complete")
    assert rest.get("jobsets", "foreign") is None
    assert "status" not in rest.get("trainjobs", "foreign")


def test_with_job_set_s_controller_settled_jobs_get_no_write_at_all(signalbox, admin, rest):
    rest.create(runtime())
    names = ["done", "held", "busy"]
    rest.create(train_job("done"))
    rest.create(train_job("held", suspend=True))
    rest.create(train_job("busy", seconds="never"))
    until(rest, "done", "Complete")
    until(rest, "held", "Suspended")
    wait_for("a ready Job", lambda: any(
        j["ready"] for j in rest.get("trainjobs", "busy").get("status", {}).get("jobsStatus", [])))
    wait_for("the counts of the suspended job",
             lambda: rest.get("trainjobs", "held")["status"].get("jobsStatus", [{}])[0].get("suspended") == 1)

    def versions():
        return {(kind, name): rest.get(kind, name)["metadata"]["resourceVersion"]
                for kind in ("trainjobs", "jobsets") for name in names}
    until_alone(admin)
    before = versions()
    signalbox.restart_reconciler()
    signalbox.wait_until_idle()
    assert versions() == before
    assert signalbox.writes() == 0
