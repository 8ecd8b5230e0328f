"""GPUs behind claims, from the example driver of Kubernetes on both nodes: what the scheduler allocates is what a container sees. The GPUs are
variables of the environment, which containerd sets as the driver tells it to."""

import copy

import pytest

import devices
from node.cluster import NAMES
from node.example_driver import CLASS, ExampleDriver
from node.training import train_job
from rest import wait_for, wait_until_none

ON_A_NODE = 2
SECONDS = 120
# What it shows is there until somebody ends it.
SHOW = ["sh", "-c", "env | grep -E '^(GPU_DEVICE_[0-9]+|PET_NPROC_PER_NODE)='; echo shown; until [ -e /tmp/end ]; do sleep 0.1; done"]


def requests(count):
    return {"devices": {"requests": [{"name": "gpus", "exactly": {"deviceClassName": CLASS, "count": count}}]}}


def claims(admin, kind, plural, name, spec):
    admin.request("POST", f"{devices.API}/namespaces/default/{plural}", {
        "apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})


@pytest.fixture(scope="module", autouse=True)
def gpus(cluster, runtimes, admin, tmp_path_factory):
    with ExampleDriver(cluster, tmp_path_factory.mktemp("helm"), ON_A_NODE):
        wait_for("the GPUs of both nodes", lambda: {
            each["spec"]["nodeName"] for each in admin.request("GET", f"{devices.API}/resourceslices")["items"]} == set(NAMES))
        for count in (1, ON_A_NODE):
            claims(admin, "ResourceClaimTemplate", "resourceclaimtemplates", f"gpus-{count}", {"spec": requests(count)})
        yield


def claiming(name, runtime, command, nodes, source, jobs=("node",)):
    """A job whose Pods have a claim from this source."""
    return train_job(name, runtime, command, nodes, {"resourcesPerNode": {"claims": [{"name": "gpus"}]}}, runtimePatches=[{
        "manager": "example.com/devices", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
            {"name": job, "template": {"spec": {"template": {"spec": {"resourceClaims": [{"name": "gpus", **source}]}}}}} for job in jobs]}}}}])


@pytest.fixture
def create(admin):
    """Creates a job. Whatever has happened, its GPUs are free after the test."""
    created = []

    def create_one(job):
        created.append(job["metadata"]["name"])
        admin.create(job)
    yield create_one
    for name in created:
        admin.delete("trainjobs", name)
    until_free(admin)


@pytest.fixture
def shown(cluster, pods_of):
    """Waits until the Pods of a job have shown what they see. Returns these, and the lines of each."""
    def wait(name, number):
        def all_have():
            pods = pods_of(name)
            outputs = [cluster.kubectl("logs", pod["metadata"]["name"], check=False).splitlines() for pod in pods if pod["status"]["phase"] == "Running"]
            return (pods, outputs) if len(outputs) == number and all("shown" in lines for lines in outputs) else None
        pods, outputs = wait_for(f"the output of {number} Pods of {name}", all_have, SECONDS)
        return pods, [set(lines) - {"shown"} for lines in outputs]
    return wait


@pytest.fixture
def end(cluster, ended):
    """Ends the programs of these Pods, and waits for the end of the job."""
    def end_of(name, pods):
        for pod in pods:
            cluster.kubectl("exec", pod["metadata"]["name"], "--", "touch", "/tmp/end")
        assert ended(name) == "Complete"
    return end_of


def allocation(admin, claim):
    """Returns the nodes of a claim's GPUs, and the variables that a container with it has."""
    results = admin.request("GET", f"{devices.API}/namespaces/default/resourceclaims/{claim}")["status"]["allocation"]["devices"]["results"]
    return {each["pool"] for each in results}, {f"GPU_DEVICE_{each['device'].removeprefix('gpu-')}={each['device']}" for each in results}


def until_free(admin):
    wait_until_none("an allocated GPU", lambda: devices.allocated(admin), SECONDS)


def test_each_pod_sees_the_gpus_of_its_own_claim_until_the_job_ends(create, admin, shown, end):
    create(claiming("claiming", "torch-distributed", SHOW, 2, {"resourceClaimTemplateName": f"gpus-{ON_A_NODE}"}))
    pods, seen = shown("claiming", 2)
    for pod, variables in zip(pods, seen):
        [own] = pod["status"]["resourceClaimStatuses"]
        nodes, of_claim = allocation(admin, own["resourceClaimName"])
        assert nodes == {pod["spec"]["nodeName"]} and len(of_claim) == ON_A_NODE
        assert variables == {*of_claim, "PET_NPROC_PER_NODE=auto"}
    assert {pod["spec"]["nodeName"] for pod in pods} == set(NAMES)
    end("claiming", pods)
    until_free(admin)


def test_mpirun_starts_a_rank_for_each_gpu_behind_the_claims(create, admin, ended, plugin):
    create(claiming("ranks", "deepspeed-distributed", ["mpirun", "python3", "/workspace/mpi_sum.py"], 2,
                    {"resourceClaimTemplateName": f"gpus-{ON_A_NODE}"}, ("launcher", "node")))
    assert ended("ranks") == "Complete"
    logs = plugin("logs", "ranks")
    assert [f"rank {rank} of {2 * ON_A_NODE}" in logs for rank in range(2 * ON_A_NODE)] == [True] * 2 * ON_A_NODE, logs
    until_free(admin)


def test_a_claim_that_a_job_names_outlives_it_without_its_gpu(create, admin, shown, end):
    claims(admin, "ResourceClaim", "resourceclaims", "ours", requests(1))
    create(claiming("naming", "plain", SHOW, 1, {"resourceClaimName": "ours"}))
    pods, [variables] = shown("naming", 1)
    nodes, of_claim = allocation(admin, "ours")
    assert nodes == {pods[0]["spec"]["nodeName"]} and len(of_claim) == 1 and variables == of_claim
    end("naming", pods)
    until_free(admin)
    assert not admin.request("GET", f"{devices.API}/namespaces/default/resourceclaims/ours")["status"].get("reservedFor")


def test_the_pods_of_a_gang_see_the_gpu_that_they_share(create, admin, shown, end, request):
    runtime = copy.deepcopy(admin.get("clustertrainingruntimes", "plain"))
    runtime["metadata"] = {"name": "sharing"}
    runtime["spec"]["podGroupPolicy"] = {"kubernetes": {"resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "gpus-1"}]}}
    admin.create(runtime)
    request.addfinalizer(lambda: admin.delete("clustertrainingruntimes", "sharing"))  # guides show all of them
    create(train_job("shared", "sharing", SHOW, 2))
    pods, seen = shown("shared", 2)
    [claim] = {each["resourceClaimName"] for pod in pods for each in pod["status"]["resourceClaimStatuses"]}
    nodes, of_claim = allocation(admin, claim)
    assert [{pod["spec"]["nodeName"]} for pod in pods] == [nodes, nodes] and seen == [of_claim, of_claim]
    end("shared", pods)
    until_free(admin)
