"""What lies between two attempts of a TrainJob under a failure policy: the wait, what ends it, what changes meanwhile, and what the next
attempt finds. test_failure_policy.py has what leads to one."""

import contextlib
import time

import pytest

from attempts import (LATER, SOON, attempt, counters, decisions, fail, failed, is_backing_off, policy, soon, started, until_backing_off,
                      until_counted)
from jobs import ANCESTOR, runtime, train_job
from progress import delete_jobs, fail_pod, owner, pods, resume, running_pods, seconds, suspend, uid, until, until_gone, until_held
from rest import true_conditions, wait_for

together = pytest.mark.together(after=delete_jobs, first=True)


@together
def test_a_job_tells_that_it_waits_for_its_next_attempt_and_its_deadline_and_its_deletion_end_that(signalbox, rest):
    rest.create(runtime("waiting", **policy(backoff=LATER)))
    for name, spec in {"limited": {"activeDeadlineSeconds": 20}, "waits": {}, "unwanted": {}}.items():
        rest.create(train_job(name, "waiting", seconds="never", **spec))
    for name in ("limited", "waits", "unwanted"):
        pod = started(rest, name)
        failed_at = time.time()
        fail_pod(rest, pod, 3)
        job = until_backing_off(rest, name)
        begins = job["status"]["nextAttemptTime"]
        assert failed_at + 299 <= seconds(begins) <= time.time() + 301
        assert "attemptStartTime" not in job["status"]
        assert true_conditions(job)["Restarting"]["message"].startswith(
            f"attempt 1 begins at {begins}. The first to fail: Pod {pod['metadata']['name']} on node ")
        # It stays until the next attempt, with its log.
        assert [uid(each) for each in pods(rest, name)] == [uid(pod)]
    rest.delete("trainjobs", "unwanted")
    until_gone(rest, "unwanted")
    failed(rest, "limited", "DeadlineExceeded")
    assert not is_backing_off(rest.get("trainjobs", "limited"))
    wait_for("its JobSet to go", lambda: rest.get("jobsets", "unwanted") is None)
    assert counters(rest, "waits") == (1, 1) and decisions(rest, "waits") == [(0, "Restart", -1)]


@together
def test_a_job_that_is_suspended_between_attempts_stays_so_and_resumes_into_the_next_one_with_other_nodes_and_the_same_budget(signalbox, rest):
    rest.create(runtime("interrupted", **policy(1, backoff={"initialSeconds": 6})))
    rest.create(train_job("interrupted", "interrupted", seconds="never"))
    former = fail(rest, "interrupted")
    ends = seconds(until_backing_off(rest, "interrupted")["status"]["nextAttemptTime"])
    suspend(rest, "interrupted")
    until(rest, "interrupted", "Suspended")
    rest.patch("trainjobs", "interrupted", {"spec": {"trainer": {"numNodes": 2}}})
    time.sleep(max(0, ends + 2 - time.time()))
    assert not running_pods(rest, "interrupted")
    present = rest.get("jobsets", "interrupted")
    assert present is None or present["metadata"]["annotations"]["trainer.kubeflow.org/attempt"] == "0"
    resume(rest, "interrupted")
    assert attempt(rest, "interrupted", 1)["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 2
    wait_for("two Pods", lambda: len(running_pods(rest, "interrupted")) == 2)
    wait_for("it to be told that it runs", lambda: not is_backing_off(rest.get("trainjobs", "interrupted")))
    assert counters(rest, "interrupted") == (1, 1)
    fail(rest, "interrupted", former=former)
    failed(rest, "interrupted", "ReachedMaxRestarts")


@together
def test_a_new_job_set_refills_no_budget(signalbox, rest):
    rest.create(runtime("counted", **policy(1)))
    rest.create(train_job("resumed", "counted", seconds="never"))
    former = fail(rest, "resumed")
    until_counted(rest, "resumed", (1, 1))
    started(rest, "resumed", former)
    before = uid(attempt(rest, "resumed", 1))
    rest.delete("jobsets", "resumed")
    before = uid(attempt(rest, "resumed", 1, other_than=before))
    suspend(rest, "resumed")
    until_held(rest, "resumed")
    rest.patch("trainjobs", "resumed", {"spec": {"trainer": {"numNodes": 2}}})
    renewed = attempt(rest, "resumed", 1, other_than=before)
    assert renewed["metadata"]["annotations"]["trainer.kubeflow.org/restarts-before"] == "1,1"
    resume(rest, "resumed")
    soon(rest, "two Pods", lambda: len(running_pods(rest, "resumed")) == 2)
    fail(rest, "resumed", former=former)
    failed(rest, "resumed", "ReachedMaxRestarts")
    assert counters(rest, "resumed") == (1, 1)


@contextlib.contextmanager
def disks(rest, *claims):
    """Creates a volume for each of these claims."""
    made = [rest.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"generateName": "disk-"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/disk"},
        "claimRef": {"namespace": rest.namespace, "name": claim}}})["metadata"]["name"] for claim in claims]
    yield
    for disk in made:
        rest.delete("persistentvolumes", disk)


@together
def test_volume_claims_outlive_every_attempt_and_those_to_be_deleted_go_with_the_job(signalbox, rest):
    made = runtime("storing-attempts", **policy(backoff=SOON))
    spec = made["spec"]["template"]["spec"]
    size = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    spec["volumeClaimPolicies"] = [
        {"templates": [{"metadata": {"name": "data"}, "spec": size}]},
        {"templates": [{"metadata": {"name": "kept"}, "spec": size}], "retentionPolicy": {"whenDeleted": "Retain"}}]
    spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [
        {"name": name, "mountPath": f"/{name}"} for name in ("data", "kept")]
    rest.create(made)
    claims = ("data-stored", "kept-stored")

    def stored():
        return [uid(rest.get("persistentvolumeclaims", claim)) for claim in claims]
    with disks(rest, *claims):
        job = rest.create(train_job("stored", "storing-attempts", seconds="never"))
        former = fail(rest, "stored")
        before = stored()
        assert None not in before and owner(rest.get("persistentvolumeclaims", "data-stored")) == uid(job)
        until_counted(rest, "stored", (1, 1))
        pod = started(rest, "stored", former)
        assert {each["persistentVolumeClaim"]["claimName"] for each in pod["spec"]["volumes"] if "persistentVolumeClaim" in each} == {*claims}
        assert stored() == before
        rest.delete("trainjobs", "stored")
        soon(rest, "the claim to go", lambda: stored() == [None, before[1]])
        assert "deletionTimestamp" not in rest.get("persistentvolumeclaims", "kept-stored")["metadata"]


@together
def test_an_initializer_that_has_succeeded_runs_once_however_many_attempts_follow_unless_its_claim_is_lost(signalbox, rest):
    made = runtime("filling", **policy(backoff=SOON))
    spec = made["spec"]["template"]["spec"]
    spec["volumeClaimPolicies"] = [{"templates": [{"metadata": {"name": "data"}, "spec": {
        "resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"], "storageClassName": ""}}]}]
    mount = {"volumeMounts": [{"name": "data", "mountPath": "/workspace"}]}
    (node,) = spec["replicatedJobs"]
    node["dependsOn"] = [{"name": "dataset-initializer", "status": "Complete"}]
    node["template"]["spec"]["template"]["spec"]["containers"][0].update(mount)
    spec["replicatedJobs"].insert(0, {"name": "dataset-initializer", "template": {
        "metadata": {"labels": {ANCESTOR: "dataset-initializer"}},
        "spec": {"template": {"spec": {"containers": [{"name": "dataset-initializer", "image": "registry.example.com/fetch:1", **mount}]}}}}})
    rest.create(made)

    def jobs(job_set):
        return [each["name"] for each in job_set["spec"]["replicatedJobs"]]

    def succeeded():
        return {each["name"]: each["succeeded"] for each in rest.get("trainjobs", "filled")["status"]["jobsStatus"]}
    with disks(rest, "data-filled", "data-filled"):
        rest.create(train_job("filled", "filling", seconds="never"))
        former = fail(rest, "filled", of="node")
        assert jobs(attempt(rest, "filled", 1)) == ["node"]
        former = fail(rest, "filled", former=former, of="node")
        until_counted(rest, "filled", (2, 2))
        assert jobs(attempt(rest, "filled", 2)) == ["node"]
        pod = started(rest, "filled", former, of="node")
        assert succeeded() == {"dataset-initializer": 1, "node": 0}
        # The claim goes with the last Pod that uses it, and the next one is empty.
        rest.delete("persistentvolumeclaims", "data-filled")
        fail_pod(rest, pod, 1)
        assert jobs(attempt(rest, "filled", 3)) == ["dataset-initializer", "node"]
        soon(rest, "the initializer to succeed again", lambda: succeeded()["dataset-initializer"] == 1)
        rest.delete("trainjobs", "filled")
