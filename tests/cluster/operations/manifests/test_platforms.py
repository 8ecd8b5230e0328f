"""Every overlay and the chart, held against what platforms ask: Pod Security `restricted`, OpenShift's ranges of users, a cluster with IPv6
alone, and meshes."""

import copy
import json
import os
import pathlib
import re
import subprocess

import pytest
import yaml

from jobs import train_job
from releases import OVERLAYS
from rest import ApiError, wait_for
from schema_server import ROOT, by_name

NAMESPACE = "kubeflow-system"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
RULES = {
    "runAsUser": "!has(every.runAsUser) || every.runAsUser >= 1000900000 && every.runAsUser <= 1000909999",
    "runAsGroup, fsGroup": "!has(every.runAsGroup) && !has(object.spec.securityContext.fsGroup)",
    "seLinuxOptions": "!has(every.seLinuxOptions)",
}
MESH = {"labels": {"sidecar.istio.io/inject": "false", "istio.io/dataplane-mode": "none"}, "annotations": {"linkerd.io/inject": "disabled"}}


@pytest.fixture(scope="module")
def ranges(rest, installed):
    """A policy for Pods with the label, such as OpenShift's SCC restricted-v2 is for a namespace with this range of users."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    contexts = "[object.spec.?securityContext.orValue({})] + object.spec.containers.map(each, each.?securityContext.orValue({}))"
    rest.request("POST", POLICIES, {"metadata": {"name": "ranges"}, "spec": {
        "failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule], "objectSelector": {"matchLabels": {"judged": "true"}}},
        "validations": [{"expression": f"({contexts}).all(every, {rule})", "message": f"{name}: must be in the ranges"} for name, rule in RULES.items()]}})
    rest.request("POST", POLICIES.replace("policies", "policybindings"), {"metadata": {"name": "ranges"}, "spec": {
        "policyName": "ranges", "validationActions": ["Deny"]}})
    rest.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "signalbox-progress", "namespace": NAMESPACE}})
    probe = pod_of("probe", pods(by_name(installed))["signalbox-webhook"], judged="true")
    wait_for("the policy", lambda: "must be in the ranges" in refusal(rest, probe))
    yield
    for path in (POLICIES.replace("policies", "policybindings"), POLICIES):
        rest.request("DELETE", f"{path}/ranges")
    rest.delete("serviceaccounts", "signalbox-progress", NAMESPACE)


def pod_of(name, made, **labels):
    metadata = copy.deepcopy(made.get("metadata", {}))
    return {"apiVersion": "v1", "kind": "Pod", "spec": made["spec"], "metadata": {
        **metadata, "name": name, "namespace": NAMESPACE, "labels": {**metadata.get("labels", {}), **labels}}}


def refusal(rest, pod):
    """Returns why the API server refuses the Pod; empty if it takes it."""
    try:
        rest.create(pod, dry_run=True)
        return ""
    except ApiError as error:
        return str(error)


def pods(objects):
    return {name: obj["spec"]["template"] for (kind, name), obj in objects.items() if kind == "Deployment"}


def no_ipv4(objects):
    """Yields what would not work without IPv4."""
    for name, pod in pods(objects).items():
        for argument in pod["spec"]["containers"][0]["args"]:
            if re.search(r"\d+\.\d+\.\d+\.\d+", argument) or "listen=" in argument and not re.search(r"listen=(\[::\])?:\d+$", argument):
                yield f"{name}: {argument}"
    for (kind, name), obj in objects.items():
        if kind == "Service" and obj["spec"].keys() & {"ipFamilies", "ipFamilyPolicy", "clusterIP"}:
            yield f"Service {name} chooses a family"
        if kind == "NetworkPolicy" and "cidr" in json.dumps(obj):
            yield f"NetworkPolicy {name} has addresses"


def test_every_overlay_and_the_chart_suit_every_platform(rest, installed, ranges, overlay, template, and_progress):
    with_users, without = {}, {}
    for name in OVERLAYS:
        where = without if name == "openshift" else with_users
        where |= {f"overlay {name}": overlay(name), f"{name} with progress": and_progress(name)}
        where[f"chart {name}"] = template("--set", f"overlay={name}")
        without[f"chart {name} without users"] = template("--set", f"overlay={name},progress.enabled=true,fixedUser=false")
    with_users["namespaced"] = overlay("namespaced")
    assert len(with_users) + len(without) == 4 * len(OVERLAYS) + 1
    verdicts = {}

    def judged(pod):
        key = json.dumps(pod, sort_keys=True)
        if key not in verdicts:
            verdicts[key] = refusal(rest, pod)
        return verdicts[key]
    for name, objects in (with_users | without).items():
        assert len(pods(objects)) >= 2, name
        assert list(no_ipv4(objects)) == [], name
        for program, pod in pods(objects).items():
            for part, wanted in MESH.items():
                assert wanted.items() <= pod["metadata"][part].items(), (name, program)
            assert judged(pod_of(program, pod)) == "", (name, program, "restricted")
            refused = judged(pod_of(program, pod, judged="true"))
            assert refused == "" if name in without else "runAsUser: must be in the ranges" in refused, (name, program)
            assert pod["spec"]["securityContext"]["runAsNonRoot"] is True


def test_the_runtime_of_the_guide_keeps_the_pods_of_a_job_out_of_meshes(tmp_path):
    text, = re.findall(r"(?ms)^```yaml\n(.*?)^```$", (ROOT / "docs" / "meshes.md").read_text())
    (tmp_path / "all.yaml").write_text(text + "---\n" + json.dumps(train_job("job", "torch-without-mesh")))
    run = subprocess.run([pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob", "render", "-f", tmp_path / "all.yaml"],
                         capture_output=True, text=True, check=True)
    job_set, = [each for each in yaml.safe_load_all(run.stdout) if each and each["kind"] == "JobSet"]
    template = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"]
    for part, wanted in MESH.items():
        assert wanted.items() <= template[part].items()
