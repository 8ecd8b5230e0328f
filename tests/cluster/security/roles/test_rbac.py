"""The permissions of Signalbox's service accounts, by the files and by a real authorizer: exactly those that are listed here."""

import contextlib
import json
import re

import pytest
import yaml

from deployment import NAMESPACE
from installation import OF_USERS, PUBLIC, accounts_and_roles, elsewhere, system_of
from paths import ROOT
from rest import Rest, wait_for

RBAC = sorted(path for path in (ROOT / "manifests" / "base" / "rbac").glob("*.yaml") if path.name != "kustomization.yaml")
ALL_RBAC = [*RBAC, *sorted((ROOT / "manifests" / "components").rglob("rbac.yaml"))]
OURS = "trainer.kubeflow.org"
JOBSET = "jobset.x-k8s.io"
LEASES = "coordination.k8s.io"
ADMISSION = "admissionregistration.k8s.io"
ACCOUNTS = ("webhook", "reconciler", "progress")
# Scope: all namespaces, or those of a limited installation; the programs' namespace; cluster-scoped objects.
LOOKED_AFTER, OF_PROGRAMS, SHARED = "looked after", "of programs", "shared"

# account, verbs, group, resources, where, names of objects
LISTED = [
    ("webhook", "get list watch", OURS, "trainingruntimes", LOOKED_AFTER, ""),
    ("webhook", "get list watch", OURS, "clustertrainingruntimes", SHARED, ""),
    ("webhook", "list", OURS, "trainjobs", LOOKED_AFTER, ""),
    ("webhook", "get", "", "configmaps", LOOKED_AFTER, ""),
    ("webhook", "get", JOBSET, "jobsets", LOOKED_AFTER, ""),
    ("webhook", "get", "", "services", LOOKED_AFTER, ""),
    ("webhook", "get", "scheduling.k8s.io", "priorityclasses", SHARED, ""),
    # Component self-signed.
    ("webhook", "get create patch update", "", "secrets", OF_PROGRAMS, "signalbox-webhook-cert"),
    ("webhook", "get update", ADMISSION, "validatingwebhookconfigurations", SHARED, "validator.trainer.kubeflow.org"),
    ("webhook", "get update", ADMISSION, "mutatingwebhookconfigurations", SHARED, "defaulter.trainer.kubeflow.org"),
    # Component bearer-tokens.
    ("webhook", "create", "authentication.k8s.io", "tokenreviews", SHARED, ""),
    # Component secure-metrics.
    *[(account, "create", "authorization.k8s.io", "subjectaccessreviews", SHARED, "") for account in ACCOUNTS],
    ("reconciler", "create", "authentication.k8s.io", "tokenreviews", SHARED, ""),

    # Component progress.
    ("progress", "create", "authentication.k8s.io", "tokenreviews", SHARED, ""),
    ("progress", "get", OURS, "trainjobs", LOOKED_AFTER, ""),
    ("progress", "patch", OURS, "trainjobs/status", LOOKED_AFTER, ""),
    ("progress", "get", JOBSET, "jobsets", LOOKED_AFTER, ""),
    ("progress", "get", "", "pods", LOOKED_AFTER, ""),
    ("progress", "create", LEASES, "leases", OF_PROGRAMS, ""),
    ("progress", "get update", LEASES, "leases", OF_PROGRAMS, "signalbox-progress"),
    ("progress", "get create patch update", "", "secrets", OF_PROGRAMS, "signalbox-progress-cert"),
    ("reconciler", "get", LEASES, "leases", OF_PROGRAMS, "signalbox-progress"),

    ("reconciler", "get list watch delete", OURS, "trainjobs", LOOKED_AFTER, ""),
    ("reconciler", "patch", OURS, "trainjobs/status", LOOKED_AFTER, ""),
    ("reconciler", "update", OURS, "trainjobs/finalizers", LOOKED_AFTER, ""),
    ("reconciler", "get list watch patch", OURS, "trainingruntimes", LOOKED_AFTER, ""),
    ("reconciler", "get list watch patch", OURS, "clustertrainingruntimes", SHARED, ""),
    ("reconciler", "get list watch create patch delete", JOBSET, "jobsets", LOOKED_AFTER, ""),
    ("reconciler", "get list delete", "batch", "jobs", LOOKED_AFTER, ""),
    ("reconciler", "list", "", "pods", LOOKED_AFTER, ""),
    ("reconciler", "get create", "", "persistentvolumeclaims", LOOKED_AFTER, ""),
    ("reconciler", "get", "", "services", LOOKED_AFTER, ""),
    ("reconciler", "get create update delete", "", "configmaps", LOOKED_AFTER, ""),
    ("reconciler", "get create", "", "secrets", LOOKED_AFTER, ""),
    ("reconciler", "get list watch create patch", "scheduling.x-k8s.io", "podgroups", LOOKED_AFTER, ""),
    ("reconciler", "get list watch create patch", "scheduling.volcano.sh", "podgroups", LOOKED_AFTER, ""),
    ("reconciler", "get list watch create patch delete", "scheduling.k8s.io", "podgroups", LOOKED_AFTER, ""),
    ("reconciler", "get list watch create update delete", "policy", "poddisruptionbudgets", LOOKED_AFTER, ""),
    ("reconciler", "get list watch create update delete", "networking.k8s.io", "networkpolicies", LOOKED_AFTER, ""),
    ("reconciler", "list", "", "limitranges", LOOKED_AFTER, ""),
    ("reconciler", "get", "node.k8s.io", "runtimeclasses", SHARED, ""),
    ("reconciler", "get", "resource.k8s.io", "resourceclaims resourceclaimtemplates", LOOKED_AFTER, ""),
    ("reconciler", "get", "resource.k8s.io", "deviceclasses", SHARED, ""),
    ("reconciler", "list create patch", "", "events", LOOKED_AFTER, ""),
    ("reconciler", "create", LEASES, "leases", OF_PROGRAMS, ""),
    ("reconciler", "get update", LEASES, "leases", OF_PROGRAMS, "trainer.kubeflow.org"),
]
# A reconciler that is limited to namespaces changes no cluster-scoped object.
NOT_IF_LIMITED = {("patch", OURS, "clustertrainingruntimes", "")}
# A reconciler that is limited reads one Secret of the programs' namespace: component progress/namespaced.
ONLY_IF_LIMITED = {("get", "", "secrets", "signalbox-progress-cert")}
# The permissions that would help an attacker most; they must not be listed above. test_account_policy.py has what roles cannot deny.
NEVER = [
    *[(account, verb, "", resource) for account in ACCOUNTS for resource in ("secrets", "configmaps")
      for verb in ("list", "watch")],
    *[("reconciler", verb, "", "secrets") for verb in ("update", "patch", "delete", "deletecollection")],
    *[(account, verb, "", "pods") for account in ("webhook", "reconciler") for verb in ("create", "get", "delete")],
    *[("progress", verb, "", "pods") for verb in ("list", "watch", "create", "update", "patch", "delete")],
    *[(account, "create", "", "serviceaccounts/token") for account in ACCOUNTS],
    *[(account, verb, OURS, "trainjobs") for account in ("webhook", "progress") for verb in ("create", "update", "patch", "delete")],
    *[("reconciler", verb, "batch", "jobs") for verb in ("watch", "create", "update", "patch", "deletecollection")],
    *[("reconciler", verb, OURS, "trainjobs") for verb in ("create", "update", "patch", "deletecollection")],
]


def listed(account, *places):
    return {(verb, group, resource, name) for of, verbs, group, resources, where, name in LISTED
            if of == account and where in places for verb in verbs.split() for resource in resources.split()}


@pytest.mark.parametrize("path, role", [
    pytest.param(path, role, id=f"{path.parent.name}-{role['kind']}-{role['metadata']['name']}")
    for path in ALL_RBAC for role in yaml.safe_load_all(path.read_text()) if role["kind"].endswith("Role")])
def test_no_wildcards(path, role):
    for rule in role.get("rules", []):
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]


@pytest.mark.parametrize("path", ALL_RBAC, ids=lambda path: path.relative_to(ROOT / "manifests").as_posix())
def test_a_comment_says_why_for_every_rule(path):
    lines = path.read_text().splitlines()
    rules = [number for number, line in enumerate(lines) if re.match(r"  - apiGroups:", line)]
    assert rules
    for number in rules:
        # A comment may cover a rule and the one that narrows it.
        before = lines[number - 1].strip()
        assert before.startswith("#") or before.startswith("verbs:"), f"{path.name}:{number + 1}"


def test_bindings_join_accounts_and_roles_of_one_name(installed):
    accounts = {obj["metadata"]["name"] for obj in installed if obj["kind"] == "ServiceAccount"}
    bindings = [obj for obj in installed if obj["kind"].endswith("RoleBinding")]
    roles = {(obj["kind"], obj["metadata"]["name"]) for obj in installed if obj["kind"].endswith("Role")}
    bound = {(b["roleRef"]["kind"], b["roleRef"]["name"]) for b in bindings}
    # Of users' roles, those are bound that every account has. tests/cluster/security/test_users.py binds the others.
    assert bound <= roles and {name for _, name in roles - bound} == {
        f"{OF_USERS}{name}" for name in ("view", "edit", "edit-runtimes", "admin")}
    for binding in bindings:
        (subject,) = binding["subjects"]
        if binding["metadata"]["name"].startswith(OF_USERS):
            assert (subject["kind"], subject["name"]) == ("Group", "system:authenticated")
        else:
            assert subject["name"] in accounts and subject["namespace"] == "kubeflow-system"


# The first installation has its permissions in all namespaces. The other one had, before it was limited.
WIDE, LIMITED = "wide", "limited"
TEAMS = ["team-a", "team-b"]
QUESTIONS = [
    *[(WIDE, namespace, (LOOKED_AFTER, SHARED)) for namespace in ("default", "kube-system")],
    (WIDE, system_of(WIDE), (LOOKED_AFTER, SHARED, OF_PROGRAMS)),
    *[(LIMITED, namespace, (LOOKED_AFTER, SHARED)) for namespace in TEAMS],
    *[(LIMITED, namespace, (SHARED,)) for namespace in ("default", "kube-system", system_of(WIDE))],
    (LIMITED, system_of(LIMITED), (SHARED, OF_PROGRAMS)),
]


@pytest.fixture(scope="module")
def granted(plane, rest, namespaces, tmp_path_factory):
    """Returns a function (account, installation, namespace) -> permissions of this account there that other accounts do not have."""
    def apply(installation, *limits):
        objects = accounts_and_roles(plane, tmp_path_factory.mktemp("overlay"), limits)
        plane.kubectl("apply", "--server-side", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            elsewhere(each, installation, {NAMESPACE: system_of(installation)}) for each in objects]}))

    for installation in (WIDE, LIMITED):
        rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": system_of(installation)}})
        apply(installation)
    apply(LIMITED, *TEAMS)
    rest.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "any", "namespace": "default"}})
    clients = {(account, installation): Rest(plane.service_account_kubeconfig(system_of(installation), f"signalbox-{account}"))
               for account in ACCOUNTS for installation in (WIDE, LIMITED)}
    newcomer = Rest(plane.service_account_kubeconfig("default", "any"))
    return lambda account, installation, namespace: (
        rules(clients[account, installation], namespace) - rules(newcomer, namespace))


def rules(client, namespace):
    """Returns the client's permissions in a namespace and for cluster-scoped objects."""
    answer = client.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace}})["status"]
    of_resources = {(verb, group, resource, name) for rule in answer["resourceRules"] for verb in rule["verbs"]
                    for group in rule["apiGroups"] for resource in rule["resources"] for name in rule.get("resourceNames", [""])}
    return of_resources | {(verb, url) for rule in answer["nonResourceRules"] for verb in rule["verbs"]
                           for url in rule["nonResourceURLs"]}


@pytest.mark.parametrize("account", ACCOUNTS)
@pytest.mark.parametrize("installation, namespace, places", QUESTIONS, ids=[f"{each[0]}-in-{each[1]}" for each in QUESTIONS])
def test_exactly_the_listed_permissions_are_granted(granted, account, installation, namespace, places):
    want = listed(account, *places) - (NOT_IF_LIMITED if installation == LIMITED else set())
    if installation == LIMITED and account == "reconciler" and OF_PROGRAMS in places:
        want |= ONLY_IF_LIMITED
    # The authorizer watches roles, so changes take a moment.
    with contextlib.suppress(AssertionError):
        wait_for("the applied roles to be in force", lambda: granted(account, installation, namespace) == want, timeout=5)
    assert granted(account, installation, namespace) == want


def test_no_dangerous_permission_is_listed():
    for account, *permission in NEVER:
        assert tuple(permission) not in {each[:3] for each in listed(account, LOOKED_AFTER, SHARED)}, (account, permission)
    # Its own Lease, and that of the server of reports, which it reads before it decides on a progress deadline.
    of_server = {("get", LEASES, "leases", "signalbox-progress")}
    assert {name for _, group, _, name in listed("reconciler", OF_PROGRAMS) - {("create", LEASES, "leases", "")} - of_server} == {OURS}
    assert {(resource, name) for _, _, resource, name in listed("webhook", OF_PROGRAMS)} == {("secrets", "signalbox-webhook-cert")}
    for account in ("webhook", "progress"):
        assert "secrets" not in {resource for _, _, resource, _ in listed(account, LOOKED_AFTER)}


def test_every_account_may_read_the_version():
    """Clients learn from it which controller is installed: tests/cluster/operations/manifests/test_overlays.py."""
    role, = (each for path in RBAC for each in yaml.safe_load_all(path.read_text()) if each["metadata"]["name"] == PUBLIC
             and each["kind"] == "Role")
    assert [(rule["verbs"], rule["resources"], rule["resourceNames"]) for rule in role["rules"]] == [
        (["get"], ["configmaps"], [PUBLIC])]


@pytest.mark.parametrize("path", ALL_RBAC, ids=lambda path: path.relative_to(ROOT / "manifests").as_posix())
def test_the_security_guide_describes_the_value_of_each_rule_for_an_attacker(path):
    guide = (ROOT / "docs" / "security.md").read_text()
    rules = [rule for role in yaml.safe_load_all(path.read_text()) for rule in role.get("rules", [])]
    assert rules
    for rule in rules:
        names = f" [{', '.join(rule['resourceNames'])}]" if "resourceNames" in rule else ""
        assert f"{', '.join(rule['resources'])}: {', '.join(rule['verbs'])}{names}" in guide


def test_the_security_guide_lists_only_existing_rules():
    listed = re.findall(r"(?m)^\| (.*?): ([a-z, ]*?)(?: \[.*?\])?(?:, (?:in|for) [a-z-]+)? \|",
                        (ROOT / "docs" / "security.md").read_text().partition("## Permissions")[2].partition("\n## ")[0])
    rules = {(", ".join(rule["resources"]), ", ".join(rule["verbs"])) for path in ALL_RBAC
             for role in yaml.safe_load_all(path.read_text()) for rule in role.get("rules", [])}
    assert len(listed) > 20 and set(listed) <= rules
