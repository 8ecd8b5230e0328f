"""The shipped runtimes in a namespace with Pod Security `restricted`, a quota of compute resources and a LimitRange: the API server is asked
whether it would take each Pod and Job of their TrainJobs. Runtimes whose Pods it refuses are listed here and in docs/writing-runtimes.md with
the reason; those of manifests/runtimes-restricted run."""

import contextlib
import re

import pytest
import yaml

from acceptance import SHIPPED, replicated_jobs
from jobs import train_job
from paths import ROOT
from progress import until
from rest import ApiError, Rest, wait_for

# The runtimes whose Pods have the user of their image, and why they keep that user in manifests/runtimes.
REFUSED = {
    "flux-distributed": "`ubuntu:22.04` starts as root, in `/`",
    "jax-distributed": "`nvcr.io/nvidia/jax` starts as root",
    "plain": "`python:3.13-slim` starts as root, in `/`",
    "torch-distributed": "`pytorch/pytorch` starts as root, in a folder of root's",
    **{name: "Kubeflow's images of torchtune and of its initializers start as root" for name in SHIPPED if name.startswith("torchtune-")},
    "xgboost-distributed": "Kubeflow's image starts as root, in a folder of root's",
}
# What Pod Security says of a Pod that sets nothing.
VIOLATIONS = {"allowPrivilegeEscalation != false", "unrestricted capabilities", "runAsNonRoot != true", "seccompProfile"}
# Of these runtimes all Pods lack the user alone.
WITHOUT_USER = {name for name in REFUSED if name.startswith("torchtune-")}
# The containers that take no resources of a TrainJob.
INITIALIZERS = {"dataset-initializer", "model-initializer"}

QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "compute"}, "spec": {"hard": {
    "requests.cpu": "40", "requests.memory": "100Gi", "limits.cpu": "40", "limits.memory": "100Gi"}}}
LIMITS = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"}, "spec": {"limits": [{
    "type": "Container", "min": {"cpu": "10m", "memory": "16Mi"}, "max": {"cpu": "8", "memory": "32Gi"},
    "defaultRequest": {"cpu": "100m", "memory": "128Mi"}, "default": {"cpu": "500m", "memory": "512Mi"}}]}}
PER_NODE = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}

each_runtime = pytest.mark.parametrize("name", SHIPPED)


@contextlib.contextmanager
def namespace_with(cluster, admin, *objects):
    """Yields a client for a namespace that enforces `restricted` and has these objects."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}
    name = admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "restricted-", "labels": labels}})["metadata"]["name"]
    rest = Rest(cluster.admin_kubeconfig(name))
    wait_for("the namespace's service account", lambda: rest.get("serviceaccounts", "default"))
    for each in objects:
        rest.create(each)
    wait_for("the quota to be counted", lambda: rest.get("resourcequotas", "compute").get("status", {}).get("used"))
    try:
        yield rest
    finally:
        admin.delete("namespaces", name)


def job_of(name, local=False):
    """Returns a suspended TrainJob, which gets a JobSet and no Pods."""
    nodes = 1 if "dataset-initializer" in replicated_jobs(name) else 2
    job = train_job(name.replace(".", "-") + ("-ns" if local else ""), name, "TrainingRuntime" if local else "ClusterTrainingRuntime",
                    nodes=nodes, suspend=True)
    if nodes == 1:
        job["spec"]["initializer"] = {"dataset": {"storageUri": "hf://team/questions"}, "model": {"storageUri": "hf://team/base"}}
    return job


def for_such_namespaces(cluster):
    """Returns the runtimes of manifests/runtimes-restricted, as runtimes of a namespace."""
    made = yaml.safe_load_all(cluster.kubectl("kustomize", ROOT / "manifests" / "runtimes-restricted"))
    return {each["metadata"]["name"]: {**each, "kind": "TrainingRuntime"} for each in made}


@pytest.fixture(scope="module")
def restricted(cluster, installed, admin):
    """A client for a namespace with the quota and the LimitRange, with a TrainJob of each shipped runtime, and one of each runtime for such
    namespaces."""
    with namespace_with(cluster, admin, QUOTA, LIMITS) as rest:
        local = for_such_namespaces(cluster)
        assert local.keys() == SHIPPED.keys()
        for name, runtime in local.items():
            rest.create(runtime)
            rest.create(job_of(name))
            rest.create(job_of(name, local=True))
        yield rest


def job_set_of(rest, job):
    name = job["metadata"]["name"]
    return wait_for(f"the JobSet of {name}", lambda: rest.get("jobsets", name))


def with_claims(template, job_set):
    """Adds the volumes that JobSet makes of the claims of its policies."""
    spec = template["spec"]["template"]["spec"]
    mounted = {mount["name"] for each in spec["containers"] + spec.get("initContainers", []) for mount in each.get("volumeMounts", [])}
    claims = [claim["metadata"]["name"] for policy in job_set["spec"].get("volumeClaimPolicies", []) for claim in policy["templates"]]
    spec.setdefault("volumes", []).extend({"name": name, "persistentVolumeClaim": {"claimName": f"{name}-claim"}}
                                          for name in claims if name in mounted)
    return template


def refusals(rest, job_set):
    """Returns {replicated job: why the API server would take no Pod of it}. It takes each of their Jobs, whose Pods it does not judge."""
    found = {}
    for job in job_set["spec"]["replicatedJobs"]:
        template = with_claims(job["template"], job_set)
        rest.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "tried-"}, "spec": template["spec"]}, dry_run=True)
        pod = template["spec"]["template"]
        try:
            made = rest.create({"apiVersion": "v1", "kind": "Pod", "metadata": {**pod.get("metadata", {}), "generateName": "tried-"},
                                "spec": pod["spec"]}, dry_run=True)
        except ApiError as error:
            assert error.code == 403, error
            found[job["name"]] = str(error)
        else:
            # The quota has been asked, too: it counts what each container has.
            assert all(each["resources"]["limits"]["memory"] for each in made["spec"]["containers"] + made["spec"].get("initContainers", []))
    return found


def violations(refusal):
    assert 'violates PodSecurity "restricted:' in refusal, refusal
    return {each for each in VIOLATIONS if each in refusal}


@each_runtime
def test_pods_of_a_shipped_runtime_obey_the_namespace_unless_it_is_listed(restricted, name):
    refused = refusals(restricted, job_set_of(restricted, job_of(name)))
    wanted = {job: {"runAsNonRoot != true"} if name in WITHOUT_USER else VIOLATIONS for job in replicated_jobs(name) if name in REFUSED}
    assert {job: violations(why) for job, why in refused.items()} == wanted


@each_runtime
def test_pods_of_the_runtimes_for_such_namespaces_obey_them(restricted, name):
    assert refusals(restricted, job_set_of(restricted, job_of(name, local=True))) == {}


def test_the_guide_lists_the_same_runtimes_with_the_same_reasons():
    rows = re.findall(r"(?m)^\| `([a-z0-9.-]+)` \| (.+) \|$", (ROOT / "docs" / "writing-runtimes.md").read_text())
    assert {name: why for name, why in rows if name in SHIPPED} == REFUSED


def test_jobs_run_in_such_a_namespace(restricted):
    """The Jobs make their Pods there, also those with what Signalbox adds: keys, host files, Flux and its installer."""
    names = [name for name in SHIPPED if "dataset-initializer" not in replicated_jobs(name)]
    for name in names:
        job_set_of(restricted, job_of(name, local=True))
        restricted.patch("trainjobs", f"{name}-ns", {"spec": {"suspend": False}})
    for name in names:
        until(restricted, f"{name}-ns", "Complete", timeout=60)


def test_a_quota_needs_a_limit_range_for_nothing_but_initializers(cluster, installed, admin):
    with namespace_with(cluster, admin, QUOTA) as rest:
        local = for_such_namespaces(cluster)
        jobs = {}
        for name, runtime in local.items():
            rest.create(runtime)
            jobs[name] = job_of(name, local=True)
            jobs[name]["spec"]["trainer"]["resourcesPerNode"] = PER_NODE
            rest.create(jobs[name])
        for name, job in jobs.items():
            refused = refusals(rest, job_set_of(rest, job))
            assert refused.keys() == INITIALIZERS & {*replicated_jobs(name)}, refused
            assert all("failed quota: compute: must specify" in why for why in refused.values()), refused
