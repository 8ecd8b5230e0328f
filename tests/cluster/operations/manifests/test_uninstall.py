"""Installing, upgrading and uninstalling, by Helm and by kubectl: users' objects stay."""

import json
import re
import subprocess

import pytest

from releases import VERSION
from rest import ApiError, Rest, wait_for
from schema_server import ROOT, follow, is_served

OVERLAY = ROOT / "manifests" / "overlays" / "self-signed"
FOUNDATION = "app.kubernetes.io/component=foundation"


@pytest.fixture
def client(empty_plane):
    return Rest(empty_plane.kubeconfig)


def make_user_objects(plane, client):
    """Creates a runtime and a TrainJob. There is no webhook here, so the configurations let them through for this once."""
    for kind, name in (("validating", "validator"), ("mutating", "defaulter")):
        plane.kubectl("patch", f"{kind}webhookconfiguration", f"{name}.trainer.kubeflow.org", "--type=json", "-p",
                      json.dumps([{"op": "remove", "path": "/webhooks"}]))
    plane.kubectl("apply", "--server-side", "-k", ROOT / "manifests" / "runtimes")
    client.create({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
                   "metadata": {"name": "mine", "namespace": "default"},
                   "spec": {"runtimeRef": {"name": "torch-distributed"}}})


def user_objects(client):
    return {(plural, each["metadata"]["name"]): each["metadata"]["uid"]
            for plural in ("trainjobs", "clustertrainingruntimes") for each in client.list(plural)}


def kinds_of_ours(plane):
    """Returns the remaining objects of Signalbox, by kind."""
    kinds = ("customresourcedefinitions,namespaces,clusterroles,clusterrolebindings,validatingwebhookconfigurations,"
             "mutatingwebhookconfigurations,serviceaccounts,roles,rolebindings,deployments,services,configmaps,"
             "networkpolicies,poddisruptionbudgets,resourcequotas,validatingadmissionpolicies,validatingadmissionpolicybindings")
    found = json.loads(plane.kubectl("get", kinds, "-A", "-l", "app.kubernetes.io/part-of=signalbox", "-o", "json"))
    return {each["kind"] for each in found["items"]}


def test_helm_installs_upgrades_and_leaves_users_objects_alone(empty_plane, client, run_helm, chart, release):
    assert "rollout status deployment/signalbox-webhook" in run_helm("install", "signalbox", str(chart))
    assert {"Deployment", "CustomResourceDefinition", "NetworkPolicy"} <= kinds_of_ours(empty_plane)
    wait_for("our kinds", lambda: is_served(client, "trainjobs"))
    make_user_objects(empty_plane, client)
    before = user_objects(client)
    assert len(before) > 5

    run_helm("upgrade", "signalbox", str(chart), "--set", "overlay=kubeflow", "--force-conflicts")
    container = client.request("GET", "/apis/apps/v1/namespaces/kubeflow-system/deployments/signalbox-reconciler")
    assert "--created-condition=on-failure" in container["spec"]["template"]["spec"]["containers"][0]["args"]
    assert user_objects(client) == before

    run_helm("uninstall", "signalbox")
    assert kinds_of_ours(empty_plane) == {"CustomResourceDefinition", "Namespace"}
    assert user_objects(client) == before

    # Another installation adopts the remaining objects.
    run_helm("install", "signalbox", str(chart), "--take-ownership", "--force-conflicts")
    assert "Deployment" in kinds_of_ours(empty_plane) and user_objects(client) == before


def test_helm_creates_the_runtimes_that_are_not_there_and_adds_job_set(empty_plane, client, run_helm, chart):
    run_helm("install", "signalbox", str(chart), "--set", "jobset.install=true")
    wait_for("our kinds", lambda: is_served(client, "clustertrainingruntimes"))
    assert client.request("GET", "/apis/apps/v1/namespaces/jobset-system/deployments/jobset-controller-manager")
    make_user_objects(empty_plane, client)
    client.delete("clustertrainingruntimes", "plain")
    would = run_helm("upgrade", "signalbox", str(chart), "--dry-run=server", "--hide-notes", "--force-conflicts", "--set", "jobset.install=true,runtimes=shipped")
    assert re.findall(r"(?m)^kind: ClusterTrainingRuntime\n(?:.+\n)*?  name: (\S+)$", would) == ["plain"]
    run_helm("uninstall", "signalbox")
    assert client.request("GET", "/api/v1/namespaces/jobset-system") and user_objects(client)


def test_kubectl_installs_upgrades_and_leaves_users_objects_alone(empty_plane, client, release):
    def apply():
        return empty_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", release / "install.yaml")
    apply()
    wait_for("our kinds", lambda: is_served(client, "trainjobs"))
    make_user_objects(empty_plane, client)
    before = user_objects(client)

    empty_plane.kubectl("delete", "-k", OVERLAY, "-l", FOUNDATION.replace("=", "!="))
    assert kinds_of_ours(empty_plane) == {"CustomResourceDefinition", "Namespace"}
    assert user_objects(client) == before

    apply()
    assert "Deployment" in kinds_of_ours(empty_plane) and user_objects(client) == before
    again = subprocess.run([empty_plane.kubectl_path, "--kubeconfig", empty_plane.kubeconfig, "diff", "--server-side",
                            "--force-conflicts", "-f", release / "install.yaml"], capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout) == (0, ""), again.stderr
    assert VERSION in (release / "install.yaml").read_text()


def test_the_guide_removes_all_of_ours_and_nothing_of_others(empty_plane, client):
    """Runs the last commands of docs/install.md. JobSet may be in the same namespace, as in Kubeflow Trainer's manifests."""
    leave, rest = (re.sub(r" +#.*", "", block).splitlines() for block in re.findall(
        r"(?ms)^```\n(.*?)^```$", (ROOT / "docs" / "install.md").read_text().split("\n## Removing\n")[1]))
    empty_plane.kubectl("apply", "--server-side", "-k", OVERLAY)
    labels = {"control-plane": "controller-manager"}
    others = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "jobset-controller-manager", "namespace": "kubeflow-system"},
              "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                  "containers": [{"name": "manager", "image": "registry.example.com/jobset:1"}]}}}}
    foreign = client.request("POST", "/apis/apps/v1/namespaces/kubeflow-system/deployments", others)["metadata"]["uid"]
    # Objects that the programs create.
    client.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "signalbox-webhook-cert", "namespace": "kubeflow-system"}})
    client.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                   "metadata": {"name": "trainer.kubeflow.org", "namespace": "kubeflow-system"}})
    for command in (leave[0], *rest):
        said = follow(empty_plane, command)
    assert len(said.split("\n\n")) == 1 and "jobset-controller-manager" in said, "more than JobSet is left"
    assert kinds_of_ours(empty_plane) == {"Namespace"}
    path = "/apis/apps/v1/namespaces/kubeflow-system/deployments/jobset-controller-manager"
    assert client.request("GET", path)["metadata"]["uid"] == foreign
    assert [client.get(kind, name, "kubeflow-system") for kind, name in (
        ("secrets", "signalbox-webhook-cert"), ("leases", "trainer.kubeflow.org"))] == [None, None]


SPECIMENS = ["trainjobs", "trainingruntimes", "clustertrainingruntimes"]
PARTS = {"programs": "deployments,services,serviceaccounts", "kinds": "crd", "namespace": "namespace",
         "roles": "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings",
         "webhooks": "validatingwebhookconfigurations,mutatingwebhookconfigurations"}


@pytest.mark.long  # the garbage collector learns of a new kind within half a minute
@pytest.mark.parametrize("order", [("objects", "programs", "webhooks", "kinds", "roles", "namespace"),
                                   ("namespace", "objects", "roles", "kinds", "programs", "webhooks"),
                                   ("kinds", "objects", "namespace", "roles", "programs", "webhooks")], ids=lambda order: order[0])
def test_removing_all_ends_in_any_order_although_no_webhook_answers(cluster, order):
    """As GitOps does: nothing waits for what goes before it. The Service has no Pods all the time."""
    client, ours = Rest(cluster.kubeconfig), ("-l", "app.kubernetes.io/part-of=signalbox", "--wait=false", "--ignore-not-found")
    cluster.kubectl("apply", "--server-side", "-k", OVERLAY)
    for plural in SPECIMENS:
        wait_for(f"{plural} to be served", lambda: is_served(client, plural))
    make_user_objects(cluster, client)
    runtime = client.list("clustertrainingruntimes")[0]
    client.create({"apiVersion": runtime["apiVersion"], "kind": "TrainingRuntime", "spec": runtime["spec"],
                   "metadata": {"name": "mine", "namespace": "default", "finalizers": ["example.com/hold"]}})
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", OVERLAY)

    def is_reviewed():
        try:
            client.patch("trainjobs", "mine", {"metadata": {"labels": {"a": "b"}}}, "default")
        except ApiError as error:
            return "failed calling webhook" in str(error)
        return False
    wait_for("the API server to call the webhook", is_reviewed)
    for part in order:
        if part == "objects":
            for plural in SPECIMENS:
                for each in client.list(plural):
                    client.delete(plural, each["metadata"]["name"], each["metadata"].get("namespace"), propagation="Foreground")
            client.patch("trainingruntimes", "mine", {"metadata": {"finalizers": None}}, "default")
        else:
            cluster.kubectl("delete", PARTS[part], *(["-n", "kubeflow-system"] if part == "programs" else []), *ours)
    wait_for("all to go", lambda: not kinds_of_ours(cluster), timeout=60)
