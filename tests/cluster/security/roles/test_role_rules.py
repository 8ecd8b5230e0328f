"""Each rule of our roles is needed: without it the story that is named here stops at a refusal by the API server's
authorizer, and with it again the story goes on. Once for roles in all namespaces, and once for roles in some. What a rule must
not allow is in tests/cluster/security/roles/test_rbac.py and test_namespaced.py."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import ssl
import subprocess

import pytest
import yaml

from deployment import NAMESPACE, ROOT, Program, write_overlay
from gangs import install_pod_groups, path_of_pod_group
from jobs import runtime, train_job
from lean import LeanPlane
from rest import ApiError, Rest, true_conditions, wait_for

BINARIES = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])
RBAC = "/apis/rbac.authorization.k8s.io/v1/"
ROLES = [*sorted((ROOT / "manifests" / "base" / "rbac").glob("*.yaml")),
         *sorted((ROOT / "manifests" / "components").rglob("rbac.yaml"))]
REVIEWS = "/validate-trainer-kubeflow-org-v1alpha1-trainjob"


class Plane(LeanPlane):
    """With the admission plugin for which trainjobs/finalizers is there, both gang schedulers' kinds, and the roles of every
    component. Stories are told in the namespace default."""

    def __init__(self, namespaces):
        super().__init__()
        self.api_server_options = ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]
        self.namespaces = namespaces

    def install_roles(self, directory):
        overlay = write_overlay(directory, ["self-signed", "bearer-tokens"], self.namespaces, base="base")
        objects = yaml.load_all(self.kubectl("kustomize", overlay), Loader=yaml.CSafeLoader)
        self.kubectl("apply", "--server-side", "-f", "-", input=json.dumps({
            "apiVersion": "v1", "kind": "List", "items": [each for each in objects if "Role" in each["kind"]]}))


INSTALLATIONS = {"everywhere": [], "in-namespaces": ["default", "another"]}


@pytest.fixture(scope="module")
def plane(request, tmp_path_factory):
    with Plane(INSTALLATIONS[request.param]) as lean:
        rest = Rest(lean.kubeconfig)
        if lean.namespaces:
            rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "another"}})
        lean.install_roles(tmp_path_factory.mktemp("overlay"))
        install_pod_groups(rest)
        for resource in ("trainjobs", "jobsets", "clustertrainingruntimes", "trainingruntimes"):
            wait_for(f"{resource} to be served", lambda: is_served(rest, resource))
        yield lean


def is_served(rest, resource):
    try:
        return rest.list(resource) is not None
    except ApiError:  # 429 while the API server sets up a kind
        return False


def pod_groups(rest):
    return [group["metadata"]["name"] for group in rest.request("GET", path_of_pod_group("coscheduling", ""))["items"]]


@pytest.fixture
def rest(plane):
    client = Rest(plane.kubeconfig)
    yield client
    plane.kubectl("delete", "--ignore-not-found", "-k", ROOT / "manifests" / "base" / "webhook")
    # There is no garbage collector here.
    for resource in ("trainjobs", "jobsets", "clustertrainingruntimes", "trainingruntimes", "configmaps", "secrets"):
        for obj in client.list(resource):
            client.delete(resource, obj["metadata"]["name"])
    for name in pod_groups(client):
        client.request("DELETE", path_of_pod_group("coscheduling", name))
    # One holder after the other must not have to wait until a lease runs out.
    client.delete("leases", "trainer.kubeflow.org", NAMESPACE)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    out = tmp_path_factory.mktemp("certificates") / "made"
    subprocess.run([ROOT / "certs" / "make-development-certificates", "--out", out, "--ip", "127.0.0.1"], check=True,
                   capture_output=True)
    return out


@pytest.fixture
def start(plane, certificates):
    """Starts one of our programs under its service account, and does not wait for it."""
    started = []

    def program(name, *options):
        if name == "webhook":
            options = ("--listen", "127.0.0.1:0", "--shutdown-delay=0s", *options)
            if "--self-signed" not in options:
                options = ("--tls-cert", certificates / "tls.crt", "--tls-key", certificates / "tls.key", *options)
        started.append(Program(BINARIES / f"signalbox-{name}", plane.directory / f"{name}-{len(os.listdir(plane.directory))}.log", [
            "--kubeconfig", plane.service_account_kubeconfig(NAMESPACE, f"signalbox-{name}"),
            "--admin-listen", "127.0.0.1:0", *(f"--namespaces={each}" for each in plane.namespaces), *options]))
        return started[-1]
    yield program
    assert [problem for each in started if each.running() for problem in each.stop()] == []


# Where a role of ours may be: for all of the cluster, for our own namespace, for that of the stories.
PLACES = ("clusterroles", f"namespaces/{NAMESPACE}/roles", "namespaces/default/roles")


def may_do_one_thing(rest, path, rule):
    """What the authorizer says, who learns of a changed role by a watch, to the first thing that the rule allows."""
    resource, _, subresource = rule["resources"][0].partition("/")
    account = "-".join(path.rpartition("/")[2].split("-")[:2])
    namespace = "default" if "/namespaces/default/" in path else NAMESPACE
    answer = rest.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:{account}", "resourceAttributes": {
                "group": rule["apiGroups"][0], "resource": resource, "subresource": subresource, "verb": rule["verbs"][0],
                "name": rule.get("resourceNames", [""])[0], "namespace": namespace}}})
    return answer["status"]["allowed"]


@contextlib.contextmanager
def without(rest, path, is_meant):
    """The role without that one rule."""
    whole = rest.request("GET", path)
    (taken,), left = ([rule for rule in whole["rules"] if is_meant(rule) == meant] for meant in (True, False))
    changed = rest.request("PUT", path, {**whole, "rules": left})
    try:
        wait_for("the rule to be gone", lambda: not may_do_one_thing(rest, path, taken))
        yield
    finally:
        rest.request("PUT", path, {**changed, "rules": whole["rules"]})
        wait_for("the rule to be back", lambda: may_do_one_thing(rest, path, taken))


# Each of the following begins something that needs one rule, and returns what is true once it has come to pass.

def job_is_seen(rest, **_):
    rest.create(runtime())
    rest.create(train_job("seen"))
    return lambda: "Created" in true_conditions(rest.get("trainjobs", "seen"))


def job_is_owned(rest, **_):
    """Where an owner reference that blocks deletion needs a permission of its own."""
    return job_is_seen(rest)


def gang(rest, **_):
    rest.create(runtime("gangs", ml_policy={"numNodes": 1, "torch": {}}, podGroupPolicy={"coscheduling": {}}))
    rest.create(train_job("ganged", "gangs"))
    return lambda: "ganged" in pod_groups(rest)


def gang_in_sandboxes(rest, **_):
    made = runtime("sandboxed", ml_policy={"numNodes": 1, "torch": {}}, podGroupPolicy={"coscheduling": {}})
    made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["runtimeClassName"] = "sandbox"
    with contextlib.suppress(ApiError):
        rest.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", {
            "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "sandbox"}, "handler": "sandbox",
            "overhead": {"podFixed": {"memory": "64Mi"}}})
    rest.create(made)
    rest.create(train_job("sandboxed", "sandboxed"))
    return lambda: "sandboxed" in pod_groups(rest)


def keys_of_mpi(rest, **_):
    rest.create(runtime("with-ssh", ml_policy={"numNodes": 1, "mpi": {"mpiImplementation": "OpenMPI"}}))
    rest.create(train_job("ssh", "with-ssh"))
    return lambda: rest.get("jobsets", "ssh")


def gpus_are_counted(rest, **_):
    """A job whose claims cannot be read is built all the same; one that comes later shows the difference."""
    path = "/apis/resource.k8s.io/v1/"
    with contextlib.suppress(ApiError):
        rest.request("POST", path + "deviceclasses", {
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "accelerators"},
            "spec": {"extendedResourceName": "example.com/gpu"}})
        rest.request("POST", path + "namespaces/default/resourceclaimtemplates", {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "four"},
            "spec": {"spec": {"devices": {"requests": [
                {"name": "gpus", "exactly": {"deviceClassName": "accelerators", "count": 4}}]}}}})
    made = runtime("claiming", ml_policy={"numNodes": 1, "xgboost": {}})
    pod = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "four"}]
    pod["containers"][0]["resources"] = {"claims": [{"name": "gpus"}]}
    rest.create(made)
    rest.create(train_job("claiming-0", "claiming"))

    def counted():
        name = f"claiming-{len(rest.list('trainjobs'))}"
        rest.create(train_job(name, "claiming"))
        job_set = wait_for("the JobSet", lambda: rest.get("jobsets", name))
        container, = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
        return {"name": "DMLC_NUM_WORKER", "value": "4"} in container["env"]
    return counted


def job_is_told_of(rest, **_):
    """An event that is refused is dropped, as events may be: one of a later job arrives."""
    rest.create(runtime())
    rest.create(train_job("told-0"))

    def told():
        name = f"told-{len(rest.list('trainjobs'))}"
        rest.create(train_job(name))
        wait_for("it to be created", lambda: "Created" in true_conditions(rest.get("trainjobs", name)))
        return any(event["regarding"]["name"].startswith("told-") for event in rest.list("events"))
    return told


def leads(program, **_):
    return lambda: program.metric("signalbox_leader") == 1


def leads_on(rest, program, **_):
    """As the one whose lease it was in an earlier life, so that there is nothing to create."""
    with contextlib.suppress(ApiError):
        rest.request("POST", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases", {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "trainer.kubeflow.org"}, "spec": {}})
    return leads(program)


def webhook_is_ready(program, **_):
    return lambda: program.admin("/readyz")[0] == 200


def review(certificates, program, path, request, headers=()):
    """HTTP status and answer."""
    trust = ssl.create_default_context(cafile=certificates / "ca.crt")
    connection = http.client.HTTPSConnection("127.0.0.1", program.port_of("admission"), context=trust, timeout=30)
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", **request}}
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **dict(headers)})
    answer = connection.getresponse()
    text = answer.read().decode()
    return answer.status, json.loads(text) if text.startswith("{") else text


def runtime_of_a_namespace_is_found(rest, certificates, program, **_):
    rest.create(runtime("own", kind="TrainingRuntime"))
    wait_for("readiness", webhook_is_ready(program))
    return lambda: is_admitted(certificates, program, train_job("own", "own", kind="TrainingRuntime"))


def is_admitted(certificates, program, job, old=None):
    kind = {"group": "trainer.kubeflow.org", "version": "v1alpha1"}
    status, answer = review(certificates, program, REVIEWS, {
        "operation": "UPDATE" if old else "CREATE", "name": job["metadata"]["name"], "namespace": "default", "object": job,
        "oldObject": old, "kind": {**kind, "kind": "TrainJob"}, "resource": {**kind, "resource": "trainjobs"},
        "userInfo": {"username": "u"}})
    return status == 200 and answer["response"]["allowed"]


def changed_job(rest, certificates, program, having_run):
    """Asks for the verdict on a change of patches, from which nothing but the job's history keeps it."""
    rest.create(runtime())
    old = rest.create(train_job("changed", suspend=True))
    if having_run:
        old["status"] = {"conditions": [{"type": "Suspended", "status": "True", "reason": "Suspended", "message": "",
                                         "lastTransitionTime": "2026-01-15T10:00:00Z"}],
                         "jobsStatus": [{"name": "node", **dict.fromkeys(
                             ("ready", "succeeded", "failed", "active", "suspended"), 0)}]}
    new = json.loads(json.dumps(old))
    new["spec"]["runtimePatches"] = [{"manager": "signalbox.test/a"}]
    wait_for("readiness", webhook_is_ready(program))

    def admitted():
        return is_admitted(certificates, program, new, old)
    admitted()
    return admitted


def change_of_what_may_be_active(rest, certificates, program, **_):
    return changed_job(rest, certificates, program, having_run=False)


def change_of_what_has_run(rest, certificates, program, **_):
    return changed_job(rest, certificates, program, having_run=True)


def priority_of_a_volcano_gang(rest, certificates, program, **_):
    made = runtime("urgent", podGroupPolicy={"volcano": {}})
    made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["priorityClassName"] = "urgent"
    rest.create(made)
    with contextlib.suppress(ApiError):
        rest.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 7})
    wait_for("readiness", webhook_is_ready(program))

    def admitted():
        return is_admitted(certificates, program, train_job("urgent", "urgent"))
    admitted()
    return admitted


def certificate_is_shown(rest, plane, program, **_):
    plane.kubectl("apply", "--server-side", "-k", ROOT / "manifests" / "base" / "webhook")
    configurations = [("validatingwebhookconfigurations", "validator"), ("mutatingwebhookconfigurations", "defaulter")]

    def shown():
        found = [rest.request("GET", f"/apis/admissionregistration.k8s.io/v1/{plural}/{name}.trainer.kubeflow.org")
                 for plural, name in configurations]
        return (all(webhook["clientConfig"].get("caBundle") for each in found for webhook in each["webhooks"])
                and program.admin("/readyz")[0] == 200)
    return shown


def token_is_asked_about(rest, certificates, program, **_):
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/signalbox-webhook/token"
    token = rest.request("POST", path, {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
                                        "spec": {"audiences": ["signalbox-webhook"]}})["status"]["token"]
    wait_for("readiness", webhook_is_ready(program))
    asked = lambda: review(certificates, program, REVIEWS, {}, {"Authorization": f"Bearer {token}"})[0] not in (401, 403, 500, 503)
    asked()
    return asked


SELF_SIGNED = ("--self-signed", f"--cert-secret={NAMESPACE}/signalbox-webhook-cert", f"--service={NAMESPACE}/signalbox-webhook")
# role, a resource (and verb or name) that tells which rule, the story, and options of the program.
STORIES = [
    ("reconciler", "trainjobs", job_is_seen),
    ("reconciler", "trainjobs/status", job_is_seen),
    ("reconciler", "trainjobs/finalizers", job_is_owned),
    ("reconciler", "clustertrainingruntimes", job_is_seen),
    ("reconciler", "jobsets", job_is_seen),
    ("reconciler", "configmaps", job_is_seen),
    ("reconciler", "secrets", keys_of_mpi),
    ("reconciler", "podgroups", gang),
    ("reconciler", "limitranges", gang),
    ("reconciler", "runtimeclasses", gang_in_sandboxes),
    ("reconciler", "resourceclaimtemplates", gpus_are_counted),
    ("reconciler", "events", job_is_told_of),
    ("reconciler", "leases create", leads),
    ("reconciler", "leases get", leads_on),
    ("webhook", "clustertrainingruntimes", webhook_is_ready),
    ("webhook", "jobsets", change_of_what_may_be_active),
    ("webhook", "configmaps", change_of_what_has_run),
    ("webhook", "priorityclasses", priority_of_a_volcano_gang),
    ("webhook-certificate", "secrets", certificate_is_shown, *SELF_SIGNED),
    ("webhook-certificate", "validatingwebhookconfigurations", certificate_is_shown, *SELF_SIGNED),
    ("webhook-certificate", "mutatingwebhookconfigurations", certificate_is_shown, *SELF_SIGNED),
    ("webhook-callers", "tokenreviews", token_is_asked_about, "--token-audience=signalbox-webhook"),
]

# Where what is in a namespace and what is in none are not one rule.
LIMITED_STORIES = [
    *STORIES,
    ("reconciler", "trainingruntimes", job_is_seen),
    ("reconciler", "deviceclasses", gpus_are_counted),
    ("webhook", "trainingruntimes", runtime_of_a_namespace_is_found),
]
ALL_STORIES = {"everywhere": STORIES, "in-namespaces": LIMITED_STORIES}


def rules_of(rest, name):
    """(path of the role, rule) of the roles of that name."""
    found = []
    for place in PLACES:
        path = f"{RBAC}{place}/signalbox-{name}"
        with contextlib.suppress(ApiError):
            found += [(path, rule) for rule in rest.request("GET", path)["rules"]]
    return found


def is_about(rule, what):
    resource, _, verb = what.partition(" ")
    return resource in rule["resources"] and (not verb or verb in rule["verbs"])


@pytest.mark.parametrize("plane, stories", [pytest.param(each, rows, id=each) for each, rows in ALL_STORIES.items()],
                         indirect=["plane"])
def test_every_rule_has_one_story(plane, rest, stories):
    for name in {row[0] for row in stories}:
        for _, rule in rules_of(rest, name):
            told = [row[1] for row in stories if row[0] == name and is_about(rule, row[1])]
            assert len(told) == 1, (name, rule)
    assert {f"signalbox-{row[0]}" for row in STORIES} | {"kubeflow-trainer-public"} == {
        name for file in ROLES for name in re.findall(r"(?m)^kind: (?:Cluster)?Role\nmetadata:\n  name: (.*)$", file.read_text())}


def refusals(program):
    """What it tells an operator to permit."""
    lines = map(json.loads, program.text().splitlines())
    return {line["resource"].split(".")[0] for line in lines if "a permission is missing" in line["msg"]}


@pytest.mark.parametrize("plane, role, what, story, options", [
    pytest.param(installation, role, what, story, options,
                 id=f"{installation}-{role}-{what.replace(' ', '-').replace('/', '-')}-{story.__name__}")
    for installation, stories in ALL_STORIES.items() for role, what, story, *options in stories], indirect=["plane"])
def test_a_story_that_a_rule_is_for_stops_without_it_and_goes_on_with_it(plane, rest, start, certificates, role, what, story, options):
    (path, _), = [each for each in rules_of(rest, role) if is_about(each[1], what)]
    with without(rest, path, lambda rule: is_about(rule, what)):
        program = start("webhook" if role.startswith("webhook") else "reconciler", *options)
        has_come_to_pass = story(rest=rest, plane=plane, program=program, certificates=certificates)
        told = "finalizers of the owner" if story is job_is_owned else what.split(" ")[0].split("/")[0]
        wait_for("the refusal", lambda: told in refusals(program))
        assert story in (gpus_are_counted, job_is_told_of) or not has_come_to_pass()
    wait_for("the story to go on", has_come_to_pass, timeout=120)
