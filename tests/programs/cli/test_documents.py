"""The documents of `kubectl trainjob` for programs have the fields of docs/schemas/trainjob-documents.json, and the guide has a row for each."""

import copy
import json
import re
import time

import pytest
import yaml

import documents
from fake_team import CREATED, EVENTS, JOBS, PODS, Team, condition, ended, pod, running, train_job
from paths import ROOT
from test_cluster_commands import PROGRESS, out

GUIDE = (ROOT / "docs" / "kubectl-trainjob.md").read_text().split("## Documents for programs\n")[1].split("\n## ")[0]
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kubeflow-system/leases"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads"
QUOTA = 'Error creating: pods "night-node-0-0-x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=5, limited: pods=5'
FAILURE = {"attempt": 1, "time": CREATED, "pod": "night-node-0-1-x", "node": "n1", "replicatedJob": "node", "index": 1, "container": "node",
           "exitCode": 137, "signal": 9, "reason": "OOMKilled", "message": "killed at step 40", "failedPods": 2,
           "decision": "Restart", "rule": 0, "excludesNode": True}


def full_team():
    """A team whose TrainJob has each field of the documents but those of reads that fail."""
    progress = {**PROGRESS, "lastProgressTime": PROGRESS["lastUpdatedTime"], "metrics": [{"name": "loss", "value": "0.3"}]}
    job = running("night", progress=progress, labels={"kueue.x-k8s.io/queue-name": "gpus"},
                  activeDeadlineSeconds=10 ** 9, trainer={"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}})
    job["metadata"]["annotations"] = {"trainer.kubeflow.org/progress-deadline-seconds": "3600"}
    job["status"]["failures"] = [FAILURE]
    team = Team(job, ended("old"), train_job("unbuilt", condition("Created", "False", "JobsBuildFailed", "no such runtime")), train_job("new"))
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    team.objects[LEASES] = [{"metadata": {"name": "signalbox-progress"}, "spec": {"acquireTime": CREATED, "renewTime": now}}]
    team.objects[JOB_SETS] = [{"metadata": {"name": "night", "annotations": {"trainer.kubeflow.org/excluded-nodes": "n1"}}, "status": {"restarts": 2}}]
    team.objects[WORKLOADS] = [{"metadata": {"name": "w"}, "status": {"conditions": [condition("QuotaReserved", "False", message="too few GPUs")]}}]
    sick = pod("a", 0, state="waiting")
    sick["spec"]["nodeName"] = "n1"
    sick["status"]["containerStatuses"][0]["state"]["waiting"] = {"reason": "ImagePullBackOff"}
    team.objects[PODS] = [sick, pod("b", 1)]
    team.objects[EVENTS] = [{"metadata": {"name": "e", "creationTimestamp": "2026-01-15T10:30:00Z"}, "type": "Warning", "reason": "FailedCreate",
                             "message": QUOTA, "lastTimestamp": "2026-01-15T10:30:00Z",
                             "involvedObject": {"kind": "JobSet", "name": "night"}}]
    return team


def test_lists_have_the_fields_of_the_schema():
    with full_team() as team:
        listed = json.loads(out(team, "list", "-o", "json"))
        documents.require_valid(listed, "list")
        assert {row["state"] for row in listed["items"]} >= {"complete", "cannot be created", "not looked at yet"}
        assert yaml.safe_load(out(team, "list", "-o", "yaml")) == listed


def test_a_job_with_all_around_it_has_the_fields_of_the_schema():
    with full_team() as team:
        explained = json.loads(out(team, "explain", "night", "-o", "json"))
        documents.require_valid(explained, "explanation")
        assert explained["refused"] == [{"object": "Jobs of the JobSet", "by": "quota", "name": "few",
                                         "message": "requested: pods=1, used: pods=5, limited: pods=5"}]
        assert explained["failures"] == [FAILURE]
        assert yaml.safe_load(out(team, "explain", "night", "-o", "yaml")) == explained
        team.refusals = {("GET", path): (403, "no") for path in (PODS, EVENTS, WORKLOADS, f"{JOB_SETS}/night")}
        unread = json.loads(out(team, "explain", "night", "-o", "json"))
        documents.require_valid(unread, "explanation")
        assert unread["state"] == "has its JobSet" and unread["unread"].keys() == {"pods", "events", "workload", "jobSet"}
        for name in ("old", "unbuilt", "new"):
            documents.require_valid(json.loads(out(team, "explain", name, "-o", "json")), "explanation")
    seen = set(documents.fields(documents.SCHEMA["$defs"]["explanation"]))
    missing = {path for path in seen if not path.startswith("unread") and not has(explained, path)}
    unstarted = {path for path in seen if path.partition(".")[0] == "startDeadline"}
    assert unstarted and missing == {"ended", "expires", "nextAttempt", "graceEnds", "runtime.changes", "lease", "progressDeadline.remark", *unstarted}, (
        "of jobs that have ended, that have not reported, and of things that go wrong")


def has(document, path):
    first, _, rest = path.partition(".")
    value = document.get(first.removesuffix("[]"))
    value = value[0] if isinstance(value, list) and first.endswith("[]") else value
    return value is not None if not rest else isinstance(value, dict) and has(value, rest)


def test_the_guide_has_each_field_of_the_schema_and_no_other():
    said = {path for row in re.findall(r"(?m)^\| (`.*?) \| (.*?) \|", GUIDE) for path in paths_of(*row)}
    wanted = set()
    for kind in ("job", "explanation"):
        wanted.update(documents.fields(documents.SCHEMA["$defs"][kind]))
    # A field with others in it has rows for those.
    leaves = {path.replace("[]", "") for path in wanted if not any(other.startswith((f"{path}.", f"{path}[].")) for other in wanted)}
    assert {path.replace("[]", "") for path in said} == leaves


def paths_of(names, kind):
    """Returns the fields of a row: of `conditions[]` those that stand in its second column, and of `unread` those in the third."""
    for name in re.findall(r"`([^`]+)`", names):
        inner = re.findall(r"`([^`]+)`", kind)
        if inner:
            yield from (f"{name}.{each}" for each in inner)
        else:
            yield name


VALID = {"namespace": "team", "name": "night", "uid": "u", "state": "running", "created": "2026-01-15T10:00:00Z", "gpus": 0, "nodes": {"wanted": 1},
         "runtime": {"kind": "ClusterTrainingRuntime", "name": "torch"}}


@pytest.mark.parametrize("path, value, words", [
    (["state"], "Created", "is none of"), (["gpus"], "8", "is no integer"), (["gpus"], True, "is no integer"), (["gpus"], -1, "out of range"),
    (["created"], "yesterday", "is no time"), (["nodes", "idle"], 1, "the schema has no idle"), (["runtime"], {"kind": "x"}, "name is missing"),
])
def test_a_wrong_document_is_noticed(path, value, words):
    documents.require_valid(VALID, "job")
    wrong = copy.deepcopy(VALID)
    place = wrong if len(path) == 1 else wrong[path[0]]
    place[path[-1]] = value
    with pytest.raises(AssertionError, match=words):
        documents.require_valid(wrong, "job")
    with pytest.raises(AssertionError, match=words):
        documents.require_valid({"items": [wrong]}, "list")
