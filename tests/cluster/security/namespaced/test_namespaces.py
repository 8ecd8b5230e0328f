"""Both programs limited to two namespaces, with roles there and nowhere else, on the real control plane: they work in these, and do
nothing elsewhere."""

import json
import os
import pathlib
import time

import pytest
import yaml

from controlplane import ControlPlane
from deployment import NAMESPACE, Program, Signalbox, write_overlay
from jobs import runtime, train_job
from rest import ApiError, Rest, true_conditions, wait_for

OURS, ELSEWHERE = ["team-a", "team-b"], "team-c"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:signalbox-"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/validator.trainer.kubeflow.org"


class AuditedPlane(ControlPlane):
    """Logs each request of a service account with its account, namespace and status."""

    audit_rules = [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}]  # the fixture `secrets` starts the log

    def requests(self, user_prefix=ACCOUNT):
        """Returns the requests of Signalbox's accounts so far."""
        found = [json.loads(line) for line in (self.directory / "audit.log").read_text().splitlines() if line.endswith("}")]
        return [each for each in found if each["user"]["username"].startswith(user_prefix)]


@pytest.fixture(scope="module")
def cluster(request):
    with AuditedPlane() as plane:
        rest = Rest(plane.kubeconfig)
        for name in (*OURS, ELSEWHERE):
            rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        failed_before = request.session.testsfailed
        yield plane
        plane.keep_logs = request.session.testsfailed > failed_before


@pytest.fixture(scope="module")
def admin(cluster):
    return Rest(cluster.kubeconfig)


@pytest.fixture(scope="module")
def signalbox(cluster, admin):
    with Signalbox(cluster, os.environ["SIGNALBOX_BIN_DIR"], namespaces=OURS) as limited:
        admin.create(runtime())
        yield limited


@pytest.fixture
def another(cluster):
    """Returns a function that starts one more reconciler."""
    started = []

    def start(namespaces, *options, installed_in=NAMESPACE):
        program = Program(pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-reconciler",
                          cluster.directory / f"another-{time.monotonic_ns()}.log", [
                              "--kubeconfig", cluster.service_account_kubeconfig(installed_in, "signalbox-reconciler"),
                              "--admin-listen", "127.0.0.1:0", *(f"--namespaces={each}" for each in namespaces), *options])
        started.append(program)
        program.wait_until_ready()
        return program
    yield start
    assert [problem for program in started if program.running() for problem in program.stop()] == []


def until(rest, namespace, name, kind, reason=None, timeout=60):
    def look():
        found = true_conditions(rest.get("trainjobs", name, namespace)).get(kind)
        return found if found and reason in (None, found["reason"]) else None
    return wait_for(f"{namespace}/{name} to be {kind} {reason or ''}", look, timeout)


def test_a_job_has_its_whole_life_in_each_of_its_namespaces(signalbox, admin):
    for namespace in OURS:
        admin.create(runtime("kept-for-a-moment", "TrainingRuntime", namespace=namespace, ttlSecondsAfterFinished=5))
        admin.create(train_job("whole", "kept-for-a-moment", "TrainingRuntime", namespace=namespace, suspend=True))
        admin.create(train_job("late", namespace=namespace, seconds="never", activeDeadlineSeconds=2))
    for namespace in OURS:
        until(admin, namespace, "whole", "Suspended")
        admin.patch("trainjobs", "whole", {"spec": {"suspend": False}}, namespace)
    for namespace in OURS:
        until(admin, namespace, "whole", "Complete")
        assert true_conditions(admin.get("trainjobs", "whole", namespace)).keys() == {"Complete"}
        assert admin.get("configmaps", "whole-runtime-snapshot", namespace)
    for namespace in OURS:
        until(admin, namespace, "late", "Failed", "DeadlineExceeded")
        wait_for("its JobSet to be deleted", lambda: admin.get("jobsets", "late", namespace) is None)
        assert any(event["regarding"]["name"] == "late" for event in admin.list("events", namespace))
        wait_for("the time to live of the other to end", lambda: admin.get("trainjobs", "whole", namespace) is None)


def test_a_job_elsewhere_is_neither_reviewed_nor_reconciled(signalbox, admin):
    # In a reviewed namespace, a missing runtime would be denied.
    for name, its_runtime in (("left-alone", "plain-test"), ("unjudged", "no-such-runtime")):
        admin.create(train_job(name, its_runtime, namespace=ELSEWHERE))
    admin.create(train_job("in-between", namespace=OURS[0]))
    until(admin, OURS[0], "in-between", "Complete")
    signalbox.wait_until_idle()
    for name in ("left-alone", "unjudged"):
        left = admin.get("trainjobs", name, ELSEWHERE)
        assert not left.get("status") and not left["metadata"].get("finalizers")
        assert admin.get("jobsets", name, ELSEWHERE) is None


@pytest.mark.parametrize("namespace", OURS)
def test_writes_in_its_namespaces_are_reviewed(signalbox, admin, namespace):
    with pytest.raises(ApiError) as refused:
        admin.create(train_job("unfounded", "no-such-runtime", namespace=namespace))
    assert refused.value.code == 422 and "no-such-runtime" in str(refused.value)
    bad = runtime("bad", "TrainingRuntime", namespace=namespace)
    bad["spec"]["template"]["spec"]["replicatedJobs"][0]["name"] = "Not_A_Label"
    with pytest.raises(ApiError) as refused:
        admin.create(bad)
    assert "validator.trainingruntime.trainer.kubeflow.org" in str(refused.value)


def test_writes_of_cluster_scoped_objects_are_reviewed(signalbox, admin):
    bad = runtime("bad")
    bad["spec"]["template"]["spec"]["replicatedJobs"][0]["name"] = "Not_A_Label"
    with pytest.raises(ApiError) as refused:
        admin.create(bad)
    assert "validator.clustertrainingruntime.trainer.kubeflow.org" in str(refused.value)


def test_a_review_for_another_namespace_is_answered_with_the_settings_to_correct(signalbox, admin):
    configuration = admin.request("GET", CONFIGURATION)
    selected = json.loads(json.dumps(configuration))
    for webhook in selected["webhooks"]:
        webhook["namespaceSelector"] = {}
    wide = admin.request("PUT", CONFIGURATION, selected)
    try:
        def refusal():
            try:
                admin.create(train_job("misdirected", namespace=ELSEWHERE), dry_run=True)
            except ApiError as error:
                return error
            return None  # the API server does not use the changed configuration yet
        error = wait_for("the webhook to be called", refusal)
    finally:
        wide["webhooks"] = configuration["webhooks"]
        admin.request("PUT", CONFIGURATION, wide)
    assert error.code == 400
    assert 'this webhook watches team-a, team-b and cannot read in "team-c"' in str(error)


def test_another_replica_takes_over(signalbox, admin, another):
    """tests/cluster/operations/test_availability.py measures the time after a crash."""
    wait_for("the first to lead", lambda: signalbox.reconciler.leads())
    second = another(OURS)
    assert not second.leads()
    signalbox.stop_reconciler()
    admin.create(train_job("orphan", namespace=OURS[1]))
    wait_for("the second to lead", lambda: second.leads())
    until(admin, OURS[1], "orphan", "Complete")
    assert second.stop() == []
    signalbox.start_reconciler()


def test_only_one_reconciler_of_a_lease_leads_whatever_their_namespaces(signalbox, another):
    wait_for("the first to lead", lambda: signalbox.reconciler.leads())
    other = another(OURS[:1])

    def looks():
        return other.metric("signalbox_api_requests_total", 'resource="leases')
    before = looks()
    wait_for("it to read the lease", lambda: looks() >= before + 2)
    assert signalbox.reconciler.leads() and not other.leads()


@pytest.fixture
def second_installation(cluster, admin, tmp_path):
    """Accounts and roles of another installation, in a namespace of its own, for namespaces that the first one does not have."""
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "second-system"}})
    text = cluster.kubectl("kustomize", write_overlay(tmp_path, namespaces=[ELSEWHERE]))
    objects = [each for each in yaml.load_all(text.replace(NAMESPACE, "second-system"), Loader=yaml.CSafeLoader)
               if "Role" in each["kind"] or each["kind"] == "ServiceAccount"]
    for each in objects:
        if each["kind"].startswith("ClusterRole"):
            each["metadata"]["name"] += "-second"
        if each["kind"] == "ClusterRoleBinding":
            each["roleRef"]["name"] += "-second"
    cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return "second-system"


def test_two_installations_for_different_namespaces_work_side_by_side(cluster, signalbox, admin, another, second_installation):
    second = another([ELSEWHERE], f"--lease={second_installation}/trainer.kubeflow.org", installed_in=second_installation)
    wait_for("both to lead", lambda: second.leads() and signalbox.reconciler.leads())
    for namespace in (*OURS, ELSEWHERE):
        admin.create(train_job("side-by-side", namespace=namespace))
    for namespace in (*OURS, ELSEWHERE):
        until(admin, namespace, "side-by-side", "Complete")
    of_second = cluster.requests(f"system:serviceaccount:{second_installation}:")
    assert {each["objectRef"].get("namespace") for each in of_second if each["verb"] in ("create", "patch", "update", "delete")} == {
        ELSEWHERE, second_installation}
    assert [each["requestURI"] for each in of_second if each["responseStatus"]["code"] == 403] == []


def test_no_request_was_refused_or_went_to_another_namespace(cluster, signalbox):
    """Covers the requests of all earlier tests in this file."""
    asked = cluster.requests()
    assert {each["verb"] for each in asked} >= {"watch", "get", "create", "patch", "delete", "update"}
    assert [each["requestURI"] for each in asked if each["responseStatus"]["code"] == 403] == []
    cluster_scoped = {each["objectRef"]["resource"] for each in asked if not each["objectRef"].get("namespace")}
    assert cluster_scoped == {"clustertrainingruntimes"}
    at = {(each["objectRef"]["namespace"], each["objectRef"]["resource"]) for each in asked if each["objectRef"].get("namespace")}
    assert {namespace for namespace, _ in at} == {*OURS, NAMESPACE}
    assert {resource for namespace, resource in at if namespace == NAMESPACE} == {"leases"}
    assert signalbox.reconciler.metric("signalbox_api_requests_total", 'code="403"') == 0
    assert signalbox.webhook.metric("signalbox_api_requests_total", 'code="403"') == 0


def test_deleting_the_roles_in_one_namespace_stops_no_other_namespace_even_after_a_restart(cluster, signalbox, admin):
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{OURS[1]}/rolebindings/"
    taken = [admin.request("GET", bindings + f"signalbox-{program}") for program in ("reconciler", "webhook")]
    for binding in taken:
        admin.request("DELETE", bindings + binding["metadata"]["name"])
    signalbox.restart_reconciler()
    assert signalbox.webhook.stop() == []
    signalbox.start_webhook()
    signalbox.configure_webhooks()
    admin.create(train_job("undisturbed", namespace=OURS[0]))
    until(admin, OURS[0], "undisturbed", "Complete")
    for program, resource in ((signalbox.reconciler, "trainjobs"), (signalbox.webhook, "trainingruntimes")):
        assert program.metric("signalbox_watch_working", f'"{resource}.trainer.kubeflow.org"') == 0
        assert '"a permission is missing' in program.text()

    for binding in taken:
        admin.request("POST", bindings.removesuffix("/"), {**binding, "metadata": {"name": binding["metadata"]["name"]}})
    admin.create(train_job("back-again", namespace=OURS[1]))
    until(admin, OURS[1], "back-again", "Complete", timeout=90)
    assert signalbox.reconciler.metric("signalbox_watch_working", '"trainjobs.trainer.kubeflow.org"') == 1
