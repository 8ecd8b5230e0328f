"""A tenant with Kubernetes' role `edit` may write every ConfigMap of the namespace, and delete JobSets: the snapshot of a TrainJob's runtime
is in a ConfigMap, and what TrainJobs are built from is an administrator's to say."""

import copy
import json

import pytest
import yaml

from jobs import runtime, train_job
from progress import events, pods, resume, suspend, until_held, until_not_created, until_runs
from rest import ApiError, Rest, wait_for

FORGED = {"name": "forged", "image": "registry.example.com/forged:1"}


@pytest.fixture
def tenant(cluster, kubectl, namespace):
    """A client with the token of a service account of the namespace that has the role `edit` there."""
    kubectl("create", "serviceaccount", "tenant")
    kubectl("create", "rolebinding", "tenant", "--clusterrole=edit", f"--serviceaccount={namespace}:tenant")
    client = Rest(cluster.service_account_kubeconfig(namespace, "tenant", namespace), namespace)
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
        "namespace": namespace, "verb": "create", "group": "trainer.kubeflow.org", "resource": "trainjobs"}}}
    # Kubernetes aggregates the rules, and the authorizer watches them.
    wait_for("the role to be in force", lambda: client.request(
        "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)["status"]["allowed"])
    return client


def job_of(name, runtime_name, **spec):
    """Returns a TrainJob that leaves everything to its runtime."""
    job = train_job(name, runtime_name, seconds="never", **spec)
    del job["spec"]["trainer"]
    return job


def nodes_of(job_set):
    return job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"]


def snapshot(client, job):
    return client.get("configmaps", f"{job}-runtime-snapshot")


def runtime_in(config_map):
    return yaml.safe_load(config_map["data"]["runtime"])


def forge(client, job):
    """Makes the job's snapshot anew, as the client: with the same name and owner, seven nodes, another container, and the network of the
    nodes."""
    there = snapshot(client, job)
    forged = runtime_in(there)
    forged["spec"]["mlPolicy"]["numNodes"] = 7
    pod = forged["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["hostNetwork"] = True
    pod["containers"].append(copy.deepcopy(FORGED))
    client.delete("configmaps", there["metadata"]["name"])
    meta = {key: there["metadata"][key] for key in ("name", "namespace", "ownerReferences")}
    client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "immutable": True,
                   "data": {"runtime": json.dumps(forged)}})


def assert_genuine(rest, job):
    """Checks its JobSet, and all its Pods."""
    assert nodes_of(rest.get("jobsets", job)) == 1
    found = pods(rest, job)
    assert found
    for pod in found:
        assert not pod["spec"].get("hostNetwork"), "the Pod has the network of its node"
        assert [container["name"] for container in pod["spec"]["containers"]] == ["node"]


@pytest.mark.parametrize("deletes_job_set", [False, True])
def test_a_tenant_that_replaces_the_snapshot_of_a_suspended_job_resumes_it_as_it_began(signalbox, rest, tenant, deletes_job_set):
    rest.create(runtime("guarded"))
    tenant.create(job_of("mine", "guarded", suspend=True))
    until_held(rest, "mine")
    genuine = runtime_in(snapshot(rest, "mine"))["spec"]
    forge(tenant, "mine")
    if deletes_job_set:
        tenant.delete("jobsets", "mine")
    resume(tenant, "mine")
    until_runs(rest, "mine")
    assert_genuine(rest, "mine")
    # Beside its JobSet, which is resumed without a build, no snapshot is looked at.
    if deletes_job_set:
        assert runtime_in(snapshot(rest, "mine"))["spec"] == genuine


def test_after_a_change_of_the_runtime_a_job_with_its_job_set_goes_on_as_it_began(signalbox, rest, tenant):
    rest.create(runtime("moved-on"))
    tenant.create(job_of("mine", "moved-on", suspend=True))
    before = until_held(rest, "mine")["metadata"]["uid"]
    rest.patch("clustertrainingruntimes", "moved-on", {"spec": {"mlPolicy": {"numNodes": 3}}})
    forge(tenant, "mine")
    resume(tenant, "mine")
    until_runs(rest, "mine")
    assert rest.get("jobsets", "mine")["metadata"]["uid"] == before
    assert_genuine(rest, "mine")


def test_after_a_change_of_the_runtime_a_job_without_a_job_set_waits_and_says_how_it_goes_on(signalbox, rest, tenant, namespace):
    rest.create(runtime("moved"))
    tenant.create(job_of("mine", "moved", suspend=True))
    until_held(rest, "mine")
    rest.patch("clustertrainingruntimes", "moved", {"spec": {"mlPolicy": {"numNodes": 3}}})
    forge(tenant, "mine")
    tenant.delete("jobsets", "mine")
    resume(tenant, "mine")
    said = until_not_created(rest, "mine", "JobsBuildFailed")["message"]
    assert said == (
        f"spec.runtimeRef: ConfigMap {namespace}/mine-runtime-snapshot does not hold the runtime that this TrainJob began with, and "
        "ClusterTrainingRuntime \"moved\" has changed since; undo that, or delete the TrainJob and create it again")
    wait_for("the event", lambda: [each for each in events(rest, "mine", "JobsBuildFailed") if each["note"] == said])
    assert pods(rest, "mine") == []
    assert rest.get("jobsets", "mine") is None

    rest.patch("clustertrainingruntimes", "moved", {"spec": {"mlPolicy": {"numNodes": 1}}})
    until_runs(rest, "mine")
    assert_genuine(rest, "mine")


def test_a_running_job_does_not_notice_a_forged_snapshot(signalbox, rest, tenant):
    rest.create(runtime("undisturbed"))
    tenant.create(job_of("mine", "undisturbed"))
    until_runs(rest, "mine")
    wait_for("its status", lambda: rest.get("trainjobs", "mine")["status"].get("runtimeDigest"))
    before = rest.get("jobsets", "mine")["metadata"]
    forge(tenant, "mine")
    suspend(tenant, "mine")
    until_held(rest, "mine")
    resume(tenant, "mine")
    until_runs(rest, "mine")
    assert rest.get("jobsets", "mine")["metadata"]["uid"] == before["uid"]
    assert_genuine(rest, "mine")


def test_a_tenant_writes_no_digest(signalbox, rest, tenant):
    rest.create(runtime("digested"))
    forged = "sha256:" + 64 * "0"
    tenant.create({**job_of("mine", "digested", suspend=True), "status": {"runtimeDigest": forged}})
    until_held(rest, "mine")
    digest = rest.get("trainjobs", "mine")["status"]["runtimeDigest"]
    assert digest != forged
    status = {"status": {"runtimeDigest": forged}}
    with pytest.raises(ApiError, match='cannot patch resource "trainjobs/status"') as refusal:
        tenant.patch("trainjobs", "mine", status, subresource="status")
    assert refusal.value.code == 403
    tenant.patch("trainjobs", "mine", {"metadata": {"labels": {"a": "b"}}, **status})
    tenant.replace("trainjobs", {**tenant.get("trainjobs", "mine"), **status})
    assert rest.get("trainjobs", "mine")["status"]["runtimeDigest"] == digest
    with pytest.raises(ApiError, match='cannot patch resource "jobsets"'):
        tenant.patch("jobsets", "mine", {"metadata": {"annotations": {"trainer.kubeflow.org/applied-hash": "a.b.c.d." + forged}}})
