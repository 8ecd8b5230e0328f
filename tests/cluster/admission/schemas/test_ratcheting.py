"""Objects that are older than a rule: their other fields can be changed, and the old value cannot."""

import copy
import json

import pytest

from rest import ApiError, path_of, wait_for

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trainingruntimes.trainer.kubeflow.org"
JOB_SPEC = {"template": {"spec": {"containers": [{"name": "node", "image": "a"}]}}, "activeDeadlineSeconds": 5}
RUNTIME = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainingRuntime",
    "metadata": {"name": "old", "namespace": "default"},
    "spec": {"template": {"spec": {"ttlSecondsAfterFinished": 5,
                                   "replicatedJobs": [{"name": "node", "template": {"spec": JOB_SPEC}}]}}},
}


@pytest.fixture(scope="module")
def old(rest):
    """Stores a runtime while deadlines and TTLs in templates are allowed."""
    crd = rest.request("GET", CRD)
    lax = json.loads(json.dumps(crd))
    drop_forbidding_rules(lax["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    put(rest, CRD, lax)
    # The API server takes a moment to serve a changed CRD.
    wait_for("the lax CRD", lambda: accepted(rest, RUNTIME))
    stored = rest.create(RUNTIME)
    put(rest, CRD, crd)
    wait_for("the strict CRD", lambda: not accepted(rest, RUNTIME))
    yield stored
    rest.delete("trainingruntimes", "old")


def drop_forbidding_rules(schema):
    if [rule["rule"] for rule in schema.get("x-kubernetes-validations", [])] == ["false"]:
        del schema["x-kubernetes-validations"]
    for child in [*schema.get("properties", {}).values(), schema.get("items")]:
        if isinstance(child, dict):
            drop_forbidding_rules(child)


def put(rest, path, obj):
    obj = copy.deepcopy(obj)
    obj["metadata"].pop("resourceVersion")
    obj["metadata"]["resourceVersion"] = rest.request("GET", path)["metadata"]["resourceVersion"]
    return rest.request("PUT", path, obj)


def accepted(rest, runtime):
    try:
        rest.create({**runtime, "metadata": {"name": "probe", "namespace": "default"}}, dry_run=True)
        return True
    except ApiError:
        return False


def change(rest, old, edit):
    changed = copy.deepcopy(old)
    edit(changed["spec"]["template"]["spec"])
    return rest.request("PUT", path_of("trainingruntimes", "default", "old") + "?dryRun=All", changed)


def job_spec(jobset):
    return jobset["replicatedJobs"][0]["template"]["spec"]


def test_another_field_can_be_changed(rest, old):
    def new_image(jobset):
        job_spec(jobset)["template"]["spec"]["containers"][0]["image"] = "b"

    stored = change(rest, old, new_image)["spec"]["template"]["spec"]
    assert stored["ttlSecondsAfterFinished"] == 5 and job_spec(stored)["activeDeadlineSeconds"] == 5


def test_the_old_value_cannot_be_changed(rest, old):
    with pytest.raises(ApiError, match="Forbidden: .* set spec.ttlSecondsAfterFinished of the runtime"):
        change(rest, old, lambda jobset: jobset.update(ttlSecondsAfterFinished=6))
    with pytest.raises(ApiError, match="Forbidden: .* set spec.activeDeadlineSeconds of the TrainJob"):
        change(rest, old, lambda jobset: job_spec(jobset).update(activeDeadlineSeconds=6))


def test_the_old_value_can_be_removed(rest, old):
    def mend(jobset):
        del jobset["ttlSecondsAfterFinished"], job_spec(jobset)["activeDeadlineSeconds"]

    change(rest, old, mend)
