"""The CRDs on a real API server: their installation, and defaulting, pruning, ownership and columns of their objects."""

import copy
import json
import re
import subprocess

import original
import pytest
import schemas
import yaml

from paths import ROOT
from rest import ApiError, wait_for
from rows import put, steps
from test_crd_files import schema_of

CRDS = ROOT / "manifests" / "base" / "crds"
TRAIN_JOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"
JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "job", "namespace": "default"},
    "spec": {"runtimeRef": {"name": "torch-distributed"}},
}


def crds(plane):
    listed = json.loads(plane.kubectl("get", "crd", "-o", "json", "--show-managed-fields"))["items"]
    return {crd["metadata"]["name"]: crd for crd in listed if crd["spec"]["group"] == "trainer.kubeflow.org"}


def apply(plane):
    """Returns kubectl's messages, which would include warnings of the API server."""
    run = subprocess.run([plane.kubectl_path, "--kubeconfig", plane.kubeconfig, "apply", "--server-side", "-k", CRDS],
                         capture_output=True, text=True, check=True)
    return run.stderr


@pytest.fixture
def job(rest):
    yield rest.create(copy.deepcopy(JOB))
    rest.delete("trainjobs", "job")


def test_they_install_without_a_warning_and_a_second_time_change_nothing(plane, rest):
    before = crds(plane)
    assert apply(plane) == ""
    assert crds(plane) == before
    for crd in before.values():
        conditions = {c["type"]: c["status"] for c in crd["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}
        assert len(json.dumps(crd)) < 1024 * 1024


def test_they_can_be_applied_client_side_too(plane, rest):
    plane.kubectl("apply", "--dry-run=server", "-k", CRDS)


def test_columns(plane, rest, job):
    time = "2026-01-15T10:00:00Z"
    rest.patch("trainjobs", "job", {"status": {"conditions": [
        {"type": "Created", "status": "True", "reason": "JobsCreationSucceeded", "message": "", "lastTransitionTime": time},
        {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "", "lastTransitionTime": time},
    ], "trainerStatus": {"progressPercentage": 42, "estimatedRemainingSeconds": 3600, "lastUpdatedTime": time}}}, subresource="status")
    header, row = [line.split() for line in plane.kubectl("get", "trainjob", "job").splitlines()]
    assert header == ["NAME", "STATE", "REASON", "STARTED", "FINISHED", "PROGRESS", "AGE"]
    assert row[:4] == ["job", "Failed", "DeadlineExceeded", "42"]
    header, row = plane.kubectl("get", "trainjob", "job", "-o", "wide").splitlines()
    assert header.split()[-5:] == ["PROGRESS", "ETA", "REPORTED", "RESTARTS", "AGE"]
    assert row[header.index("PROGRESS"):header.index("REPORTED")].split() == ["42", "3600"]
    assert re.fullmatch(r"\d+[dh].*", row[header.index("REPORTED"):header.index("RESTARTS")].strip())


@pytest.mark.parametrize("field, words", [
    ("trainjob.spec.activeDeadlineSeconds", "since its creation or last resume"),
    ("trainjob.spec.trainer.env.value", "$(NAME) stands for an earlier variable"),
    ("trainjob.spec.runtimePatches.trainingRuntimeSpec.template.spec.replicatedJobs.template.spec.template.spec.resourceClaims",
     "Containers refer to them in resources.claims"),
    ("trainjob.status.conditions.observedGeneration", "of the TrainJob that this is about"),
    ("clustertrainingruntime.spec.ttlSecondsAfterFinished", "The same as runPolicy.ttlSecondsAfterFinished, where that is unset"),
    ("trainingruntime.spec.template.spec.ttlSecondsAfterFinished", "Forbidden; set spec.ttlSecondsAfterFinished of the runtime"),
    ("trainingruntime.spec.template.spec.replicatedJobs.template.spec.template.spec", "The trainer needs a container node"),
])
def test_kubectl_explains_fields(plane, rest, field, words):
    text = wait_for("kubectl explain", lambda: plane.kubectl("explain", field, check=False))
    assert words in " ".join(text.split())


def misspelt(plural):
    """Returns an object that has every object of its schema in it, each with an unknown field, and the paths of these fields."""
    crd = yaml.load((CRDS / f"{plural}.yaml").read_text(), Loader=yaml.CSafeLoader)
    table = original.CRDS[plural]["fields"]
    roots = [original.full(plural, path) for path, facts in table.items() if "subtree" in facts]
    obj, paths = {"apiVersion": JOB["apiVersion"], "kind": crd["spec"]["names"]["kind"], "metadata": {"name": "probe"}}, []
    for path, facts in schemas.flat(schema_of(crd)).items():
        if facts.get("type") == "object" and path and path != "metadata" and not path.startswith("status") \
                and path.rpartition(".")[2] not in ("labels", "annotations", "nodeSelector") \
                and not any(schemas.below(path, root) for root in roots):
            where = path.replace("[]", "[0]")
            put(obj, [*steps(where), "unheardOf"], 1)
            paths.append(where + ".unheardOf")
    return obj, paths


@pytest.mark.parametrize("plural, namespace", [("trainjobs", "namespaces/default/"), ("trainingruntimes", "namespaces/default/"),
                                               ("clustertrainingruntimes", "")])
def test_unknown_fields_of_every_object_are_refused_when_strict(rest, plural, namespace):
    obj, paths = misspelt(plural)
    assert len(paths) > 20
    with pytest.raises(ApiError) as refused:
        rest.request("POST", f"/apis/trainer.kubeflow.org/v1alpha1/{namespace}{plural}?dryRun=All&fieldValidation=Strict", obj)
    assert refused.value.code == 400
    assert [path for path in paths if f'unknown field "{path}"' not in str(refused.value)] == []


def test_unknown_fields_are_dropped_when_not_strict(rest):
    misspelt = copy.deepcopy(JOB)
    misspelt["spec"]["trainer"] = {"numNode": 2}
    stored = rest.request("POST", TRAIN_JOBS + "?dryRun=All&fieldValidation=Warn", misspelt)
    assert stored["spec"]["trainer"] == {}


def test_the_status_is_written_apart_from_the_rest(rest, job):
    status = {"conditions": [{"type": "Suspended", "status": "True", "reason": "Suspended", "message": "",
                              "lastTransitionTime": "2026-01-15T10:00:00Z"}]}
    change = {"metadata": {"labels": {"a": "b"}}, "spec": {"suspend": True}, "status": status}
    after = rest.patch("trainjobs", "job", change, subresource="status")
    assert after["status"] == status and not after["spec"]["suspend"] and "labels" not in after["metadata"]
    after = rest.patch("trainjobs", "job", {"spec": {"suspend": True}, "status": {"conditions": []}})
    assert after["status"] == status and after["spec"]["suspend"]


def test_the_last_condition_cannot_be_removed_with_its_list(rest, job):
    condition = {"type": "Created", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-15T10:00:00Z"}
    rest.patch("trainjobs", "job", {"status": {"conditions": [condition]}}, subresource="status")
    with pytest.raises(ApiError, match="status: Invalid value"):
        rest.patch("trainjobs", "job", {"status": {"conditions": None}}, subresource="status")


def test_two_owners_apply_patches_of_their_own(rest, job):
    """Like Kueue and a user: neither removes the other's entry."""
    for owner in ("kueue.x-k8s.io/manager", "example.com/team"):
        mine = {**JOB, "spec": {"runtimePatches": [{"manager": owner}]}}
        rest.request("PATCH", f"{TRAIN_JOBS}/job?fieldManager={owner.split('.')[0]}", mine, "application/apply-patch+yaml")
    managers = [p["manager"] for p in rest.get("trainjobs", "job")["spec"]["runtimePatches"]]
    assert managers == ["kueue.x-k8s.io/manager", "example.com/team"]
