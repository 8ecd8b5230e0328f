"""What our service accounts may do, read from the files and asked of a real authorizer."""

import re

import pytest
import yaml

from paths import ROOT

RBAC = sorted(path for path in (ROOT / "manifests" / "base" / "rbac").glob("*.yaml") if path.name != "kustomization.yaml")
ALL_RBAC = [*RBAC, *sorted((ROOT / "manifests" / "components").rglob("rbac.yaml"))]
ROLES = [pytest.param(path, role, id=f"{role['kind']} {role['metadata']['name']}")
         for path in RBAC for role in yaml.safe_load_all(path.read_text()) if role["kind"].endswith("Role")]
OURS = "trainer.kubeflow.org"
JOBSET = "jobset.x-k8s.io"
LEASES = "coordination.k8s.io"
EVERYWHERE, HERE = "", "kubeflow-system"

# account, verb, group, resource (with subresource), namespace, name
ALLOWED = [
    *[("webhook", verb, OURS, kind, EVERYWHERE, "")
      for verb in ("get", "list", "watch") for kind in ("trainingruntimes", "clustertrainingruntimes")],
    ("webhook", "get", "", "configmaps", EVERYWHERE, "a"),
    ("webhook", "get", JOBSET, "jobsets", EVERYWHERE, "a"),
    ("webhook", "get", "scheduling.k8s.io", "priorityclasses", EVERYWHERE, "a"),
    *[("reconciler", verb, OURS, "trainjobs", EVERYWHERE, "") for verb in ("get", "list", "watch", "delete")],
    ("reconciler", "patch", OURS, "trainjobs/status", EVERYWHERE, "a"),
    ("reconciler", "update", OURS, "trainjobs/finalizers", EVERYWHERE, "a"),
    *[("reconciler", verb, OURS, kind, EVERYWHERE, "")
      for verb in ("get", "list", "watch", "patch") for kind in ("trainingruntimes", "clustertrainingruntimes")],
    *[("reconciler", verb, JOBSET, "jobsets", EVERYWHERE, "")
      for verb in ("get", "list", "watch", "create", "patch", "delete")],
    *[("reconciler", verb, "", "configmaps", EVERYWHERE, "a") for verb in ("get", "create", "update", "delete")],
    *[("reconciler", verb, "", "secrets", EVERYWHERE, "a") for verb in ("get", "create")],
    ("reconciler", "get", "", "secrets", HERE, "kubeflow-trainer-webhook-cert"),
    *[("reconciler", verb, group, "podgroups", EVERYWHERE, "a")
      for group in ("scheduling.x-k8s.io", "scheduling.volcano.sh") for verb in ("get", "list", "watch", "create", "patch")],
    ("reconciler", "list", "", "limitranges", EVERYWHERE, ""),
    ("reconciler", "get", "node.k8s.io", "runtimeclasses", EVERYWHERE, "a"),
    *[("reconciler", "get", "resource.k8s.io", kind, EVERYWHERE, "a")
      for kind in ("resourceclaims", "resourceclaimtemplates", "deviceclasses")],
    *[("reconciler", verb, "", "events", EVERYWHERE, "") for verb in ("create", "patch")],
    ("reconciler", "create", LEASES, "leases", HERE, ""),
    *[("reconciler", verb, LEASES, "leases", HERE, "trainer.kubeflow.org") for verb in ("get", "update")],
]
# What would matter most if a token were stolen. What roles cannot refuse: test_account_policy.py.
REFUSED = [
    *[(account, verb, "", resource, EVERYWHERE, "")
      for account in ("webhook", "reconciler") for resource in ("secrets", "configmaps") for verb in ("list", "watch")],
    *[("webhook", verb, "", "secrets", EVERYWHERE, "a") for verb in ("get", "create", "patch", "update", "delete")],
    *[("reconciler", verb, "", "secrets", EVERYWHERE, "a") for verb in ("update", "patch", "delete", "deletecollection")],
    *[(account, verb, "", "pods", EVERYWHERE, "") for account in ("webhook", "reconciler") for verb in ("create", "get", "delete")],
    *[(account, "create", "", "serviceaccounts/token", HERE, "a") for account in ("webhook", "reconciler")],
    *[("webhook", verb, OURS, "trainjobs", EVERYWHERE, "") for verb in ("create", "update", "patch", "delete")],
    *[("reconciler", verb, OURS, "trainjobs", EVERYWHERE, "a") for verb in ("create", "update", "patch")],
    ("reconciler", "deletecollection", OURS, "trainjobs", EVERYWHERE, ""),
    ("reconciler", "update", LEASES, "leases", HERE, "kube-scheduler"),
    ("reconciler", "get", LEASES, "leases", "kube-system", "trainer.kubeflow.org"),
]


@pytest.mark.parametrize("path, role", [
    pytest.param(path, role, id=f"{path.parent.name}-{role['kind']}-{role['metadata']['name']}")
    for path in ALL_RBAC for role in yaml.safe_load_all(path.read_text()) if role["kind"].endswith("Role")])
def test_no_wildcards(path, role):
    for rule in role["rules"]:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]


@pytest.mark.parametrize("path", ALL_RBAC, ids=lambda path: path.relative_to(ROOT / "manifests").as_posix())
def test_a_comment_says_why_for_every_rule(path):
    lines = path.read_text().splitlines()
    rules = [number for number, line in enumerate(lines) if re.match(r"  - apiGroups:", line)]
    assert rules
    for number in rules:
        # One comment may speak for a rule and for the one that narrows it.
        before = lines[number - 1].strip()
        assert before.startswith("#") or before.startswith("verbs:"), f"{path.name}:{number + 1}"


def test_bindings_join_accounts_and_roles_of_one_name(installed):
    accounts = {obj["metadata"]["name"] for obj in installed if obj["kind"] == "ServiceAccount"}
    bindings = [obj for obj in installed if obj["kind"].endswith("RoleBinding")]
    roles = {(obj["kind"], obj["metadata"]["name"]) for obj in installed if obj["kind"].endswith("Role")}
    assert {(b["roleRef"]["kind"], b["roleRef"]["name"]) for b in bindings} == roles
    for binding in bindings:
        (subject,) = binding["subjects"]
        if binding["metadata"]["name"] == "kubeflow-trainer-public":
            assert (subject["kind"], subject["name"]) == ("Group", "system:authenticated")
        else:
            assert subject["name"] in accounts and subject["namespace"] == "kubeflow-system"


def may(rest, account, verb, group, resource, namespace, name):
    plural, _, subresource = resource.partition("/")
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:kubeflow-system:signalbox-{account}",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:kubeflow-system", "system:authenticated"],
            "resourceAttributes": {"verb": verb, "group": group, "resource": plural, "subresource": subresource,
                                   "namespace": namespace, "name": name},
        },
    }
    return rest.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]


def test_what_they_need_is_allowed(rest, installed):
    assert [question for question in ALLOWED if not may(rest, *question)] == []


def test_what_would_hurt_is_refused(rest, installed):
    assert [question for question in REFUSED if may(rest, *question)] == []


@pytest.mark.parametrize("path, role", ROLES)
def test_nothing_is_allowed_that_is_not_listed_above(path, role):
    account = role["metadata"]["name"].removeprefix("signalbox-")
    if account == "kubeflow-trainer-public":  # for everybody: tests/cluster/operations/manifests/test_overlays.py
        assert [(rule["verbs"], rule["resourceNames"]) for rule in role["rules"]] == [(["get"], [account])]
        return
    listed = {(verb, group, resource) for who, verb, group, resource, _, _ in ALLOWED if who == account}
    granted = {(verb, group, resource) for rule in role["rules"] for verb in rule["verbs"]
               for group in rule["apiGroups"] for resource in rule["resources"]}
    assert granted <= listed


@pytest.mark.parametrize("path", ALL_RBAC, ids=lambda path: path.relative_to(ROOT / "manifests").as_posix())
def test_the_security_guide_says_what_each_rule_is_worth_to_an_attacker(path):
    guide = (ROOT / "docs" / "security.md").read_text()
    rules = [rule for role in yaml.safe_load_all(path.read_text()) for rule in role.get("rules", [])]
    assert rules
    for rule in rules:
        names = f" [{', '.join(rule['resourceNames'])}]" if "resourceNames" in rule else ""
        assert f"{', '.join(rule['resources'])}: {', '.join(rule['verbs'])}{names}" in guide


def test_the_security_guide_lists_no_rule_that_there_is_not():
    listed = re.findall(r"(?m)^\| (.*?): ([a-z, ]*?)(?: \[.*?\])?(?:, (?:in|for) [a-z-]+)? \|",
                        (ROOT / "docs" / "security.md").read_text().partition("## Permissions")[2])
    rules = {(", ".join(rule["resources"]), ", ".join(rule["verbs"])) for path in ALL_RBAC
             for role in yaml.safe_load_all(path.read_text()) for rule in role.get("rules", [])}
    assert len(listed) > 20 and set(listed) <= rules
