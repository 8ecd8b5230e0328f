"""The changes of each overlay, and the installation of every one."""

import json
import re
import subprocess

import pytest
import yaml

from schema_server import ROOT, build, by_name
from controlplane.binaries import CRDS_OF_OTHERS, crds_of_others
from deployment import write_overlay

OVERLAYS = ROOT / "manifests" / "overlays"
NEED_OTHERS = ("cert-manager", "prometheus")  # their CRDs must be installed
INSTALLABLE = sorted(path.name for path in OVERLAYS.iterdir() if path.name not in ("local-processes", *NEED_OTHERS))


@pytest.fixture(scope="module")
def others(plane, rest):
    """Installs the CRDs of cert-manager and the Prometheus operator."""
    directory = crds_of_others()
    files = [word for name in CRDS_OF_OTHERS for word in ("-f", directory / name)]
    plane.kubectl("apply", "--server-side", *files)
    plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", *files)
    yield
    plane.kubectl("delete", "--wait=false", *files)


def deployment(objects, program):
    return objects["Deployment", f"signalbox-{program}"]["spec"]


def programs_of(objects):
    return sorted(name.removeprefix("signalbox-") for kind, name in objects if kind == "Deployment")


def arguments(objects, program):
    return deployment(objects, program)["template"]["spec"]["containers"][0]["args"]


@pytest.mark.parametrize("name", [*INSTALLABLE, *NEED_OTHERS])
def test_an_overlay_leaves_out_nothing_of_the_base_and_labels_all(overlay, name):
    assert overlay("base").keys() <= overlay(name).keys()
    for obj in overlay(name).values():
        assert obj["metadata"]["labels"]["app.kubernetes.io/part-of"] == "signalbox"


@pytest.mark.parametrize("name", [*INSTALLABLE, *NEED_OTHERS])
def test_an_api_server_accepts_an_overlay_by_one_apply(plane, installed, namespaces, others, overlay, name):
    run = subprocess.run([plane.kubectl_path, "--kubeconfig", plane.kubeconfig, "apply", "--server-side", "--dry-run=server",
                          "--force-conflicts", "-f", "-"], capture_output=True, text=True,
                         input=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(overlay(name).values())}))
    assert (run.returncode, run.stderr) == (0, "")
    assert len(run.stdout.splitlines()) == len(overlay(name))


@pytest.mark.parametrize("name", INSTALLABLE)
def test_no_certificate_has_to_be_made_by_hand(overlay, name):
    assert "--self-signed" in arguments(overlay(name), "webhook")
    assert not deployment(overlay(name), "webhook")["template"]["spec"].get("volumes")


@pytest.mark.parametrize("name", ["base", *INSTALLABLE, *NEED_OTHERS])
def test_a_webhook_s_memory_has_room_below_its_limit_whatever_the_node(overlay, name):
    given = dict(arg.removeprefix("--").partition("=")[::2] for arg in arguments(overlay(name), "webhook"))
    assert "threads" in given, "else the number of the node's cores"
    # The formula of docs/webhook-limits.md, with the given options and the defaults.
    bound = (20_000_000 + 100_000 * int(given.get("max-connections", 512)) + 2 * int(given.get("max-bytes-in-flight", 32 << 20))
             + 80_000_000 * int(given["threads"]))
    container, = deployment(overlay(name), "webhook")["template"]["spec"]["containers"]
    limit, = re.findall(r"^(\d+)Mi$", container["resources"]["limits"]["memory"])
    assert bound <= int(limit) << 20


def test_overlays_for_certificates_change_no_other_arguments_of_the_webhook(overlay):
    def others(name):
        of_certificates = ("--tls-", "--self-signed", "--cert-secret", "--service")
        return {arg for arg in arguments(overlay(name), "webhook") if not arg.startswith(of_certificates)}
    assert others("self-signed") == others("cert-manager") == others("base")


def test_cert_manager_issues_the_secret_that_the_webhook_mounts(overlay):
    objects = overlay("cert-manager")
    volume, = deployment(objects, "webhook")["template"]["spec"]["volumes"]
    certificate = objects["Certificate", "signalbox-webhook-cert"]
    assert certificate["spec"]["secretName"] == volume["secret"]["secretName"]
    for (kind, _), obj in objects.items():
        if "Webhook" in kind:
            assert obj["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] == "kubeflow-system/signalbox-webhook-cert"


def test_the_prometheus_overlay_brings_a_monitor_alerts_and_a_dashboard(overlay):
    objects = overlay("prometheus")
    for key in (("PodMonitor", "signalbox"), ("PrometheusRule", "signalbox"), ("ConfigMap", "signalbox-dashboard")):
        assert objects[key]["metadata"]["namespace"] == "kubeflow-system"
    dashboard = objects["ConfigMap", "signalbox-dashboard"]
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(dashboard["data"]["dashboard.json"])["title"] == "Signalbox"
    added = {key for key in objects.keys() - overlay("self-signed").keys()}
    assert len(added) == 3


def test_the_monitor_and_the_alerts_are_labelled_as_the_guide_says(plane, overlay, tmp_path):
    guide = (ROOT / "docs" / "operations.md").read_text().partition("/manifests/overlays/prometheus ")[2].partition("```")[0]
    patches = yaml.safe_load("patches:" + guide.partition("\npatches:")[2])["patches"]
    directory = write_overlay(tmp_path, base="overlays/prometheus")
    kustomization = json.loads((directory / "kustomization.yaml").read_text())
    (directory / "kustomization.yaml").write_text(json.dumps({**kustomization, "patches": patches}))
    labelled = {kind for (kind, _), obj in by_name(build(plane, directory)).items() if "release" in obj["metadata"]["labels"]}
    assert labelled == {"PodMonitor", "PrometheusRule"}


SERVED = {"webhook": {"webhook", "admin", "metrics"}, "reconciler": {"admin", "metrics"}, "progress": {"progress", "admin", "metrics"}}


@pytest.mark.parametrize("name", [name for name in (*INSTALLABLE, *NEED_OTHERS) if name != "namespaced"])
def test_secure_metrics_can_be_added_to_every_overlay(plane, installed, others, and_progress, and_secure_metrics, name):
    before, objects = and_progress(name), and_secure_metrics(name, progress=True)
    monitors = {("PodMonitor", "signalbox")} & before.keys()
    assert before.keys() - objects.keys() == monitors
    assert len(objects.keys() & {("ServiceMonitor", "signalbox")}) == len(monitors)
    for program in programs_of(objects):
        assert "--metrics-secure" in arguments(objects, program)
        container, = deployment(objects, program)["template"]["spec"]["containers"]
        assert {port["name"] for port in container["ports"]} == SERVED[program]
        # The kubelet's probes need no policy.
        opened = {port["port"] for rule in objects["NetworkPolicy", f"signalbox-{program}"]["spec"]["ingress"] for port in rule["ports"]}
        assert opened == SERVED[program] - {"admin"}
        assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {"admin"}
    run = subprocess.run([plane.kubectl_path, "--kubeconfig", plane.kubeconfig, "apply", "--server-side", "--dry-run=server",
                          "--force-conflicts", "-f", "-"], capture_output=True, text=True, input=json.dumps({
                              "apiVersion": "v1", "kind": "List", "items": list(objects.values())}))
    assert (run.returncode, run.stderr) == (0, "")


def test_prometheus_finds_the_pods_by_the_services_of_the_monitor(and_secure_metrics):
    objects = and_secure_metrics("prometheus", progress=True)
    monitor = objects["ServiceMonitor", "signalbox"]["spec"]
    endpoint, = monitor["endpoints"]
    assert (endpoint["scheme"], endpoint["port"], monitor["jobLabel"]) == ("https", "metrics", "app.kubernetes.io/name")
    selector, = monitor["selector"]["matchExpressions"]
    selected = [obj["spec"] for (kind, _), obj in objects.items()
                if kind == "Service" and obj["metadata"]["labels"].get(selector["key"]) in selector["values"]]
    assert len(selected) == 3
    for service in selected:
        port, = service["ports"]
        assert (port["name"], port["targetPort"], service["publishNotReadyAddresses"]) == ("metrics", "metrics", True)
        program = service["selector"]["app.kubernetes.io/name"].removeprefix("signalbox-")
        assert service["selector"].items() <= deployment(objects, program)["template"]["metadata"]["labels"].items()


def preferred_topologies(pod):
    """Returns {label of nodes: the Pods of which there should be none with an equal one}."""
    terms = pod["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    return {each["podAffinityTerm"]["topologyKey"]: each["podAffinityTerm"]["labelSelector"] for each in terms}


def test_high_availability_requires_different_nodes_and_a_high_priority(overlay):
    objects = overlay("high-availability")
    assert deployment(objects, "webhook")["replicas"] == 3
    assert objects.keys() - overlay("self-signed").keys() == {("ResourceQuota", "signalbox-critical-pods")}
    for program in ("webhook", "reconciler"):
        pod = deployment(objects, program)["template"]["spec"]
        constraints = {each["topologyKey"]: each["whenUnsatisfiable"] for each in pod["topologySpreadConstraints"]}
        assert constraints == {"kubernetes.io/hostname": "DoNotSchedule"}
        assert preferred_topologies(pod).keys() == {"topology.kubernetes.io/zone"}
        assert pod["priorityClassName"] == "system-cluster-critical"


def test_the_progress_overlay_adds_the_server_and_its_gate_and_changes_nothing_else(overlay):
    without, objects = overlay("self-signed"), overlay("progress")
    assert {key for key in without if objects[key] != without[key]} == {
        ("Deployment", "signalbox-reconciler"), ("Deployment", "signalbox-webhook")}
    for program in ("reconciler", "webhook"):
        assert arguments(objects, program) == [*arguments(without, program), "--feature-gates=TrainJobStatus=true"]
    assert programs_of(objects) == ["progress", "reconciler", "webhook"]


def test_pods_reach_the_service_of_progress_by_the_reconciler_s_defaults(overlay):
    """Of libs/controller/src/build_settings.cpp; tests/unit/reconciler/settings_test.cpp has the same."""
    objects = overlay("progress")
    service = objects["Service", "signalbox-progress"]
    assert service["metadata"]["namespace"] == "kubeflow-system" and [port["port"] for port in service["spec"]["ports"]] == [10443]
    assert service["spec"]["selector"].items() <= deployment(objects, "progress")["template"]["metadata"]["labels"].items()
    assert {"--progress-service=kubeflow-system/signalbox-progress",
            "--progress-cert-secret=kubeflow-system/signalbox-progress-cert"} <= set(arguments(objects, "progress"))
    # A Pod stays with one replica, and no policy of this namespace stands between.
    assert service["spec"]["sessionAffinity"] == "ClientIP"
    assert {"ports": [{"port": service["spec"]["ports"][0]["targetPort"]}]} in objects["NetworkPolicy", "signalbox-progress"]["spec"]["ingress"]
    role = objects["Role", "signalbox-progress"]
    assert {name for rule in role["rules"] for name in rule.get("resourceNames", [])} == {"signalbox-progress", "signalbox-progress-cert"}


@pytest.mark.parametrize("name", [name for name in (*INSTALLABLE, *NEED_OTHERS) if name not in ("progress", "namespaced")])
def test_progress_can_be_added_to_every_overlay(plane, installed, others, overlay, and_progress, name):
    objects = and_progress(name)
    webhook, progress = (deployment(objects, program) for program in ("webhook", "progress"))
    assert overlay(name).keys() <= objects.keys()
    # What an overlay changes of Deployments and policies, it changes of this one as well.
    assert progress["replicas"] == min(webhook["replicas"], 2)
    assert progress["template"]["spec"].get("priorityClassName") == webhook["template"]["spec"].get("priorityClassName")
    assert objects["NetworkPolicy", "signalbox-progress"]["spec"]["egress"] == objects["NetworkPolicy", "signalbox-webhook"]["spec"]["egress"]
    given = {arg.partition("=")[0] for arg in arguments(objects, "progress")}
    assert ("--progress-cert-secret" in given) != ("--progress-tls-cert" in given)
    assert ("--progress-tls-cert" in given) == (("Certificate", "signalbox-progress-cert") in objects)
    run = subprocess.run([plane.kubectl_path, "--kubeconfig", plane.kubeconfig, "apply", "--server-side", "--dry-run=server",
                          "--force-conflicts", "-f", "-"], capture_output=True, text=True, input=json.dumps({
                              "apiVersion": "v1", "kind": "List", "items": [obj for key, obj in objects.items() if "progress" in key[1]]}))
    assert (run.returncode, run.stderr) == (0, "")


def test_cert_manager_issues_the_secret_that_the_server_of_progress_mounts(and_progress):
    objects = and_progress("cert-manager")
    volume, = deployment(objects, "progress")["template"]["spec"]["volumes"]
    certificate = objects["Certificate", "signalbox-progress-cert"]["spec"]
    assert certificate["secretName"] == volume["secret"]["secretName"] == "signalbox-progress-cert"
    assert certificate["dnsNames"][0] == "signalbox-progress.kubeflow-system.svc"
    rules = objects["Role", "signalbox-progress"]["rules"]
    assert {resource for rule in rules for resource in rule["resources"]} == {"leases"}


def test_progress_is_limited_to_namespaces_as_the_others_are(plane, tmp_path):
    objects = by_name(build(plane, write_overlay(tmp_path, ["self-signed", "progress"], ["one", "two"], base="base")))
    assert [arg for arg in arguments(objects, "progress") if arg.startswith("--namespaces")] == ["--namespaces=one", "--namespaces=two"]
    assert [rule["resources"] for rule in objects["ClusterRole", "signalbox-progress"]["rules"]] == [["tokenreviews"]]
    for name in ("one", "two"):
        assert {("Role", f"{name}/signalbox-progress"), ("RoleBinding", f"{name}/signalbox-progress")} <= objects.keys()
    assert ("Role", "signalbox-reconciler-progress") in objects


def test_a_single_node_runs_one_of_each_and_can_be_drained(overlay):
    objects = overlay("single-node")
    for program in ("webhook", "reconciler"):
        assert deployment(objects, program)["replicas"] == 1
        assert objects["PodDisruptionBudget", f"signalbox-{program}"]["spec"]["maxUnavailable"] == 1


def test_the_kubeflow_overlay_writes_created_only_on_failure(overlay):
    assert "--created-condition=on-failure" in arguments(overlay("kubeflow"), "reconciler")
    assert [*arguments(overlay("self-signed"), "reconciler"), "--created-condition=on-failure"] == \
        arguments(overlay("kubeflow"), "reconciler")


@pytest.mark.parametrize("name", ["base", *INSTALLABLE])
def test_budgets_policies_and_spread_constraints_select_the_pods(overlay, name):
    objects = overlay(name)
    for program in programs_of(objects):
        labels = deployment(objects, program)["template"]["metadata"]["labels"]
        pod = deployment(objects, program)["template"]["spec"]
        selectors = [objects["PodDisruptionBudget", f"signalbox-{program}"]["spec"]["selector"],
                     objects["NetworkPolicy", f"signalbox-{program}"]["spec"]["podSelector"],
                     *[each["labelSelector"] for each in pod["topologySpreadConstraints"]], *preferred_topologies(pod).values()]
        assert len(selectors) == 4
        for selector in selectors:
            assert selector["matchLabels"] and selector["matchLabels"].items() <= labels.items()


def test_policies_open_the_ports_that_the_pods_have_and_no_others(overlay):
    objects = overlay("progress")
    for program, served in (("webhook", {"webhook", "admin"}), ("reconciler", {"admin"}), ("progress", {"progress", "admin"})):
        policy = objects["NetworkPolicy", f"signalbox-{program}"]["spec"]
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        opened = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
        container, = deployment(objects, program)["template"]["spec"]["containers"]
        assert opened == served == {port["name"] for port in container["ports"]}


@pytest.mark.parametrize("name, more", [("base", []), ("single-node", [8443, 16443])])
def test_policies_allow_egress_to_the_ports_of_api_servers(overlay, name, more):
    # 443: the Service and most clouds; 6443: kubeadm, kind and k3s; 8443: minikube; 16443: MicroK8s.
    for program in ("webhook", "reconciler"):
        rule, = overlay(name)["NetworkPolicy", f"signalbox-{program}"]["spec"]["egress"]
        assert [each["port"] for each in rule["ports"]] == [53, 53, 443, 6443, *more]


def test_every_user_may_read_the_version_and_runtimes_for_all_namespaces_and_nothing_else(rest, plane, installed):
    read = rest.get("configmaps", "kubeflow-trainer-public", namespace="kubeflow-system")
    assert read["data"]["kubeflow_trainer_version"].startswith("v2.")
    asked = [plane.kubectl_path, "--kubeconfig", plane.kubeconfig, "auth", "can-i", "-n", "kubeflow-system", "--as", "tenant",
             "--as-group", "system:authenticated"]
    ours = "trainer.kubeflow.org"
    for verb, what, answer in (("get", "configmaps/kubeflow-trainer-public", "yes"), ("get", "configmaps/other", "no"),
                               ("list", "configmaps", "no"), ("update", "configmaps/kubeflow-trainer-public", "no"),
                               ("list", f"clustertrainingruntimes.{ours}", "yes"), ("create", f"clustertrainingruntimes.{ours}", "no"),
                               ("list", f"trainingruntimes.{ours}", "no"), ("list", f"trainjobs.{ours}", "no")):
        run = subprocess.run([*asked, verb, what], capture_output=True, text=True)
        assert run.stdout.strip() == answer, (verb, what)


def test_the_policy_of_our_accounts_is_left_out_as_the_guide_says(plane, overlay, tmp_path):
    patches = yaml.safe_load((ROOT / "docs" / "security.md").read_text().partition("\n```\npatches:")[2].partition("```")[0])
    directory = write_overlay(tmp_path, base="overlays/self-signed")
    kustomization = json.loads((directory / "kustomization.yaml").read_text())
    (directory / "kustomization.yaml").write_text(json.dumps({**kustomization, "patches": patches}))
    policy = {(kind, name) for kind, name in overlay("self-signed") if kind.startswith("ValidatingAdmissionPolicy")}
    assert len(policy) == 2
    assert by_name(build(plane, directory)) == {key: obj for key, obj in overlay("self-signed").items() if key not in policy}
