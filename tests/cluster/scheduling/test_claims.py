"""Claimed devices on the real control plane: its scheduler allocates invented devices to the Pods of TrainJobs."""

import copy

import pytest

import devices
from devices import claim
from jobs import runtime, train_job
from progress import pods, resume, running_pods, suspend, until_held
from rest import wait_for


def create_templates(rest):
    """Makes a template of claims in the test's namespace for each model."""
    for model in ("a100", "h100"):
        devices.create_template(rest, model)


def pod_spec(obj):
    return obj["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]


def claiming_runtime(name, model):
    made = runtime(name)
    claim(pod_spec(made), model)
    return made


def patch_with(model):
    spec = {}
    claim(spec, model)
    job = {"name": "node", "template": {"spec": {"template": {"spec": spec}}}}
    return {"manager": "example.com/devices", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}


def models_of(rest):
    """Returns the models of the allocated devices of all claims of the namespace."""
    return [device.split("-")[0] for device in devices.allocated(rest)]


def runs_on(rest, name, model, count):
    wait_for(f"{count} Pods of {name} on {model}",
             lambda: len(running_pods(rest, name)) == count and models_of(rest) == [model] * count, timeout=60)


@pytest.mark.together
def test_a_suspended_job_swaps_its_claims_and_runs_on_the_other_devices(signalbox, rest, models):
    create_templates(rest)
    rest.create(runtime("swapping"))
    job = train_job("swapping", "swapping", nodes=2, seconds="never")
    job["spec"]["runtimePatches"].append(patch_with("a100"))
    rest.create(job)
    runs_on(rest, "swapping", "a100", 2)

    labels = job["spec"]["runtimePatches"][0]
    with pytest.raises(Exception, match="spec.runtimePatches"):
        rest.patch("trainjobs", "swapping", {"spec": {"runtimePatches": [labels, patch_with("h100")]}})
    suspend(rest, "swapping")
    until_held(rest, "swapping")
    wait_for("the Pods to go", lambda: not pods(rest, "swapping"))
    rest.patch("trainjobs", "swapping", {"spec": {"runtimePatches": [labels, patch_with("h100")]}})
    resume(rest, "swapping")
    runs_on(rest, "swapping", "h100", 2)
    for pod in running_pods(rest, "swapping"):
        assert [each["name"] for each in pod["spec"]["resourceClaims"]] == ["h100"]
        assert pod["spec"]["containers"][0]["resources"]["claims"] == [{"name": "h100"}]


@pytest.mark.together
def test_a_job_keeps_the_claims_of_the_runtime_that_it_began_with(signalbox, rest, models):
    create_templates(rest)
    first = rest.create(claiming_runtime("replaced-claims", "a100"))
    rest.create(train_job("keeping", "replaced-claims", seconds="never"))
    runs_on(rest, "keeping", "a100", 1)
    suspend(rest, "keeping")
    until_held(rest, "keeping")
    claim(pod_spec(first), "h100")
    rest.replace("clustertrainingruntimes", first)
    resume(rest, "keeping")
    runs_on(rest, "keeping", "a100", 1)
    rest.delete("trainjobs", "keeping")
    wait_for("its devices to be free", lambda: not models_of(rest))

    rest.create(train_job("beginning", "replaced-claims", seconds="never"))
    runs_on(rest, "beginning", "h100", 1)


@pytest.mark.together
def test_gpus_behind_claims_are_counted(signalbox, rest):
    accelerators, classes = f"accelerators-{rest.namespace}", f"{devices.API}/deviceclasses"
    rest.request("POST", classes, {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": accelerators},
                                   "spec": {"extendedResourceName": "example.com/gpu"}})
    rest.request("POST", f"/apis/resource.k8s.io/v1/namespaces/{rest.namespace}/resourceclaimtemplates", {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "four"},
        "spec": {"spec": {"devices": {"requests": [
            {"name": "gpus", "exactly": {"deviceClassName": accelerators, "count": 4}}]}}}})
    claiming = runtime("claiming", ml_policy={"numNodes": 2, "xgboost": {}})
    pod = claiming["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "four"}]
    pod["containers"][0]["resources"] = {"claims": [{"name": "gpus"}]}
    rest.create(claiming)
    unknown = runtime("unknown", ml_policy={"numNodes": 2, "xgboost": {}})
    unknown["spec"]["template"]["spec"] = {"replicatedJobs": [
        {**claiming["spec"]["template"]["spec"]["replicatedJobs"][0], "template": changed_claim(claiming)}]}
    rest.create(unknown)
    for name in ("claiming", "unknown"):
        rest.create(train_job(name, name, nodes=2, suspend=True))
        wait_for("the JobSet", lambda: rest.get("jobsets", name))
    assert workers(rest, "claiming") == "8"
    assert workers(rest, "unknown") == "2"
    wait_for("the event", lambda: [event for event in rest.list("events") if event["reason"] == "GPUCountUnknown"
                                   and event["regarding"]["name"] == "unknown" and "absent" in event["note"]])
    rest.request("DELETE", f"{classes}/{accelerators}")


def changed_claim(claiming):
    template = copy.deepcopy(claiming["spec"]["template"]["spec"]["replicatedJobs"][0]["template"])
    template["spec"]["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = "absent"
    return template


def workers(rest, name):
    pod = rest.get("jobsets", name)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return next(v["value"] for v in pod["containers"][0]["env"] if v["name"] == "DMLC_NUM_WORKER")
