"""`kubectl trainjob render` prints the objects that a live reconciler applies: compares both for every shipped runtime and some odd
inputs.

A ConfigMap or a Secret is created once: the live one equals the printed one, except for metadata of the API server and the values of
Secrets, which are masked. A JobSet is applied: applying the printed one to the live one, as the same field manager, changes neither a
field nor an owner. So the printed JobSet has every field, and no other."""

import copy
import json
import os
import pathlib
import subprocess

import pytest
import yaml

from jobs import runtime, train_job
from paths import ROOT
from progress import has_begun
from rest import conditions, path_of, wait_for

PROGRAM = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"
SHIPPED = {path.stem: path for path in (ROOT / "manifests" / "runtimes").glob("*.yaml") if path.stem != "kustomization"}
ADDED_BY_THE_API_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
PLACEHOLDER = "00000000-0000-0000-0000-000000000000"
HASH = "trainer.kubeflow.org/applied-hash"


def render(*files, status=0):
    run = subprocess.run([PROGRAM, "render", "-o", "json", *(word for file in files for word in ("-f", file))],
                         capture_output=True, text=True, check=False)
    assert run.returncode == status, run.stderr
    return json.loads(run.stdout)["items"] if status == 0 else run.stderr


def written(path, *objects):
    path.write_text("\n---\n".join(json.dumps(each) for each in objects))
    return path


def named(objects):
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def owned(rest, job):
    """Returns the objects of a TrainJob. Items of lists have no kind."""
    kinds = {"configmaps": "ConfigMap", "secrets": "Secret", "jobsets": "JobSet"}
    return [{**obj, "apiVersion": "v1", "kind": kind} for plural, kind in kinds.items() for obj in rest.list(plural)
            if any(owner["uid"] == job["metadata"]["uid"] for owner in obj["metadata"].get("ownerReferences", []))]


def built(rest, name):
    wait_for(f"{name} to be built", lambda: has_begun(rest.get("trainjobs", name)))
    return rest.get("trainjobs", name)


def without_server_fields(obj):
    obj = copy.deepcopy(obj)
    for field in ADDED_BY_THE_API_SERVER:
        obj["metadata"].pop(field, None)
    if obj["kind"] == "Secret":
        obj["data"] = dict.fromkeys(obj["data"], "***")
        obj["metadata"].pop("annotations", None)  # a hash of the data
    return obj


def applied(rest, obj):
    """Returns the object as the API server would store it after the reconciler's apply. JobSet's webhook adds defaults to one list,
    and makes it immutable: of that list only the printed part is compared. It also writes quantities as strings."""
    obj, live = with_quantities_as_text(obj), rest.get("jobsets", obj["metadata"]["name"])
    if policies := obj["spec"].get("volumeClaimPolicies"):
        assert is_within(policies, live["spec"]["volumeClaimPolicies"])
        obj["spec"]["volumeClaimPolicies"] = live["spec"]["volumeClaimPolicies"]
    path = path_of("jobsets", obj["metadata"]["namespace"], obj["metadata"]["name"])
    return rest.request("PATCH", path + "?fieldManager=trainer&force=true&dryRun=All", obj, "application/apply-patch+yaml")


def with_quantities_as_text(tree, key=""):
    if isinstance(tree, dict):
        return {name: str(value) if key in ("limits", "requests") and isinstance(value, int) else with_quantities_as_text(value, name)
                for name, value in tree.items()}
    return [with_quantities_as_text(item) for item in tree] if isinstance(tree, list) else tree


def is_within(part, whole):
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and is_within(value, whole[key]) for key, value in part.items())
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(is_within, part, whole))
    return part == whole


def compare_with_live(rest, job, printed):
    live, printed = named(owned(rest, job)), named(printed)
    assert live.keys() == printed.keys()
    for name, obj in printed.items():
        if name[0] == "JobSet":
            # JobSet's controller may write the status in between.
            wait_for("applying it to change nothing", lambda: applied(rest, obj) == rest.get("jobsets", name[1]), timeout=10)
        else:
            there = without_server_fields(live[name])
            if "type" not in obj:
                assert there.pop("type", "Opaque") == "Opaque"  # a default
            assert there == obj


# Fields to add to the TrainJob of some runtimes.
SPECS = {
    "torch-distributed": {"runtimePatches": [{"manager": "example.com/team", "trainingRuntimeSpec": {"template": {"spec": {
        "replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {
            "nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}}}}}]}}}}]},
    "torchtune-llama3.2-1b": {"trainer": {"args": ["epochs=1"]}, "initializer": {
        "dataset": {"storageUri": "hf://team/questions"}, "model": {"storageUri": "hf://team/base"}}},
}


@pytest.mark.together
@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_rendered_of_a_shipped_runtime_is_what_the_reconciler_creates(signalbox, rest, tmp_path, name):
    fresh = train_job(f"job-{name.removesuffix('-distributed').replace('.', '-')}", name, nodes=1 if "torchtune" in name else 3,
                      namespace=rest.namespace, **{"suspend": True, "labels": {"team": "blue"}, **SPECS.get(name, {})})
    if name == "xgboost-distributed":
        fresh["spec"]["trainer"]["resourcesPerNode"] = {"limits": {"nvidia.com/gpu": 4}}
    rest.create(fresh)
    job = built(rest, fresh["metadata"]["name"])
    blueprint = rest.get("clustertrainingruntimes", name)

    # Input from kubectl get: the live objects, with UIDs and hashes.
    printed = render(written(tmp_path / "live.json", job, blueprint))
    compare_with_live(rest, job, printed)

    # Input from the files: the same, except for values that are not known yet.
    from_files = named(render(written(tmp_path / "job.json", fresh), SHIPPED[name]))
    assert from_files.keys() == named(printed).keys()
    for key, obj in named(printed).items():
        mine = from_files[key]
        assert mine["metadata"]["ownerReferences"][0].pop("uid") == PLACEHOLDER
        obj["metadata"]["ownerReferences"][0].pop("uid")
        for each in (mine, obj):
            each["metadata"].get("annotations", {}).pop(HASH, None)
        if key[1].endswith("-runtime-snapshot"):
            assert yaml.safe_load(mine.pop("data")["runtime"])["spec"] == yaml.safe_load(obj.pop("data")["runtime"])["spec"]
        assert mine == obj


ODD = {
    "a long name": lambda: (train_job("j" * 40, "odd", suspend=True), runtime("odd")),
    "a namespaced runtime": lambda: (train_job("spaced", "odd", kind="TrainingRuntime", suspend=True), runtime("odd", "TrainingRuntime")),
    "nothing but a name": lambda: ({**train_job("bare"), "spec": {"runtimeRef": {"name": "odd"}, "suspend": True}}, runtime("odd")),
    "a deadline": lambda: (train_job("dated", "odd", suspend=True, activeDeadlineSeconds=3600), runtime("odd")),
    "a gang of YuniKorn": lambda: (train_job("gang", "odd-gang", suspend=True, nodes=2), runtime("odd-gang", podGroupPolicy={"yunikorn": {
        "queue": "root.team", "placeholderTimeoutSeconds": 60, "gangSchedulingStyle": "Hard"}})),
    "a gang of Kubernetes' own scheduler": lambda: (train_job("native-gang", "odd-native", suspend=True, nodes=2), runtime(
        "odd-native", podGroupPolicy={"kubernetes": {"disruptionMode": "Single", "resourceClaims": [
            {"name": "shared", "resourceClaimTemplateName": "absent"}]}})),
    "elastic nodes": lambda: (train_job("elastic", "odd-elastic", suspend=True, nodes=2), runtime("odd-elastic", ml_policy={"torch": {
        "elasticPolicy": {"minNodes": 1, "maxNodes": 4, "maxRestarts": 2}}})),
    "one node without DNS": lambda: (train_job("alone", "odd-alone", suspend=True), runtime("odd-alone", ml_policy={"torch": {
        "singleNodeAddress": "Loopback", "numProcPerNode": 2}})),
    "an MPI launcher that is a node": lambda: (train_job("ranked", "odd-mpi", suspend=True, nodes=3), launcher_as_node()),
}


def launcher_as_node():
    made = yaml.safe_load(SHIPPED["deepspeed-distributed"].read_text())
    made["metadata"] = {"name": "odd-mpi"}
    made["spec"]["mlPolicy"]["mpi"]["numProcPerNode"] = 8
    return made


@pytest.mark.together
@pytest.mark.parametrize("case", ODD)
def test_what_is_rendered_of_odd_input_is_what_the_reconciler_creates(signalbox, rest, tmp_path, case):
    fresh, blueprint = ODD[case]()
    rest.create(blueprint)
    rest.create(fresh)
    job = built(rest, fresh["metadata"]["name"])
    printed = render(written(tmp_path / "live.json", job, rest.get(blueprint["kind"].lower() + "s", job["spec"]["runtimeRef"]["name"])))
    compare_with_live(rest, job, printed)


def test_a_missing_runtime_is_reported_with_the_message_of_the_condition(signalbox, rest, tmp_path):
    rest.create(runtime("gone"))
    fresh = train_job("orphan", "gone")
    with signalbox.without_reconciler():
        rest.create(fresh)
        rest.delete("clustertrainingruntimes", "gone")
        wait_for("the runtime to be deleted", lambda: rest.get("clustertrainingruntimes", "gone") is None)
    message = wait_for("the condition", lambda: conditions(rest.get("trainjobs", "orphan")).get("Created", {}).get("message"))
    assert message in render(written(tmp_path / "job.json", fresh), status=1)
