"""What base/account-policy.yaml refuses to whoever has the token of one of our accounts, though its roles allow it; what both
programs do in earnest they do under this policy in tests/cluster."""

import base64
import copy
import re

import pytest
import yaml

from paths import ROOT
from rest import ApiError, Rest, wait_for

POLICY = ROOT / "manifests" / "base" / "account-policy.yaml"
OWNER = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "job", "controller": True,
         "uid": "5a5ca027-df0f-44ad-9d2f-74cb0a848a91"}
ANOTHER = {**OWNER, "apiVersion": "apps/v1", "kind": "Deployment"}
JOB_SET = {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {
    "restartPolicy": "Never", "containers": [{"name": "node", "image": "registry.example.com/any:1"}]}}}}}]}
# What others have put there.
METADATA = {"labels": {"app.kubernetes.io/part-of": "any"}, "annotations": {"example.com/any": "yes"},
            "finalizers": ["example.com/of-others"]}
PATH = {"JobSet": "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets", "Secret": "/api/v1/namespaces/{}/secrets",
        "ConfigMap": "/api/v1/namespaces/{}/configmaps",
        "Job": "/apis/batch/v1/namespaces/{}/jobs",
        "PodGroup": "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups"}
IN_USE = "trainer.kubeflow.org/resource-in-use"  # the finalizer of older controllers
BY_POLICY = "ValidatingAdmissionPolicy 'signalbox-accounts'"


def obj(kind, name, owners=(OWNER,), **fields):
    versions = {"JobSet": "jobset.x-k8s.io/v1alpha2", "Job": "batch/v1"}
    if kind == "JobSet":
        fields.setdefault("spec", JOB_SET)
    return {"apiVersion": versions.get(kind, "v1"), "kind": kind,
            "metadata": {"name": name, "ownerReferences": list(owners), "annotations": fields.pop("annotations", {})}, **fields}


def create(client, what, namespace="default"):
    return client.request("POST", PATH[what["kind"]].format(namespace) + "?dryRun=All", what)


def refused(act):
    with pytest.raises(ApiError, match=BY_POLICY) as refusal:
        act()
    assert refusal.value.code == 403, "a refusal that the reconciler takes for one"
    return True


@pytest.fixture(scope="module")
def thief(plane, rest, installed):
    """Whoever has the reconciler's token."""
    client = Rest(plane.service_account_kubeconfig("kubeflow-system", "signalbox-reconciler"))

    def in_force():
        try:
            create(client, obj("ConfigMap", "probe", owners=()))
        except ApiError as error:
            return BY_POLICY in str(error)
        return False
    if POLICY.exists():
        wait_for("the policy to be in force", in_force)
    return client


@pytest.fixture
def there(rest):
    """Creates objects, as others do it, who are free to make what they like; they are gone after the test."""
    made = []

    def make(what, namespace="default"):
        created = rest.request("POST", PATH[what["kind"]].format(namespace), what)
        made.append(PATH[what["kind"]].format(namespace) + "/" + what["metadata"]["name"])
        return created
    yield make
    for path in made:
        rest.request("DELETE", path)


@pytest.mark.parametrize("secret", [
    obj("Secret", "token", type="kubernetes.io/service-account-token", annotations={"kubernetes.io/service-account.name": "default"}),
    obj("Secret", "bootstrap-token-abcdef", type="bootstrap.kubernetes.io/token"),
    obj("Secret", "any", type="example.com/type-of-another-controller"),
    obj("Secret", "unowned", owners=()),
    obj("Secret", "of-another", owners=[ANOTHER]),
    obj("Secret", "not-controlled", owners=[{**OWNER, "controller": False}]),
], ids=lambda secret: secret["metadata"]["name"])
def test_no_token_of_another_account_is_to_be_had_by_a_secret(thief, secret):
    assert refused(lambda: create(thief, secret))


@pytest.fixture(scope="module")
def thief_of_webhook(plane, thief):
    """Whoever has the webhook's token, where it makes its own certificate."""
    plane.kubectl("apply", "--server-side", "-f", ROOT / "manifests" / "components" / "self-signed" / "rbac.yaml")
    yield Rest(plane.service_account_kubeconfig("kubeflow-system", "signalbox-webhook"))
    plane.kubectl("delete", "-f", ROOT / "manifests" / "components" / "self-signed" / "rbac.yaml")


def test_nor_by_the_secret_that_the_webhook_may_make(thief_of_webhook):
    def apply(**fields):
        path = PATH["Secret"].format("kubeflow-system") + "/signalbox-webhook-cert?fieldManager=thief&dryRun=All"
        return thief_of_webhook.request("PATCH", path, obj("Secret", "signalbox-webhook-cert", owners=(), **fields),
                                        "application/apply-patch+yaml")
    wait_for("the role", lambda: is_allowed(lambda: apply(type="kubernetes.io/tls", data={"tls.crt": "", "tls.key": ""})))
    for kind in ("kubernetes.io/service-account-token", "Opaque"):
        assert refused(lambda: apply(type=kind, annotations={"kubernetes.io/service-account.name": "signalbox-reconciler"}))


@pytest.fixture
def configurations(rest):
    """The webhook's own ones, called by nothing."""
    made = {}
    for kind, name in (("Validating", "validator.trainer.kubeflow.org"), ("Mutating", "defaulter.trainer.kubeflow.org")):
        configuration = yaml.safe_load((ROOT / "manifests" / "base" / "webhook" / f"{kind.lower()}.yaml").read_text())
        for webhook in configuration["webhooks"]:
            webhook["namespaceSelector"] = {"matchLabels": {"no": "where"}}
            webhook["rules"][0]["scope"] = "Namespaced"
        configuration["metadata"] |= METADATA
        path = f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}webhookconfigurations"
        rest.request("POST", path, configuration)
        made[kind] = f"{path}/{name}"
    yield made
    for path in made.values():
        rest.request("PATCH", path, {"metadata": {"finalizers": []}}, "application/merge-patch+json")
        rest.request("DELETE", path)


@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
def test_nor_by_what_the_webhook_may_do_to_its_configurations_but_their_ca_it_may_change(thief_of_webhook, configurations, kind):
    def change(act):
        configuration = thief_of_webhook.request("GET", configurations[kind])
        act(configuration["webhooks"])
        return thief_of_webhook.request("PUT", configurations[kind], configuration)
    wait_for("the role", lambda: is_allowed(lambda: change(lambda webhooks: None)))
    for number, webhook in enumerate(thief_of_webhook.request("GET", configurations[kind])["webhooks"]):
        for field, value in (
                ("rules", [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]),
                ("namespaceSelector", {}), ("objectSelector", {"matchLabels": {"a": "b"}}),
                ("failurePolicy", "Fail" if webhook["failurePolicy"] == "Ignore" else "Ignore"),
                ("matchPolicy", "Exact"), ("timeoutSeconds", 30), ("sideEffects", "NoneOnDryRun"), ("name", "another.example.com"),
                ("matchConditions", [{"name": "never", "expression": "false"}]), ("admissionReviewVersions", ["v1", "v1beta1"]),
                ("clientConfig", {"url": "https://elsewhere.example.com/"}),
                ("clientConfig", {"service": {"name": "another", "namespace": "default"}}),
                *([("reinvocationPolicy", "Never")] if kind == "Mutating" else [])):
            assert refused(lambda: change(lambda webhooks: webhooks[number].update({field: value}))), field
    assert refused(lambda: change(lambda webhooks: webhooks.append({**webhooks[0], "name": "another.example.com"})))
    assert refused(lambda: change(lambda webhooks: webhooks.pop()))
    bundle = base64.b64encode((thief_ca(thief_of_webhook)).encode()).decode()
    changed = change(lambda webhooks: [webhook["clientConfig"].update(caBundle=bundle) for webhook in webhooks])
    assert {webhook["clientConfig"]["caBundle"] for webhook in changed["webhooks"]} == {bundle}


def changes_of_metadata(rest):
    """One for each field that Kubernetes' ObjectMeta has, by what the API server says of them: another value, and none."""
    schemas = rest.request("GET", "/openapi/v3/api/v1")["components"]["schemas"]
    for name, field in schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"].items():
        kind = field.get("type") or "time"
        value = {"string": "7", "integer": 7, "object": {"changed": "yes"}, "array": ["example.com/changed"],
                 "time": "2026-01-15T10:00:00Z"}[kind]
        value = {"ownerReferences": [ANOTHER], "managedFields": []}.get(name, value)
        yield name, value
        yield name, None


def unchanged_fields(client, path, changes):
    """Tries them one by one. Returns what was tried; what the server sets is what it sets."""
    def settled(metadata):
        return {name: value for name, value in metadata.items() if name not in ("managedFields", "resourceVersion", "generation")}
    tried = set()
    for name, value in changes:
        seen = client.request("GET", path)
        wanted = copy.deepcopy(seen)
        wanted["metadata"][name] = value
        try:
            if "trainingruntimes" in path:
                now = client.request("PATCH", path + "?dryRun=All", {"metadata": {name: value}}, "application/merge-patch+json")
            else:
                now = client.request("PUT", path + "?dryRun=All", wanted)
        except ApiError as error:
            assert error.code in (400, 403, 409, 422), (name, str(error))
        else:
            assert settled(now["metadata"]) == settled(seen["metadata"]), f"{name}: {value}"
        tried.add(name)
    return tried


@pytest.mark.parametrize("kind", ["ClusterTrainingRuntime", "TrainingRuntime"])
def test_no_field_of_a_runtimes_metadata_changes_and_so_it_has_no_false_owner(rest, thief, kind):
    runtime = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "spec": {"template": {"spec": JOB_SET}},
               "metadata": {"name": "kept", **METADATA}}
    resource = kind.lower() + "s"
    rest.create(runtime)
    try:
        path = "/apis/trainer.kubeflow.org/v1alpha1/" + ("" if kind.startswith("Cluster") else "namespaces/default/") + resource
        tried = unchanged_fields(thief, f"{path}/kept", changes_of_metadata(rest))
        assert {"ownerReferences", "labels", "annotations", "finalizers", "generateName"} < tried
    finally:
        rest.patch(resource, "kept", {"metadata": {"finalizers": []}})
        rest.delete(resource, "kept")


@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
def test_no_field_of_the_configurations_metadata_changes_and_so_admission_does_not_go_away(rest, thief_of_webhook, configurations, kind):
    wait_for("the role", lambda: is_allowed(lambda: thief_of_webhook.request("GET", configurations[kind])))
    assert len(unchanged_fields(thief_of_webhook, configurations[kind], changes_of_metadata(rest))) >= 13


def thief_ca(client):
    """Any certificate will do: every namespace has that of the API server."""
    return client.request("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")[
        "data"]["client-ca-file"]


def is_allowed(act):
    try:
        act()
    except ApiError as error:
        assert "cannot" in str(error)  # as roles say it
        return False
    return True


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "JobSet"])
def test_what_a_train_job_owns_may_be_made(thief, kind):
    assert create(thief, obj(kind, "ours"))


def test_the_keys_of_mpi_may_be_made(thief):
    assert create(thief, obj("Secret", "ours", type="kubernetes.io/ssh-auth", data={"ssh-privatekey": "YQ=="}))


@pytest.mark.parametrize("kind", ["ConfigMap", "JobSet"])
@pytest.mark.parametrize("owners", [[], [ANOTHER]], ids=["nobody's", "another's"])
def test_what_is_not_ours_may_be_neither_made_changed_taken_over_nor_deleted(thief, there, kind, owners):
    other = obj(kind, "coredns", owners=owners)
    assert refused(lambda: create(thief, other))
    there(other)
    path = f"{PATH[kind].format('default')}/coredns"
    seen = thief.request("GET", path)
    for owner in (owners, [OWNER]):
        changed = copy.deepcopy(seen)
        changed["metadata"] |= {"labels": {"changed": "yes"}, "ownerReferences": owner}
        if kind == "ConfigMap":
            assert refused(lambda: thief.request("PUT", path, changed))
        else:
            change = {"metadata": {"labels": {"changed": "yes"}, "ownerReferences": owner}}
            assert refused(lambda: thief.request("PATCH", path, change, "application/merge-patch+json"))
    assert refused(lambda: thief.request("DELETE", path))


def test_what_is_ours_may_be_changed_and_deleted_but_not_given_away(thief, there):
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
def test_of_jobs_only_suspended_ones_of_a_job_set_may_be_deleted(thief, there, name, owners, suspend, may_go):
    there(obj("Job", name, owners=owners, spec={"suspend": suspend, **JOB_SET["replicatedJobs"][0]["template"]["spec"]}))
    path = PATH["Job"].format("default") + f"/{name}?dryRun=All"
    assert thief.request("DELETE", path) if may_go else refused(lambda: thief.request("DELETE", path))


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "JobSet"])
def test_nothing_is_made_where_accounts_may_do_much(rest, thief, kind):
    assert refused(lambda: create(thief, obj(kind, "ours"), "kube-system"))
    assert create(rest, obj(kind, "ours"), "kube-system"), "others may"


def test_runtimes_lose_finalizers_and_change_in_nothing_else(rest, thief):
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


def test_the_policy_is_bound_and_speaks_of_the_accounts_that_there_are(installed):
    policy, binding = yaml.safe_load_all(POLICY.read_text())
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
    condition, = policy["spec"]["matchConditions"]
    accounts = {f"'system:serviceaccount:{each['metadata']['namespace']}:{each['metadata']['name']}'"
                for each in installed if each["kind"] == "ServiceAccount"}
    assert len(accounts) == 2 and set(re.findall("'.*?'", condition["expression"])) == accounts
    assert policy["spec"]["failurePolicy"] == "Fail"


def test_the_policy_covers_every_kind_that_the_roles_let_it_write_but_its_own_business():
    role, = (each for each in yaml.safe_load_all((ROOT / "manifests" / "base" / "rbac" / "reconciler.yaml").read_text())
             if each["kind"] == "ClusterRole")
    operation = {"create": "CREATE", "update": "UPDATE", "patch": "UPDATE", "delete": "DELETE"}
    written = {(group, resource, operation[verb]) for rule in role["rules"] for group in rule["apiGroups"]
               for resource in rule["resources"] for verb in rule["verbs"] if verb in operation}
    policy = next(yaml.safe_load_all(POLICY.read_text()))
    judged = {(group, resource, verb) for rule in policy["spec"]["matchConstraints"]["resourceRules"] for group in rule["apiGroups"]
              for resource in rule["resources"] for verb in rule["operations"]}
    own_business = {("trainer.kubeflow.org", "trainjobs", "DELETE"), ("trainer.kubeflow.org", "trainjobs/status", "UPDATE"),
                    ("trainer.kubeflow.org", "trainjobs/finalizers", "UPDATE"), ("", "events", "CREATE"), ("", "events", "UPDATE")}
    assert written - judged == own_business
