"""Runs the commands of docs/migration.md over an installation like Kubeflow Trainer's: objects with its names and the members that matter,
installed in each supported way. Afterwards objects with Signalbox's names are Signalbox's, Kubeflow Trainer's other objects are gone,
and users' objects and JobSet are unchanged."""

import json
import re

import pytest
import yaml

from schema_server import ROOT, Rest, build, follow, is_served, wait_for
from test_crd_upgrades import KINDS, ours, the_originals

GUIDE = (ROOT / "docs" / "migration.md").read_text().split("## Moving over\n")[1].split("\n## ")[0]
MANAGER, CONFIG, CERTIFICATE, PUBLIC = ("kubeflow-trainer-controller-manager", "kubeflow-trainer-config", "kubeflow-trainer-webhook-cert",
                                        "kubeflow-trainer-public")
JOBSET, INSTALLER = "jobset-controller-manager", "kubeflow-trainer-runtimes-installer"
LABELS = {"app.kubernetes.io/name": "trainer", "app.kubernetes.io/part-of": "kubeflow", "app.kubernetes.io/component": "manager"}
CONFIGURATIONS = {"mutatingwebhookconfigurations": "defaulter.trainer.kubeflow.org",
                  "validatingwebhookconfigurations": "validator.trainer.kubeflow.org"}
PARTS = ("webhooks", "data", "rules", "subjects", "roleRef", "spec")


def commands():
    """Returns the guide's commands, in its order."""
    return [line.strip() for block in re.findall(r"(?ms)^ *```\n(.*?)^ *```$", GUIDE) for line in block.splitlines()]


def webhook(name, kind, verb, namespace):
    return {"name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore",  # a value of its chart; used here because there is no webhook
            "clientConfig": {"service": {"name": MANAGER, "namespace": namespace,
                                         "path": f"/{verb}-trainer-kubeflow-org-v1alpha1-{kind}"}},
            "rules": [{"apiGroups": ["trainer.kubeflow.org"], "apiVersions": ["v1alpha1"], "resources": [f"{kind}s"],
                       "operations": ["CREATE", "UPDATE"]}]}


def deployment(name):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": LABELS}, "spec": {
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "manager", "image": "registry.example.com/manager:1"}]}}}}


def role(name, cluster=""):
    return [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{cluster}Role", "metadata": {"name": name}, "rules": [
                {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [PUBLIC], "verbs": ["get", "list", "watch"]}]},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{cluster}RoleBinding", "metadata": {"name": name},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": f"{cluster}Role", "name": name},
             "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}]}]


def roles_of_the_platform():
    """Returns the roles for users of Kubeflow Trainer's overlay kubeflow-platform, each with one of its rules."""
    def aggregated(name):
        return {f"rbac.authorization.kubeflow.org/aggregate-to-kubeflow-{name}": "true"}

    def of_users(name, labels, resource="trainjobs", **rest):
        rules = [{"apiGroups": ["trainer.kubeflow.org"], "resources": [resource], "verbs": ["get", "list", "watch"]}]
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": f"kubeflow-trainer-{name}", "labels": labels}, "rules": rules, **rest}
    everywhere = of_users("view-cluster-runtimes", {}, "clustertrainingruntimes")
    return [of_users("view", {**aggregated("view"), **aggregated("trainer-view")}),
            of_users("edit", {**aggregated("edit"), **aggregated("trainer-admin")}),
            of_users("admin", aggregated("admin"), rules=[],
                     aggregationRule={"clusterRoleSelectors": [{"matchLabels": aggregated("trainer-admin")}]}),
            everywhere,
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": everywhere["metadata"]["name"]},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": everywhere["metadata"]["name"]},
             "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}]}]


def objects_of_the_original(namespace, by_helm):
    def plain(kind, name, **rest):
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": LABELS}, **rest}
    objects = [
        deployment(MANAGER), deployment(JOBSET),
        plain("Service", MANAGER, spec={"selector": LABELS, "ports": [{"name": "webhook-server", "port": 443}]}),
        plain("ServiceAccount", MANAGER),
        plain("ConfigMap", CONFIG, data={"controller_manager_config.yaml": "{}"}),
        plain("ConfigMap", PUBLIC, data={"kubeflow_trainer_version": "foreign"}),
        plain("Secret", CERTIFICATE),
        *role(PUBLIC), *role(MANAGER, cluster="Cluster"),
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
         "metadata": {"name": CONFIGURATIONS["mutatingwebhookconfigurations"]},
         "webhooks": [webhook("defaulter.trainjob.trainer.kubeflow.org", "trainjob", "mutate", namespace)]},
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
         "metadata": {"name": CONFIGURATIONS["validatingwebhookconfigurations"]},
         "webhooks": [webhook(f"validator.{kind}.trainer.kubeflow.org", kind, "validate", namespace)
                      for kind in ("clustertrainingruntime", "trainingruntime", "trainjob")]}]
    if by_helm:
        objects += [plain("ConfigMap", INSTALLER), plain("ServiceAccount", INSTALLER), *role(INSTALLER, cluster="Cluster")]
    if namespace == "kubeflow":  # where the overlay kubeflow-platform installs it
        objects += roles_of_the_platform()
    for each in objects:
        if "Cluster" not in each["kind"] and "Webhook" not in each["kind"]:
            each["metadata"]["namespace"] = namespace
    return objects


class Site:
    """An API server on which Kubeflow Trainer is installed and used."""

    def __init__(self, plane, namespace, directory, run_helm):
        self.plane, self.namespace, self._directory, self.helm = plane, namespace, directory, run_helm
        self.rest = Rest(plane.kubeconfig)
        for name in {namespace, "kubeflow-system"}:
            self.rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def install(self, way):
        objects = objects_of_the_original(self.namespace, way == "helm")
        crds = [the_originals(kind) for kind in KINDS]
        if way == "helm":
            templates = self._directory / "original" / "templates"
            templates.mkdir(parents=True)
            (templates.parent / "Chart.yaml").write_text("apiVersion: v2\nname: kubeflow-trainer\nversion: 2.3.0\n")
            (templates / "all.yaml").write_text("\n---\n".join(json.dumps(each) for each in crds + objects))
            self.helm("install", "kubeflow-trainer", str(templates.parent), "-n", self.namespace)
        else:
            # Its CRDs are too large for client-side apply.
            for options, each in ((["--server-side"], crds), (["--server-side"] if way == "server-side" else [], objects)):
                self.plane.kubectl("apply", *options, "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": each}))
        wait_for("its kinds", lambda: all(is_served(self.rest, kind) for kind in KINDS))
        # Like its manager after it has made its certificate.
        for plural, name in CONFIGURATIONS.items():
            path = f"/apis/admissionregistration.k8s.io/v1/{plural}/{name}"
            configuration = self.rest.request("GET", path)
            for each in configuration["webhooks"]:
                each["clientConfig"]["caBundle"] = "b2YgdGhlIG9yaWdpbmFs"
            self.rest.request("PUT", path + "?fieldManager=manager", configuration)

    def use(self):
        """Creates users' objects."""
        node = {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [{"name": "node", "image": "registry.example.com/a:1"}]}}}}}
        self.rest.create({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "mine"},
                          "spec": {"template": {"spec": {"replicatedJobs": [node]}}}})
        self.rest.create({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
                          "metadata": {"name": "mine", "namespace": "default"}, "spec": {"runtimeRef": {"name": "mine"}}})

    def users_objects(self):
        # The API server does not serve a changed CRD for a moment.
        wait_for("all kinds", lambda: all(is_served(self.rest, kind) for kind in KINDS))
        return {plural: [(each["metadata"]["name"], each["metadata"]["uid"], each["spec"]) for each in self.rest.list(plural)]
                for plural in ("trainjobs", "clustertrainingruntimes")}

    def follow(self, command):
        return follow(self.plane, f"NS={self.namespace}; {command}")

    def names(self):
        """Returns kind, namespace and name of all objects of either controller, without CRDs."""
        kinds = ("deployments,services,serviceaccounts,configmaps,secrets,roles,rolebindings,clusterroles,clusterrolebindings,"
                 "mutatingwebhookconfigurations,validatingwebhookconfigurations")
        found = json.loads(self.plane.kubectl("get", kinds, "-A", "-o", "json"))["items"]
        return {(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in found
                if re.search("trainer|jobset", each["metadata"]["name"])}


WAYS = [("client-side", "kubeflow-system", "kubectl"), ("server-side", "kubeflow", "kubectl"), ("helm", "kubeflow-system", "kubectl"),
        ("helm", "training", "helm")]


@pytest.mark.parametrize("way, namespace, ours_by", WAYS, ids=["-".join(each) for each in WAYS])
def test_the_guide_takes_over_from_the_original(empty_plane, run_helm, chart, tmp_path, way, namespace, ours_by):
    site = Site(empty_plane, namespace, tmp_path, run_helm)
    site.install(way)
    site.use()
    before = site.users_objects()
    followed = 0
    for command in commands():
        followed += 1
        if command.startswith("NS=") or "rollout status" in command:  # the namespace is this test's, and no Pod starts here
            continue
        if "owner=helm" in command and way != "helm":
            continue
        if "kubectl apply" in command or command.startswith("helm "):
            if ours_by == "kubectl" and "kubectl apply" in command:
                site.follow(command)
            elif ours_by == "helm" and command.startswith("helm "):
                site.helm(*command.replace("signalbox-VERSION.tgz", str(chart)).split()[1:])
            continue
        said = site.follow(command)
        if "grep" in command:
            assert namespace in said and MANAGER in said
    assert followed > 10, "the commands were not found"
    assert site.users_objects() == before

    # Objects with Signalbox's names have Signalbox's members, and nothing else.
    wanted = {(each["kind"], each["metadata"]["name"]): each for each in build(empty_plane, ROOT / "manifests" / "overlays" / "self-signed")}
    for plural, name in CONFIGURATIONS.items():
        stored = site.rest.request("GET", f"/apis/admissionregistration.k8s.io/v1/{plural}/{name}")
        for each in stored["webhooks"]:
            # The webhook writes the certificate's CA. Kubeflow Trainer has no webhooks for deletions.
            of_the_original = not each["name"].startswith("deletion.")
            assert each["clientConfig"].pop("caBundle", None) == ("b2YgdGhlIG9yaWdpbmFs" if of_the_original else None)
        kind = stored["kind"]
        assert [without_defaults(each) for each in stored["webhooks"]] == [without_defaults(each) for each in wanted[kind, name]["webhooks"]]
    for kind, path in (("ConfigMap", "/api/v1/namespaces/kubeflow-system/configmaps/"),
                       ("Role", "/apis/rbac.authorization.k8s.io/v1/namespaces/kubeflow-system/roles/"),
                       ("RoleBinding", "/apis/rbac.authorization.k8s.io/v1/namespaces/kubeflow-system/rolebindings/")):
        stored = site.rest.request("GET", path + PUBLIC)
        assert {part: stored.get(part) for part in PARTS} == {part: wanted[kind, PUBLIC].get(part) for part in PARTS}
    for_users = {(kind, None, name) for kind, name in wanted if kind.startswith("Cluster") and name.startswith("kubeflow-trainer-")}
    assert len(for_users) == 6
    for kind, _, name in for_users:
        stored = site.rest.request("GET", f"/apis/rbac.authorization.k8s.io/v1/{kind.lower()}s/{name}")
        labels = wanted[kind, name]["metadata"]["labels"].items()
        assert stored["metadata"]["labels"].items() >= labels and (stored.get("rules") or []) == wanted[kind, name].get("rules", [])
        assert [stored.get(part) for part in ("aggregationRule", "subjects", "roleRef")] == [
            wanted[kind, name].get(part) for part in ("aggregationRule", "subjects", "roleRef")]
    for kind in KINDS:
        stored = site.rest.request("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind}.trainer.kubeflow.org")
        assert stored["spec"]["versions"][0]["schema"] == ours(kind)["spec"]["versions"][0]["schema"]

    # Of Kubeflow Trainer only the objects remain that the guide names, such as JobSet.
    left = {each for each in site.names() if "signalbox" not in each[2]}
    public = {(kind, at, PUBLIC) for kind in ("ConfigMap", "Role", "RoleBinding") for at in {namespace, "kubeflow-system"}}
    assert left == public | for_users | {("Deployment", namespace, JOBSET), ("MutatingWebhookConfiguration", None, CONFIGURATIONS["mutatingwebhookconfigurations"]),
                             ("ValidatingWebhookConfiguration", None, CONFIGURATIONS["validatingwebhookconfigurations"])}
    # Helm neither restores Kubeflow Trainer's objects nor deletes Signalbox's.
    assert [each["name"] for each in json.loads(site.helm("list", "-A", "-o", "json"))] == (["signalbox"] if ours_by == "helm" else [])


def without_defaults(webhook_entry):
    """Returns an entry of a webhook configuration without the API server's defaults."""
    entry = json.loads(json.dumps(webhook_entry))
    entry["clientConfig"]["service"].pop("port", None)
    for rule in entry["rules"]:
        rule.pop("scope", None)
    return {key: value for key, value in entry.items()
            if (key, value) not in (("namespaceSelector", {}), ("objectSelector", {}), ("reinvocationPolicy", "Never"))}


def test_the_role_for_the_original_s_lease_is_the_one_for_ours_in_another_namespace():
    role_there, binding = yaml.safe_load_all(re.search(r"(?ms)^```yaml\n(.*?)^```$", GUIDE)[1])
    here = [each for each in yaml.safe_load_all((ROOT / "manifests" / "base" / "rbac" / "reconciler.yaml").read_text())
            if each["kind"] in ("Role", "RoleBinding")]
    assert role_there["rules"] == here[0]["rules"]
    assert binding["subjects"] == here[1]["subjects"]
