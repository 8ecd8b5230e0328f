"""Admission through the real API server, which calls the real webhook over TLS."""

import pytest

from jobs import ANCESTOR, runtime, train_job
from progress import running_pods, until, until_held, until_not_created
from rest import ApiError, wait_for


def causes(status):
    return {c.get("field"): c.get("message", "") for c in status["details"].get("causes", [])}


def quota(rest, job_sets):
    """Allows only so many JobSets in the namespace."""
    rest.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"},
                 "spec": {"hard": {"count/jobsets.jobset.x-k8s.io": str(job_sets)}}})
    wait_for("the quota", lambda: rest.get("resourcequotas", "few").get("status", {}).get("hard"))


def test_a_runtime_can_be_used_the_moment_it_exists(signalbox, rest):
    for i in range(10):
        rest.create(runtime(f"fresh-{i}"))
        rest.create(train_job(f"fresh-{i}", f"fresh-{i}", suspend=True))


@pytest.mark.parametrize("before,after", [(60, 61), (60, None), (None, 60)])
def test_the_deadline_cannot_be_changed_added_or_removed(signalbox, rest, before, after):
    rest.create(runtime())
    rest.create(train_job("fixed", suspend=True, **({"activeDeadlineSeconds": before} if before else {})))
    with pytest.raises(ApiError) as caught:
        rest.patch("trainjobs", "fixed", {"spec": {"activeDeadlineSeconds": after}})
    assert caught.value.code == 422
    assert any("activeDeadlineSeconds" in (field or "") for field in causes(caught.value.status))


def test_what_runs_is_corrected_in_place_until_there_is_a_job_set(signalbox, rest):
    rest.create(runtime())
    quota(rest, 0)
    rest.create(train_job("mended", seconds="never"))
    until_not_created(rest, "mended", "JobsCreationFailed")
    with pytest.raises(ApiError) as caught:
        rest.patch("trainjobs", "mended", {"spec": {"trainer": {"resourcesPerNode": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}}})
    assert set(causes(caught.value.status)) == {"spec.trainer.resourcesPerNode.limits[cpu]"}
    rest.patch("trainjobs", "mended", {"spec": {"trainer": {"image": "registry.example.com/right:1", "numNodes": 2}}})
    rest.delete("resourcequotas", "few")
    until(rest, "mended", "Created")
    (job,) = rest.get("jobsets", "mended")["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["parallelism"] == 2
    assert job["template"]["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example.com/right:1"
    late_patch = {"manager": "example.com/late", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"spec": {"serviceAccountName": "default"}}}}}]}}}}
    for late, field in (({"trainer": {"image": "registry.example.com/other:1"}}, "spec.trainer.image"),
                        ({"trainer": {"image": None}}, "spec.trainer.image"),
                        ({"trainer": {"args": ["a"]}}, "spec.trainer.args"),
                        ({"trainer": {"numNodes": 3}}, "spec.trainer.numNodes"),
                        ({"initializer": {"model": {"storageUri": "s3://a/b"}}}, "spec.initializer"),
                        ({"runtimePatches": [*rest.get("trainjobs", "mended")["spec"]["runtimePatches"], late_patch]},
                         "spec.runtimePatches[1]")):
        with pytest.raises(ApiError) as caught:
            rest.patch("trainjobs", "mended", {"spec": late})
        assert set(causes(caught.value.status)) == {field}


def test_a_suspended_job_is_resized_in_the_update_that_resumes_it(signalbox, rest):
    rest.create(runtime("resized", ml_policy={"torch": {}}))
    rest.create(runtime())
    rest.create(train_job("resized", "resized", seconds="never", suspend=True))
    until_held(rest, "resized")
    rest.create(train_job("a-name-of-twenty-two-x" * 2 + "xx", seconds="never", suspend=True))
    with pytest.raises(ApiError) as caught:
        rest.patch("trainjobs", "a-name-of-twenty-two-x" * 2 + "xx", {"spec": {"trainer": {"numNodes": 1001}}})
    assert set(causes(caught.value.status)) == {"spec.trainer.numNodes"}
    rest.patch("trainjobs", "resized", {"spec": {"suspend": False, "trainer": {"numNodes": 3}}})
    pods = wait_for("three nodes", lambda: len(found := running_pods(rest, "resized")) == 3 and found)
    assert {each["value"] for pod in pods for each in pod["spec"]["containers"][0]["env"] if each["name"] == "PET_NNODES"} == {"3"}
    with pytest.raises(ApiError) as caught:
        rest.patch("trainjobs", "resized", {"spec": {"trainer": {"numNodes": 2}}})
    assert set(causes(caught.value.status)) == {"spec.trainer.numNodes"}


def test_without_their_gates_corrections_resizes_and_claims_are_denied_and_what_is_stored_counts(signalbox, rest):
    def claiming(name):
        job = train_job(name, seconds="never", suspend=True)
        job["spec"]["trainer"]["resourceClaimsPerNode"] = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
        return job

    def denied(field, gate, request):
        with pytest.raises(ApiError) as caught:
            request()
        assert causes(caught.value.status).get(field) == f"Forbidden: needs the feature gate {gate}"
    rest.create(runtime())
    with signalbox.reviewed("--feature-gates=TrainJobEdits=false,TrainJobDynamicResourceAllocation=true"):
        rest.create(claiming("claiming"))
        until_held(rest, "claiming")
        quota(rest, 0)
        rest.create(train_job("waiting", seconds="never"))
        until_not_created(rest, "waiting", "JobsCreationFailed")
        late_patch = {"manager": "example.com/late", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
            {"name": "node", "template": {"spec": {"template": {"spec": {"serviceAccountName": "default"}}}}}]}}}}
        patches = rest.get("trainjobs", "waiting")["spec"]["runtimePatches"]
        for field, change in (("spec.trainer.image", {"trainer": {"image": "registry.example.com/right:1"}}),
                              ("spec.trainer.args", {"trainer": {"args": ["a"]}}),
                              ("spec.trainer.numNodes", {"trainer": {"numNodes": 2}}),
                              ("spec.initializer", {"initializer": {"model": {"storageUri": "s3://a/b"}}}),
                              ("spec.runtimePatches[1]", {"runtimePatches": [*patches, late_patch]})):
            denied(field, "TrainJobEdits", lambda: rest.patch("trainjobs", "waiting", {"spec": change}))
        denied("spec.trainer.numNodes", "TrainJobEdits", lambda: rest.patch("trainjobs", "claiming", {"spec": {"trainer": {"numNodes": 2}}}))
    denied("spec.trainer.resourceClaimsPerNode", "TrainJobDynamicResourceAllocation", lambda: rest.create(claiming("new")))
    rest.patch("trainjobs", "claiming", {"metadata": {"labels": {"a": "b"}}, "spec": {"suspend": False}})
    resumed = wait_for("the resume", lambda: (lambda found: None if found["spec"]["suspend"] else found)(rest.get("jobsets", "claiming")))
    pod = resumed["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert [each["resourceClaimTemplateName"] for each in pod["resourceClaims"]] == ["one-gpu"]
    assert pod["containers"][0]["resources"]["claims"] == [{"name": "gpu"}]
    # With the gate on again the same correction passes.
    rest.patch("trainjobs", "waiting", {"spec": {"trainer": {"image": "registry.example.com/right:1"}}})


def test_patches_get_the_time_of_their_last_change(signalbox, rest):
    rest.create(runtime())
    created = rest.create(train_job("stamped", seconds=1, suspend=True))
    stamp = created["spec"]["runtimePatches"][0]["time"]
    assert stamp.endswith("Z")
    again = rest.patch("trainjobs", "stamped", {"metadata": {"labels": {"a": "b"}}})
    assert again["spec"]["runtimePatches"][0]["time"] == stamp


def test_opting_out_of_runtime_validation_by_label_works(signalbox, rest):
    offender = runtime("unchecked")
    offender["metadata"]["labels"] = {"trainer.kubeflow.org/webhook-validation": "disabled"}
    offender["spec"]["template"]["spec"]["replicatedJobs"][0]["replicas"] = 2
    assert ANCESTOR in str(rest.create(offender))


def test_who_uses_a_runtime_is_said_at_its_edit_and_its_deletion_which_can_be_denied(signalbox, rest):
    def asked(method, change=None):
        """Returns code, message and warnings. Of many requests within a second some are not counted for."""
        live = rest.get("trainingruntimes", "used") | (change or {})
        def ask():
            code, message, warnings = rest.answer(method, "trainingruntimes", live, dry_run=True)
            return (code, message if code == 422 else "", warnings) if warnings or code == 422 else None
        return wait_for("who uses it", ask, interval=1)
    edit = {"spec": runtime("used", ml_policy={"numNodes": 2})["spec"]}
    rest.create(runtime("used", kind="TrainingRuntime"))
    for name in ("held", "running", "ended"):
        rest.create(train_job(name, "used", "TrainingRuntime", seconds=1 if name == "ended" else "never"))
    until(rest, "ended", "Complete")
    running_pods(rest, "running")
    quota(rest, 0)
    rest.create(train_job("waiting", "used", "TrainingRuntime", seconds="never"))
    until_not_created(rest, "waiting", "JobsCreationFailed")
    assert asked("PUT", edit) == (200, "", ["1 TrainJob has no JobSet yet and begins with it as it is now", "2 TrainJobs go on as they began"])
    assert asked("DELETE") == (200, "", [
        "1 TrainJob has no JobSet yet and cannot begin before there is such a runtime again",
        "2 TrainJobs go on as they began, but list_jobs() of Kubeflow's SDK fails in their namespaces"])
    with signalbox.reviewed("--runtime-in-use=deny"):
        code, message, warnings = asked("DELETE")
        assert (code, warnings) == (422, [])
        assert message.endswith('TrainingRuntime.trainer.kubeflow.org "used" is invalid: metadata.name: Forbidden: 3 TrainJobs that have not ended use '
                                "it: create a runtime under a new name, and delete this one once no job uses it"), message
        for job in rest.list("trainjobs"):
            rest.delete("trainjobs", job["metadata"]["name"])
        wait_for("the deletion", lambda: rest.answer("DELETE", "trainingruntimes", rest.get("trainingruntimes", "used"))[0] == 200, interval=1)
