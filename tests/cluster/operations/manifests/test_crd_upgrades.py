"""Changes of CRDs under stored objects: from Kubeflow Trainer's and back. No object is lost. The other CRDs hide fields that they do not
have, and such a field is lost for good only if its object is written meanwhile."""

import copy
import json
import re

import original
import pytest
import schemas
import yaml

from schema_server import ROOT, ApiError, Rest, is_served, wait_for

KINDS = ["trainjobs", "trainingruntimes", "clustertrainingruntimes"]
PROMISED = yaml.safe_load((ROOT / "tests" / "data" / "crds" / "promised.yaml").read_text())
META = {"annotations": {"example.com/mine": "yes"}, "labels": {"example.com/team": "one"}}
POD = {"spec": {"containers": [{"name": "node", "image": "registry.example.com/base:1", "resources": {"limits": {"cpu": "2"}}}]}}
NODE = {"name": "node", "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                                     "spec": {"template": POD}}}
RUNTIME = {"mlPolicy": {"numNodes": 2, "torch": {"numProcPerNode": 4}}, "ttlSecondsAfterFinished": 3600,
           "runPolicy": {"ttlSecondsAfterFinished": 3600, "maxTtlSecondsAfterFinished": 7200, "activeDeadlineSeconds": 600, "gracePeriodSeconds": 60,
                         "maxActiveDeadlineSeconds": 7200, "failurePolicy": {
                             "maxRestarts": 3, "backoff": {"initialSeconds": 5}, "excludedNodes": {"max": 1}, "rules": [{
                                 "action": "FailTrainJob", "onExitCodes": {"containerName": "node", "operator": "In", "values": [42]}}]}},
           "template": {"spec": {"replicatedJobs": [NODE]}}}
PATCH = {"manager": "example.com/devices", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
    "metadata": {"labels": {"example.com/queue": "fast"}},
    "spec": {"template": {"spec": {
        "nodeSelector": {"example.com/gpu": "yes"}, "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
        "containers": [{"name": "node", "resources": {"claims": [{"name": "gpu"}]}}]}}}}}]}}}}
JOB = {"runtimeRef": {"name": "shared"}, "activeDeadlineSeconds": 600, "runtimePatches": [PATCH], "ttlSecondsAfterFinished": 60,
       "failurePolicy": {"maxRestarts": 1},
       "trainer": {"image": "registry.example.com/team/train:1", "numNodes": 2,
                   "resourceClaimsPerNode": [{"name": "nic", "resourceClaimTemplateName": "one-nic"}]}}
STATUS = {"conditions": [{"type": "Created", "status": "True", "reason": "JobsCreationSucceeded", "message": "Succeeded to create Jobs",
                          "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 1}],
          "jobsStatus": [{"name": "node", "active": 2, "ready": 2, "failed": 0, "succeeded": 0, "suspended": 0}],
          "startTime": "2026-01-02T03:04:00Z", "runPolicy": {"activeDeadlineSeconds": 600, "ttlSecondsAfterFinished": 3600},
          "restarts": 2, "restartsCountTowardsMax": 1, "attemptStartTime": "2026-01-02T03:04:10Z", "consecutiveFailures": 1}
# That a time with the original may cost, where an object is written.
NEW = {"spec.ttlSecondsAfterFinished", "spec.failurePolicy.maxRestarts", "spec.trainer.resourceClaimsPerNode[0].resourceClaimTemplateName",
       "spec.runPolicy.ttlSecondsAfterFinished", "spec.runPolicy.failurePolicy.maxRestarts", "spec.runPolicy.maxActiveDeadlineSeconds",
       "spec.runPolicy.maxTtlSecondsAfterFinished", "spec.runPolicy.gracePeriodSeconds", "spec.runPolicy.failurePolicy.backoff.initialSeconds",
       "spec.runPolicy.failurePolicy.excludedNodes.max", "status.startTime", "status.runPolicy.ttlSecondsAfterFinished", "status.restarts",
       "status.restartsCountTowardsMax", "status.attemptStartTime", "status.consecutiveFailures"}
PATHS = {"trainjobs": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/",
         "trainingruntimes": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainingruntimes/",
         "clustertrainingruntimes": "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/"}


def ours(kind):
    return yaml.load((ROOT / "manifests" / "base" / "crds" / f"{kind}.yaml").read_text(), Loader=yaml.CSafeLoader)


def schema_of(crd):
    return crd["spec"]["versions"][0]["schema"]


def with_rows(kind, rows):
    """Returns Signalbox's CRD with another schema."""
    crd = ours(kind)
    schema_of(crd)["openAPIV3Schema"] = schemas.nested(rows)
    return crd


def rows_of(kind):
    return schemas.flat(schema_of(ours(kind))["openAPIV3Schema"])


def the_originals(kind):
    return with_rows(kind, original.undone(kind, rows_of(kind)))


def unknown_to_the_original(kind):
    return [path for difference, path in original.differences_of(kind) if difference["original"] == "absent"]


class Cluster:
    def __init__(self, plane):
        self.plane = plane
        self.rest = Rest(plane.kubeconfig)

    def apply(self, crd_of):
        for kind in KINDS:
            self.plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(crd_of(kind)))
        for kind in KINDS:
            wait_for(f"{kind} to be served", lambda kind=kind: is_served(self.rest, kind))
            wait_for(f"the schema of {kind}", lambda kind=kind: self.serves(kind, crd_of(kind)))

    def serves(self, kind, crd):
        """Returns whether the API server validates writes and prunes reads by this schema, which takes a moment after the CRD is stored.
        A field that only one schema has shows it; `probe` is an object that is not stored."""
        field = {"trainjobs": "activeDeadlineSeconds"}.get(kind, "ttlSecondsAfterFinished")
        known = field in schema_of(crd)["openAPIV3Schema"]["properties"]["spec"]["properties"]
        probe = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": crd["spec"]["names"]["kind"],
                 "metadata": {"name": "probe"}, "spec": {**(JOB if kind == "trainjobs" else RUNTIME), field: 60}}
        try:
            answer = self.rest.request("POST", PATHS[kind].rstrip("/") + "?dryRun=All", probe)
        except ApiError:
            return False
        return (field in answer["spec"]) == known

    def create(self, name):
        """Creates one object of each kind."""
        for kind, spec in (("clustertrainingruntimes", RUNTIME), ("trainingruntimes", RUNTIME), ("trainjobs", JOB)):
            made = self.rest.request("POST", PATHS[kind].rstrip("/"), {
                "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": ours(kind)["spec"]["names"]["kind"],
                "metadata": {"name": name, **META}, "spec": spec})
            if kind == "trainjobs":
                self.rest.request("PUT", PATHS[kind] + f"{name}/status", {**made, "status": STATUS})

    def fields(self, name):
        """Returns {(kind, path of a leaf): value} of all three objects."""
        found = {}
        for kind in KINDS:
            obj = self.rest.request("GET", PATHS[kind] + name)
            for of_the_server in ("managedFields", "resourceVersion", "generation"):
                obj["metadata"].pop(of_the_server)
            found |= {(kind, path): value for path, value in leaves(obj)}
        return found

    def write(self, name):
        for kind in KINDS:
            self.rest.request("PATCH", PATHS[kind] + name, {"metadata": {"labels": {"example.com/team": "two"}}}, "application/merge-patch+json")


def leaves(node, path=""):
    if isinstance(node, dict) and node:
        for name, each in node.items():
            yield from leaves(each, f"{path}.{name}" if path else name)
    elif isinstance(node, list) and node:
        for index, each in enumerate(node):
            yield from leaves(each, f"{path}[{index}]")
    else:
        yield path, node


def shown(fields):
    """Returns fields without empty objects: an object is still shown if all its members are unknown."""
    return {key: value for key, value in fields.items() if value != {}}


def known(fields):
    """Returns the fields that the original's CRDs show."""
    def is_known(kind, path):
        return not any(schemas.below(re.sub(r"\[\d+\]", "[]", path), root) for root in unknown_to_the_original(kind))
    return {key: value for key, value in shown(fields).items() if is_known(*key)}


def test_objects_outlive_a_change_of_the_crds_and_the_way_back(empty_plane):
    cluster = Cluster(empty_plane)
    # The original's CRDs store objects first: Signalbox's CRDs show all of their fields.
    cluster.apply(the_originals)
    cluster.create("first")
    first = cluster.fields("first")
    cluster.apply(ours)
    assert cluster.fields("first") == first
    cluster.write("first")

    # Then Signalbox's CRDs store objects: the original's hide the fields that they do not have, and nothing else.
    for each in ("read", "written"):
        cluster.create(each)
    full = {each: cluster.fields(each) for each in ("read", "written")}
    lost = {path for _, path in full["read"].keys() - known(full["read"]).keys()}
    assert lost >= NEW, "they have all of these fields"
    cluster.apply(the_originals)
    for each in ("read", "written"):
        assert shown(cluster.fields(each)) == known(full[each])
    cluster.write("written")

    # Signalbox's CRDs again: an object that was only read has all its fields.
    cluster.apply(ours)
    assert cluster.fields("read") == full["read"]
    team = {(kind, "metadata.labels.example.com/team"): "two" for kind in KINDS}
    assert shown(cluster.fields("written")) == known(full["written"]) | team
    for each in ("first", "read", "written"):
        cluster.write(each)


def test_a_runtime_with_an_mpi_implementation_that_the_original_lacks_stays_and_can_be_labelled(empty_plane):
    cluster = Cluster(empty_plane)
    cluster.apply(ours)
    spec = copy.deepcopy(RUNTIME) | {"mlPolicy": {"numNodes": 1, "mpi": {"mpiImplementation": "Intel"}}}
    path = PATHS["clustertrainingruntimes"]
    cluster.rest.request("POST", path.rstrip("/"), {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
                                                    "metadata": {"name": "intel"}, "spec": spec})
    cluster.apply(the_originals)
    change = {"metadata": {"labels": {"example.com/team": "two"}}}
    after = cluster.rest.request("PATCH", path + "intel", change, "application/merge-patch+json")
    assert after["spec"]["mlPolicy"]["mpi"]["mpiImplementation"] == "Intel"
    cluster.apply(ours)


@pytest.mark.parametrize("kind", KINDS)
def test_a_released_field_still_exists_and_accepts_the_same_values(kind):
    """promised.yaml has the fields of the first release, except those within types of Kubernetes."""
    rows = rows_of(kind)
    names = PROMISED[kind]
    assert len(names) > 50
    for path, promised in names.items():
        path = original.full(kind, path)
        assert path in rows, f"{path} is gone: stored objects would lose it"
        facts = schemas.short(rows[path])
        assert facts.get("type") == promised.get("type"), path
        assert set(facts.get("required", [])) <= set(promised.get("required", [])), f"{path} requires more than before"
        if "enum" in facts:
            assert set(promised["enum"]) <= set(facts["enum"]), f"{path} accepts less than before"
