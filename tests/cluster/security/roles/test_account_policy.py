"""Requests with a token of Signalbox's accounts that base/account-policy.yaml denies, although the roles allow them. The programs' own
requests run under this policy in tests/cluster."""

import base64
import copy
import re

import pytest
import yaml

from accounts import ANOTHER, IN_USE, JOB_SET, MANAGER, OWNER, PATH, POLICY, create, is_allowed, merge_patch, obj, refused
from paths import ROOT
from rest import wait_for


@pytest.mark.parametrize("secret", [
    obj("Secret", "token", type="kubernetes.io/service-account-token", annotations={"kubernetes.io/service-account.name": "default"}),
    obj("Secret", "bootstrap-token-abcdef", type="bootstrap.kubernetes.io/token"),
    obj("Secret", "job-flux-curve", type="example.com/type-of-another-controller"),
], ids=lambda secret: secret["type"])
def test_a_secret_for_a_token_of_another_account_is_denied(thief, secret):
    assert refused(lambda: create(thief, secret))


def test_the_webhooks_secret_may_not_become_a_token_of_another_account(thief_of_webhook):
    def apply(**fields):
        path = PATH["Secret"].format("kubeflow-system") + "/signalbox-webhook-cert?fieldManager=thief&dryRun=All"
        return thief_of_webhook.request("PATCH", path, obj("Secret", "signalbox-webhook-cert", owners=(), **fields),
                                        "application/apply-patch+yaml")
    wait_for("the role", lambda: is_allowed(lambda: apply(type="kubernetes.io/tls", data={"tls.crt": "", "tls.key": ""})))
    assert refused(lambda: apply(type="kubernetes.io/service-account-token",
                                 annotations={"kubernetes.io/service-account.name": "signalbox-reconciler"}))
    assert refused(lambda: apply(type="Opaque"))


@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
def test_the_webhook_may_change_only_the_ca_of_its_configurations(rest, thief_of_webhook, configurations, kind):
    def change(act):
        configuration = thief_of_webhook.request("GET", configurations[kind])
        act(configuration["webhooks"])
        return thief_of_webhook.request("PUT", f"{configurations[kind]}?{MANAGER}", configuration)
    wait_for("the role", lambda: is_allowed(lambda: change(lambda webhooks: None)))
    schema = rest.request("GET", "/openapi/v3/apis/admissionregistration.k8s.io/v1")["components"]["schemas"][
        f"io.k8s.api.admissionregistration.v1.{kind}Webhook"]["properties"]
    for number, webhook in enumerate(thief_of_webhook.request("GET", configurations[kind])["webhooks"]):
        others = {
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}],
            "namespaceSelector": {}, "objectSelector": {"matchLabels": {"a": "b"}},
            "failurePolicy": "Fail" if webhook["failurePolicy"] == "Ignore" else "Ignore", "matchPolicy": "Exact", "timeoutSeconds": 30,
            "sideEffects": "NoneOnDryRun", "name": "another.example.com", "admissionReviewVersions": ["v1", "v1beta1"],
            "matchConditions": [{"name": "never", "expression": "false"}], "clientConfig": {"url": "https://elsewhere.example.com/"},
            **({"reinvocationPolicy": "Never"} if kind == "Mutating" else {})}
        assert others.keys() == schema.keys(), "each member is tried"
        for field, value in [*others.items(), ("clientConfig", {"service": {"name": "another", "namespace": "default"}})]:
            assert refused(lambda: change(lambda webhooks: webhooks[number].update({field: value}))), field
    assert refused(lambda: change(lambda webhooks: webhooks.append({**webhooks[0], "name": "another.example.com"})))
    assert refused(lambda: change(lambda webhooks: webhooks.pop()))
    bundle = base64.b64encode((thief_ca(thief_of_webhook)).encode()).decode()
    changed = change(lambda webhooks: [webhook["clientConfig"].update(caBundle=bundle) for webhook in webhooks])
    assert {webhook["clientConfig"]["caBundle"] for webhook in changed["webhooks"]} == {bundle}


def thief_ca(client):
    """Returns any certificate: every namespace has that of the API server."""
    return client.request("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")[
        "data"]["client-ca-file"]


@pytest.mark.parametrize("kind", ["ConfigMap", "JobSet", "NativePodGroup", "PodDisruptionBudget", "NetworkPolicy"])
@pytest.mark.parametrize("owners", [[], [ANOTHER]], ids=["without owner", "another's"])
def test_objects_of_other_owners_may_not_be_created_changed_adopted_or_deleted(thief, there, kind, owners):
    other = obj(kind, "coredns", owners=owners)
    assert refused(lambda: create(thief, other))
    there(other)
    path = f"{PATH[kind].format('default')}/coredns"
    seen = thief.request("GET", path)
    for owner in (owners, [OWNER]):
        changed = copy.deepcopy(seen)
        changed["metadata"] |= {"labels": {"changed": "yes"}, "ownerReferences": owner}
        if kind in ("ConfigMap", "PodDisruptionBudget", "NetworkPolicy"):
            assert refused(lambda: thief.request("PUT", path, changed))
        else:
            change = {"metadata": {"labels": {"changed": "yes"}, "ownerReferences": owner}}
            assert refused(lambda: thief.request("PATCH", path, change, "application/merge-patch+json"))
    assert refused(lambda: thief.request("DELETE", path))


def test_owned_objects_may_be_changed_and_deleted_but_keep_their_owner(thief, there):
    there(obj("ConfigMap", "ours"))
    path = PATH["ConfigMap"].format("default") + "/ours"
    changed = thief.request("GET", path) | {"data": {"a": "b"}}
    assert thief.request("PUT", path, changed)["data"] == {"a": "b"}
    given_away = thief.request("GET", path)
    del given_away["metadata"]["ownerReferences"]
    assert refused(lambda: thief.request("PUT", path, given_away))
    assert thief.request("DELETE", path + "?dryRun=All")


SET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "controller": True,
       "uid": "5a5ca027-df0f-44ad-9d2f-74cb0a848a92"}


@pytest.mark.parametrize("name, owners, suspend, may_go", [
    ("suspended", [SET], True, True), ("running", [SET], False, False), ("alone", [], True, False),
    ("of-another", [ANOTHER], True, False), ("not-controlled", [{**SET, "controller": False}], True, False),
    ("of-a-train-job", [OWNER], True, False)])
def test_only_suspended_jobs_of_a_job_set_may_be_deleted(thief, there, name, owners, suspend, may_go):
    there(obj("Job", name, owners=owners, spec={"suspend": suspend, **JOB_SET["replicatedJobs"][0]["template"]["spec"]}))
    path = PATH["Job"].format("default") + f"/{name}?dryRun=All"
    assert thief.request("DELETE", path) if may_go else refused(lambda: thief.request("DELETE", path))


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "JobSet"])
def test_nothing_may_be_created_in_kube_system(rest, thief, kind):
    ours = obj(kind, {"ConfigMap": "job-runtime-snapshot", "Secret": "job-flux-curve", "JobSet": "job"}[kind])
    assert refused(lambda: create(thief, ours, "kube-system"))
    assert create(rest, ours, "kube-system"), "others may"


def test_runtimes_may_lose_the_finalizer_and_change_in_nothing_else(rest, thief):
    spec = {"template": {"spec": JOB_SET}}
    rest.create({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "spec": spec,
                 "metadata": {"name": "shared", "finalizers": [IN_USE, "example.com/of-others"]}})
    change = {"spec": {"template": {"spec": {"replicatedJobs": [
        {**JOB_SET["replicatedJobs"][0], "name": "changed"}]}}}}
    assert refused(lambda: thief.patch("clustertrainingruntimes", "shared", change))
    assert refused(lambda: thief.patch("clustertrainingruntimes", "shared", {
        "metadata": {"labels": {"trainer.kubeflow.org/webhook-validation": "disabled"}}}))
    for finalizers in ([], [IN_USE], ["example.com/another", "example.com/of-others"]):
        assert refused(lambda: thief.patch("clustertrainingruntimes", "shared", {"metadata": {"finalizers": finalizers}}))
    assert thief.patch("clustertrainingruntimes", "shared", {"metadata": {"finalizers": ["example.com/of-others"]}})
    rest.patch("clustertrainingruntimes", "shared", change)
    rest.patch("clustertrainingruntimes", "shared", {"metadata": {"finalizers": []}})
    rest.delete("clustertrainingruntimes", "shared")


def test_the_policy_is_bound_and_applies_to_the_installed_accounts(installed):
    policy, binding = yaml.safe_load_all(POLICY.read_text())
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
    condition, = policy["spec"]["matchConditions"]
    accounts = {f"'system:serviceaccount:{each['metadata']['namespace']}:{each['metadata']['name']}'"
                for each in installed if each["kind"] == "ServiceAccount"}
    assert len(accounts) == 2 and set(re.findall("'.*?'", condition["expression"])) == accounts
    assert policy["spec"]["failurePolicy"] == "Fail"


def test_the_policy_covers_all_that_the_roles_allow_to_write_except_the_end_of_train_jobs():
    role, = (each for each in yaml.safe_load_all((ROOT / "manifests" / "base" / "rbac" / "reconciler.yaml").read_text())
             if each["kind"] == "ClusterRole")
    operation = {"create": "CREATE", "update": "UPDATE", "patch": "UPDATE", "delete": "DELETE"}
    written = {(group, resource, operation[verb]) for rule in role["rules"] for group in rule["apiGroups"]
               for resource in rule["resources"] for verb in rule["verbs"] if verb in operation}
    policy = next(yaml.safe_load_all(POLICY.read_text()))
    judged = {(group, resource, verb) for rule in policy["spec"]["matchConstraints"]["resourceRules"] for group in rule["apiGroups"]
              for resource in rule["resources"] for verb in rule["operations"]}
    # The API server has no trainjobs/finalizers to write. It asks for the permission where an owner blocks its deletion.
    own_business = {("trainer.kubeflow.org", "trainjobs", "DELETE"), ("trainer.kubeflow.org", "trainjobs/finalizers", "UPDATE")}
    assert written - judged == own_business


def test_the_server_of_progress_may_write_only_its_secret_and_its_lease_as_they_are(thief_of_progress):
    def secret(**fields):
        path = PATH["Secret"].format("kubeflow-system") + "/signalbox-progress-cert?fieldManager=thief&dryRun=All"
        data = {"tls.crt": "", "tls.key": ""}
        return thief_of_progress.request("PATCH", path, {**obj("Secret", "signalbox-progress-cert", owners=()), "data": data, **fields},
                                         "application/apply-patch+yaml")
    assert secret(type="kubernetes.io/tls")
    assert refused(lambda: secret(type="kubernetes.io/service-account-token", metadata={
        "name": "signalbox-progress-cert", "annotations": {"kubernetes.io/service-account.name": "signalbox-reconciler"}}))
    assert refused(lambda: secret(type="kubernetes.io/tls", metadata={"name": "signalbox-progress-cert", "finalizers": ["example.com/any"]}))
    assert refused(lambda: create(thief_of_progress, obj("Lease", "trainer.kubeflow.org", owners=()), "kubeflow-system"))
    assert refused(lambda: create(thief_of_progress, obj("Lease", "signalbox-progress"), "kubeflow-system"))
    assert create(thief_of_progress, obj("Lease", "signalbox-progress", owners=()), "kubeflow-system")


def test_the_server_of_progress_may_not_date_its_availability_back(rest, thief_of_progress):
    path = PATH["Lease"].format("kubeflow-system")
    made = rest.request("POST", path, obj("Lease", "signalbox-progress", owners=(), spec={"acquireTime": "2026-01-01T00:00:00.000001Z"}))

    def write(spec):
        return thief_of_progress.request("PUT", f"{path}/signalbox-progress?dryRun=All", {**made, "spec": spec})
    try:
        for later in ("2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00.000002Z"):
            assert write({"acquireTime": later})
        for earlier in ({"acquireTime": "2026-01-01T00:00:00.000000Z"}, {}):
            assert refused(lambda spec=earlier: write(spec))
    finally:
        rest.request("DELETE", f"{path}/signalbox-progress")


def test_the_policy_of_progress_covers_all_that_its_roles_allow_to_write():
    component = ROOT / "manifests" / "components" / "progress"
    operation = {"create": "CREATE", "update": "UPDATE", "patch": "UPDATE"}
    written = {(group, resource, operation[verb]) for role in yaml.safe_load_all((component / "rbac.yaml").read_text())
               for rule in role.get("rules", []) for group in rule["apiGroups"] for resource in rule["resources"]
               for verb in rule["verbs"] if verb in operation}
    policy, binding = yaml.safe_load_all((component / "account-policy.yaml").read_text())
    judged = {(group, resource, verb) for rule in policy["spec"]["matchConstraints"]["resourceRules"] for group in rule["apiGroups"]
              for resource in rule["resources"] for verb in rule["operations"]}
    assert written - judged == {("authentication.k8s.io", "tokenreviews", "CREATE")}
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
