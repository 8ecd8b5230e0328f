"""A TrainJob's life on the real control plane, as lifecycle rules promise it."""

import time

from jobs import runtime, train_job
from rest import conditions, true_conditions, wait_for


def until(rest, name, kind, reason=None, timeout=30):
    """The TrainJob, once its condition `kind` is True (with that reason)."""
    def look():
        job = rest.get("trainjobs", name)
        found = true_conditions(job).get(kind)
        return job if found and reason in (None, found["reason"]) else None
    return wait_for(f"{name} to be {kind} {reason or ''}", look, timeout)


def pods(rest, name):
    return rest.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name}")


def test_four_torch_nodes_run_to_complete(signalbox, rest):
    rest.create(runtime("torch-test", ml_policy={"torch": {}}))
    rest.create(train_job("four", "torch-test", nodes=4))
    job = until(rest, "four", "Complete")

    ran = pods(rest, "four")
    assert len(ran) == 4
    env = {e["name"]: e.get("value") for e in ran[0]["spec"]["containers"][0]["env"]}
    assert env["PET_NNODES"] == "4"
    assert env["PET_MASTER_ADDR"] == "four-node-0-0.four"
    assert [c["type"] for c in job["status"]["conditions"]] == ["Created", "Complete"]
    assert job["status"]["jobsStatus"] == [
        {"name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0}]


def test_the_job_set_is_the_field_manager_trainers_by_server_side_apply(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("managed", suspend=True))
    until(rest, "managed", "Suspended")
    wait_for("its JobSet", lambda: rest.get("jobsets", "managed"))
    rest.patch("trainjobs", "managed", {"spec": {"suspend": False}})
    until(rest, "managed", "Complete")
    entries = rest.get("jobsets", "managed")["metadata"]["managedFields"]
    ours = [entry for entry in entries if entry["manager"] == "trainer"]
    assert [(entry["operation"], "subresource" in entry) for entry in ours] == [("Apply", False)]
    assert {"f:suspend", "f:replicatedJobs"} <= set(ours[0]["fieldsV1"]["f:spec"])


def test_a_failing_pod_makes_the_train_job_failed(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("doomed", outcome="failed"))
    job = until(rest, "doomed", "Failed", timeout=60)
    assert true_conditions(job)["Failed"]["reason"] == "FailedJobs"


def test_a_namespaced_runtime_serves_its_namespace(signalbox, rest):
    rest.create(runtime("local", kind="TrainingRuntime"))
    rest.create(train_job("near", "local", kind="TrainingRuntime"))
    until(rest, "near", "Complete")


def test_the_deadline_ends_the_job_and_its_pods(signalbox, rest):
    rest.create(runtime())
    started = time.monotonic()
    rest.create(train_job("late", seconds="never", activeDeadlineSeconds=3))
    wait_for("its pod", lambda: pods(rest, "late"))
    job = until(rest, "late", "Failed", "DeadlineExceeded")
    # Creation times are whole seconds, so the clock may have started up to one second before the TrainJob was there.
    assert time.monotonic() - started >= 2
    wait_for("JobSet and pods to go", lambda: not rest.get("jobsets", "late") and not pods(rest, "late"))
    assert rest.get("trainjobs", "late") is not None
    assert true_conditions(job)["Failed"]["message"] == "TrainJob exceeded its active deadline"


def test_suspension_stops_the_deadline_and_resuming_starts_it_anew(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("paused", seconds="never", activeDeadlineSeconds=3, suspend=True))
    until(rest, "paused", "Suspended")
    time.sleep(4)
    assert "Failed" not in conditions(rest.get("trainjobs", "paused"))

    rest.patch("trainjobs", "paused", {"spec": {"suspend": False}})
    resumed = time.monotonic()
    wait_for("its pod", lambda: pods(rest, "paused"))
    until(rest, "paused", "Failed", "DeadlineExceeded")
    assert time.monotonic() - resumed >= 2


def test_a_running_job_can_be_suspended_and_resumed(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("yoyo", seconds="never"))
    wait_for("a running pod", lambda: [p for p in pods(rest, "yoyo") if p["status"].get("phase") == "Running"])
    rest.patch("trainjobs", "yoyo", {"spec": {"suspend": True}})
    until(rest, "yoyo", "Suspended")
    wait_for("its pods to go", lambda: not pods(rest, "yoyo"))
    wait_for("no active Job", lambda: all(
        j["active"] == 0 and j["suspended"] == 1 for j in rest.get("trainjobs", "yoyo")["status"]["jobsStatus"]))

    rest.patch("trainjobs", "yoyo", {"spec": {"suspend": False}})
    wait_for("a running pod", lambda: [p for p in pods(rest, "yoyo") if p["status"].get("phase") == "Running"])


def test_the_ttl_removes_a_finished_job_and_all_it_owns(signalbox, rest):
    rest.create(runtime("short", ttlSecondsAfterFinished=2))
    rest.create(train_job("gone", "short"))
    until(rest, "gone", "Complete")
    finished = time.monotonic()
    wait_for("the TrainJob to go", lambda: rest.get("trainjobs", "gone") is None)
    assert time.monotonic() - finished >= 0.9
    wait_for("what it owned to go", lambda: not rest.get("jobsets", "gone") and not pods(rest, "gone")
             and not rest.get("configmaps", "gone-runtime-snapshot"))


def test_a_deadline_and_a_ttl_work_together(signalbox, rest):
    rest.create(runtime("both", ttlSecondsAfterFinished=1))
    rest.create(train_job("brief", "both", seconds="never", activeDeadlineSeconds=2))
    until(rest, "brief", "Failed", "DeadlineExceeded")
    wait_for("the TrainJob to go", lambda: rest.get("trainjobs", "brief") is None)
    wait_for("its pods to go", lambda: not pods(rest, "brief"))


def test_an_expired_deadline_is_acted_on_at_once_after_a_restart(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("missed", seconds="never", activeDeadlineSeconds=3))
    wait_for("its pod", lambda: pods(rest, "missed"))
    signalbox.stop_reconciler()
    time.sleep(3)
    assert "Failed" not in conditions(rest.get("trainjobs", "missed"))
    signalbox.restart_reconciler()
    until(rest, "missed", "Failed", "DeadlineExceeded")
    wait_for("its pods to go", lambda: not pods(rest, "missed"))


def test_a_job_that_cannot_be_built_says_why_and_starts_once_the_runtime_is_corrected(signalbox, rest):
    broken = runtime("fragile")
    broken["spec"]["template"]["spec"]["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["nobody"]}
    rest.create(broken)
    rest.create(train_job("hopeful", "fragile"))

    def refused():
        created = conditions(rest.get("trainjobs", "hopeful")).get("Created")
        return created if created and created["status"] == "False" else None
    created = wait_for("Created=False", refused)
    assert created["reason"] == "JobsCreationFailed"
    assert "JobSet default/hopeful" in created["message"] and "nobody" in created["message"]

    fixed = rest.get("clustertrainingruntimes", "fragile")
    del fixed["spec"]["template"]["spec"]["successPolicy"]
    rest.replace("clustertrainingruntimes", fixed)
    until(rest, "hopeful", "Complete")


def test_a_runtime_edited_or_deleted_after_the_start_changes_nothing(signalbox, rest):
    rest.create(runtime("fleeting"))
    rest.create(train_job("steady", "fleeting", seconds=4))
    wait_for("its pod", lambda: pods(rest, "steady"))
    before = rest.get("jobsets", "steady")["spec"]
    edited = rest.get("clustertrainingruntimes", "fleeting")
    edited["spec"]["mlPolicy"]["numNodes"] = 7
    rest.replace("clustertrainingruntimes", edited)
    rest.delete("clustertrainingruntimes", "fleeting")
    until(rest, "steady", "Complete")
    assert rest.get("jobsets", "steady")["spec"] == before


def test_a_job_managed_by_somebody_else_is_left_alone(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("foreign", managedBy="kueue.x-k8s.io/multikueue"))
    rest.create(train_job("ours"))
    until(rest, "ours", "Complete")
    assert rest.get("jobsets", "foreign") is None
    assert "status" not in rest.get("trainjobs", "foreign")


def test_a_job_set_of_somebody_else_is_never_adopted(signalbox, rest):
    rest.create(runtime())
    container = {"name": "x", "image": "registry.example.com/other:1"}
    template = {"spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}}
    rest.create({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
                 "metadata": {"name": "taken", "namespace": "default"},
                 "spec": {"suspend": True, "replicatedJobs": [{"name": "x", "template": template}]}})
    before = rest.get("jobsets", "taken")["metadata"]["uid"]
    rest.create(train_job("taken"))
    created = wait_for("Created=False", lambda: conditions(rest.get("trainjobs", "taken")).get("Created"))
    assert (created["status"], created["reason"]) == ("False", "JobsCreationFailed")
    theirs = rest.get("jobsets", "taken")
    assert theirs["metadata"]["uid"] == before and "ownerReferences" not in theirs["metadata"]


def test_settled_jobs_get_no_write_at_all(signalbox, rest):
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
    before = versions()
    signalbox.restart_reconciler()
    signalbox.wait_until_idle()
    assert versions() == before
    assert signalbox.writes() == 0
