"""The longest name of a TrainJob: the real JobSet controller accepts the names that admission allows, and would reject those that it
denies."""

import concurrent.futures
import copy
import dataclasses

import pytest

from jobs import ANCESTOR, runtime, train_job
from progress import has_begun
from rest import ApiError, Rest, conditions, wait_for


@dataclasses.dataclass
class Row:
    """A runtime, and the longest name of its TrainJobs."""

    name: str
    longest: int
    job: str = "node"  # a second job of the runtime, if it is not "node"
    replicas: int = 1
    nodes: int = 1
    job_spec: dict = dataclasses.field(default_factory=dict)  # of "node"
    job_set_spec: dict = dataclasses.field(default_factory=dict)

    def runtime(self):
        built = runtime(self.name)
        spec = built["spec"]["template"]["spec"]
        node = spec["replicatedJobs"][0]
        if self.job != "node":
            other = copy.deepcopy(node)
            other["name"] = self.job
            other["replicas"] = self.replicas
            other["template"]["metadata"]["labels"] = {ANCESTOR: self.job} if self.job.endswith("initializer") else {}
            other["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = self.job
            spec["replicatedJobs"].append(other)
        node["template"]["spec"] |= self.job_spec
        spec |= self.job_set_spec
        if "volumeClaimPolicies" in spec:
            container = node["template"]["spec"]["template"]["spec"]["containers"][0]
            container["volumeMounts"] = [{"name": CLAIM, "mountPath": "/claim"}]
        return built

    def train_job(self, length):
        return train_job(self.name_of(length), self.name, nodes=self.nodes, suspend=True)

    def name_of(self, length):
        # Names of the same length must differ between the rows.
        return (self.name + "x" * length)[:length]


CLAIM = "c" * 20


def claim():
    template = {"metadata": {"name": CLAIM}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}
    return {"volumeClaimPolicies": [{"templates": [template]}]}


def coordinator(job_index=0, pod_index=0, **network):
    return {"coordinator": {"replicatedJob": "node", "jobIndex": job_index, "podIndex": pod_index},
            **({"network": network} if network else {})}


ROWS = [
    Row("one-node", 48),
    Row("ten-nodes", 48, nodes=10),
    Row("eleven-nodes", 47, nodes=11),
    Row("hundred-nodes", 47, nodes=100),
    Row("hundred-one", 46, nodes=101),
    Row("no-nodes", 47, nodes=0),
    Row("launcher", 44, job="launcher"),
    Row("model", 35, job="model-initializer"),
    Row("dataset", 33, job="dataset-initializer"),
    Row("ten-replicas", 46, job="worker", replicas=10),
    Row("eleven-replicas", 45, job="worker", replicas=11),
    Row("unindexed", 56, job_spec={"completionMode": "NonIndexed"}),
    Row("led", 26, job_set_spec=coordinator()),
    Row("led-by-eleventh", 26, nodes=11, job_set_spec=coordinator(pod_index=9)),
    Row("led-by-last", 26, nodes=11, job_set_spec=coordinator(pod_index=10)),
    Row("led-subdomain", 44, job_set_spec=coordinator(subdomain="subdomain")),
    Row("claim", 42, job_set_spec=claim()),
]


def attempt(rest, obj, **options):
    """Returns the created object, or the error."""
    try:
        return rest.create(obj, **options)
    except ApiError as error:
        return error


@pytest.fixture(scope="module")
def named(cluster, admin):
    """Returns a client for a namespace that the tests of this file share."""
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "names"}})
    yield Rest(cluster.kubeconfig, "names")
    admin.delete("namespaces", "names")


@pytest.fixture(scope="module")
def outcomes(installed, named):
    """Returns for each row: admission's error for a name one over the limit, the TrainJob at the limit, and its JobSet."""
    def one_over(row):
        named.create(row.runtime())
        return attempt(named, row.train_job(row.longest + 1)), attempt(named, row.train_job(row.longest))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        tried = list(pool.map(one_over, ROWS))
    def all_tried():
        return all(has_begun(job) or "Created" in conditions(job) for job in named.list("trainjobs"))
    wait_for("the TrainJobs to be tried", all_tried)
    job_sets = {job_set["metadata"]["name"]: job_set for job_set in named.list("jobsets")}
    return {row.name: (*said, job_sets.get(row.name_of(row.longest))) for row, said in zip(ROWS, tried)}


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_name_at_the_limit_gets_a_job_set_and_one_over_is_refused_as_the_job_set_would_be(named, outcomes, row):
    over, at_limit, job_set = outcomes[row.name]
    assert not isinstance(at_limit, ApiError), at_limit
    assert job_set, named.get("trainjobs", row.name_of(row.longest))["status"]
    assert job_set["metadata"]["ownerReferences"][0]["uid"] == at_limit["metadata"]["uid"]
    assert isinstance(over, ApiError) and over.code == 422
    assert [cause["field"] for cause in over.status["details"]["causes"]] == ["metadata.name"]
    assert f"must be at most {row.longest} characters long" in over.status["message"]

    renamed = {"apiVersion": job_set["apiVersion"], "kind": "JobSet", "spec": job_set["spec"],
               "metadata": {"name": row.name_of(row.longest + 1), "namespace": named.namespace}}
    refused = attempt(named, renamed, dry_run=True)
    assert isinstance(refused, ApiError) and refused.code in (403, 422), refused
    renamed["metadata"]["name"] = row.name_of(row.longest - 1) + "y"
    assert not isinstance(attempt(named, renamed, dry_run=True), ApiError), "the runtime has no other error"


@pytest.mark.parametrize("base, fits", [("b" * 43, True), ("b" * 44, False), ("b" * 58, False), ("b" * 63, False)])
def test_a_generated_name_is_judged_with_its_random_end(named, outcomes, base, fits):
    generated = train_job("unused", "one-node", suspend=True)
    generated["metadata"] = {"generateName": base}
    created = attempt(named, generated, resource="trainjobs", dry_run=True)
    if fits:
        assert len(created["metadata"]["name"]) == 48
    else:
        assert isinstance(created, ApiError)
        assert [cause["field"] for cause in created.status["details"]["causes"]] == ["metadata.name"]
        assert "must be at most 48 characters long" in created.status["message"]
