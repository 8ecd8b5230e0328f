"""An installation for some namespaces: its roles are only there, and all its parts have the same list of namespaces."""

import json
import shutil
import subprocess

import pytest
import yaml

from schema_server import ROOT, build, by_name
from deployment import write_overlay

MANIFESTS = ROOT / "manifests"
CLUSTER_SCOPED = {"clustertrainingruntimes", "runtimeclasses", "deviceclasses", "priorityclasses", "tokenreviews"}


def roles(*parts):
    """Returns {name: {(verb, group, resource)}} of the roles in that file."""
    found = {}
    for role in yaml.safe_load_all(MANIFESTS.joinpath(*parts).read_text()):
        if role["kind"] in ("ClusterRole", "Role") and role["metadata"]["name"] != "kubeflow-trainer-public":
            found.setdefault((role["kind"], role["metadata"]["name"]), set()).update(
                (verb, group, resource) for rule in role["rules"] for verb in rule["verbs"]
                for group in rule["apiGroups"] for resource in rule["resources"])
    return found


@pytest.mark.parametrize("program, everywhere, left, here", [
    ("reconciler", "base/rbac/reconciler.yaml", "rbac.yaml", "namespaced/roles/rbac.yaml"),
    ("webhook", "base/rbac/webhook.yaml", "rbac.yaml", "namespaced/roles/rbac.yaml"),
    ("progress", "components/progress/rbac.yaml", "progress.yaml", "progress/roles/rbac.yaml")])
def test_a_namespace_s_role_and_the_reduced_cluster_role_together_equal_the_cluster_role(program, everywhere, left, here):
    name = f"signalbox-{program}"
    everywhere = roles(everywhere)["ClusterRole", name]
    left = roles("components", "namespaced", left)["ClusterRole", name]
    here = roles("components", here)["Role", name]
    # Cluster-scoped runtimes belong to all namespaces.
    taken_away = {("patch", "trainer.kubeflow.org", "clustertrainingruntimes")} if program == "reconciler" else set()
    assert left | here == everywhere - taken_away
    assert not left & here
    assert {resource for _, _, resource in left} == {each for _, _, each in everywhere if each in CLUSTER_SCOPED}
    assert {verb for verb, _, resource in left if resource != "tokenreviews"} <= {"get", "list", "watch"}


def named(objects):
    """Returns all places where an overlay names namespaces."""
    deployments = [obj["spec"]["template"]["spec"]["containers"][0]["args"] for (kind, _), obj in objects.items()
                   if kind == "Deployment"]
    selectors = [webhook["namespaceSelector"] for (kind, _), obj in objects.items() if "Webhook" in kind
                 for webhook in obj["webhooks"] if "namespaceSelector" in webhook]
    bound = [[obj["metadata"]["namespace"] for (kind, name), obj in objects.items()
              if kind == wanted and name.endswith(f"/signalbox-{program}")]
             for wanted in ("Role", "RoleBinding") for program in ("reconciler", "webhook")]
    assert len(deployments) == 2 and len(selectors) == 4
    return [*([arg.partition("=")[2] for arg in args if arg.startswith("--namespaces=")] for args in deployments),
            *([*selector["matchExpressions"][0]["values"]] for selector in selectors), *bound]


def test_all_parts_of_the_overlay_name_the_same_namespaces(plane):
    objects = by_name(build(plane, MANIFESTS / "overlays" / "namespaced"))
    assert named(objects) == [["team-a", "team-b"]] * 10
    for (kind, _), obj in objects.items():
        for webhook in obj["webhooks"] if "Webhook" in kind else []:
            expected = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-a", "team-b"]}]}
            is_ours = "clustertrainingruntime" not in webhook["name"]
            assert webhook.get("namespaceSelector") == (expected if is_ours else None)


def test_the_overlay_is_the_self_signed_one_but_for_what_limits_it(plane):
    limited = by_name(build(plane, MANIFESTS / "overlays" / "namespaced"))
    everywhere = by_name(build(plane, MANIFESTS / "overlays" / "self-signed"))
    assert {key for key in everywhere if limited[key] != everywhere[key]} == {
        ("ClusterRole", "signalbox-reconciler"), ("ClusterRole", "signalbox-webhook"),
        ("Deployment", "signalbox-reconciler"), ("Deployment", "signalbox-webhook"),
        ("MutatingWebhookConfiguration", "defaulter.trainer.kubeflow.org"),
        ("ValidatingWebhookConfiguration", "validator.trainer.kubeflow.org")}
    assert {kind for kind, _ in limited.keys() - everywhere.keys()} == {"Role", "RoleBinding"}


def test_a_namespace_is_added_as_the_guide_says(plane, tmp_path):
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    guide = (ROOT / "docs" / "install.md").read_text().partition("cd manifests/overlays/namespaced\n")[2]
    commands = guide.partition("kubectl apply")[0]
    subprocess.run(["bash", "-eu"], input=commands, text=True, check=True, cwd=tmp_path / "manifests" / "overlays" / "namespaced")
    objects = by_name(build(plane, tmp_path / "manifests" / "overlays" / "namespaced"))
    assert named(objects) == [["team-a", "team-b", "team-c"]] * 10


def test_without_a_namespace_the_component_is_rejected_instead_of_selecting_all(plane, installed, tmp_path):
    objects = build(plane, write_overlay(tmp_path, ["namespaced"], base="base"))
    run = subprocess.run([plane.kubectl_path, "--kubeconfig", plane.kubeconfig, "apply", "--server-side", "--dry-run=server",
                          "-f", "-"], capture_output=True, text=True, input=json.dumps({
                              "apiVersion": "v1", "kind": "List", "items": [obj for obj in objects if "Webhook" in obj["kind"]]}))
    assert run.returncode != 0 and "namespaceSelector.matchExpressions[0].values: Required value" in run.stderr
