"""What users may do by Kubernetes' roles `view`, `edit` and `admin`, and by Kubeflow's, bound in their namespace: run TrainJobs of the
runtimes that they can list, and nothing elsewhere."""

import contextlib
import os
import pathlib
import subprocess

import pytest

from jobs import runtime, train_job
from rest import ApiError, Rest, true_conditions, wait_for

OURS, JOBSET = "trainer.kubeflow.org", "jobset.x-k8s.io"
READ, WRITE = "get list watch", "create update patch delete deletecollection"
NONE = {"clustertrainingruntimes": READ}
VIEW = {**NONE, "trainjobs": READ, "trainingruntimes": READ, "jobsets": READ}
EDIT = {**VIEW, "trainjobs": f"{READ} {WRITE}", "jobsets": f"{READ} delete"}
ADMIN = {**EDIT, "trainingruntimes": f"{READ} {WRITE}"}
GRANTED = {"view": VIEW, "edit": EDIT, "admin": ADMIN, "kubeflow-view": VIEW, "kubeflow-edit": EDIT, "kubeflow-admin": ADMIN}
AGGREGATED = "rbac.authorization.kubeflow.org/aggregate-to-"
PROGRAM = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"


@pytest.fixture(scope="module")
def kubeflow(admin, installed):
    """The roles of Kubeflow's installation, which collect the rules of its components."""
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    made = {"kubeflow-view": "kubeflow-edit", "kubeflow-edit": "kubeflow-admin", "kubeflow-admin": None}
    for name, part_of in made.items():
        admin.request("POST", path, {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name, "labels": {AGGREGATED + part_of: "true"} if part_of else {}},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {AGGREGATED + name: "true"}}]}})
    yield
    for name in made:
        admin.request("DELETE", f"{path}/{name}")


@pytest.fixture
def user(cluster, kubeflow, kubectl, namespace):
    """Returns a function that makes a user with this role in the test's namespace, or with none, and returns the user's kubeconfig."""
    def make(role=None):
        name = f"{role}-in-{namespace}"
        if role:
            kubectl("create", "rolebinding", name, f"--clusterrole={role}", f"--user={name}")
        kubeconfig = cluster.user_kubeconfig(name, name)
        client, want = Rest(kubeconfig, namespace), permissions(GRANTED.get(role, NONE))
        # Kubernetes aggregates the rules, and the authorizer watches them.
        with contextlib.suppress(AssertionError):
            wait_for("the role to be in force", lambda: granted(client) == want, timeout=10)
        assert granted(client) == want
        return kubeconfig
    return make


def permissions(table):
    return {(verb, resource) for resource, verbs in table.items() for verb in verbs.split()}


def granted(client, namespace=None):
    """Returns the client's permissions for the kinds of Signalbox and JobSet."""
    answer = client.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace or client.namespace}})
    return {(verb, resource) for rule in answer["status"]["resourceRules"] if {OURS, JOBSET} & set(rule["apiGroups"])
            for verb in rule["verbs"] for resource in rule["resources"]}


def names(objects):
    return {each["metadata"]["name"] for each in objects}


def assert_refused(act, verb, resource):
    with pytest.raises(ApiError, match=f'cannot {verb} resource "{resource}"') as refusal:
        act()
    assert refusal.value.code == 403


@pytest.mark.parametrize("role", [None, *GRANTED])
def test_a_role_grants_exactly_what_is_listed_in_its_namespace_and_elsewhere_only_runtimes_for_all(user, role):
    client = Rest(user(role))
    assert granted(client, "default") == permissions(NONE)


def test_edit_runs_a_train_job_and_finds_it_and_the_runtimes_by_their_short_names(signalbox, cluster, rest, user, namespace):
    rest.create(runtime())
    rest.create(runtime("of-the-team", "TrainingRuntime"))
    kubeconfig = user("edit")
    tenant = Rest(kubeconfig, namespace)
    assert "plain-test" in names(tenant.list("clustertrainingruntimes"))
    assert names(tenant.list("trainingruntimes")) == {"of-the-team"}
    tenant.create(train_job("mine", "of-the-team", "TrainingRuntime"))
    wait_for("Complete", lambda: "Complete" in true_conditions(tenant.get("trainjobs", "mine")))

    def found(what):
        return set(cluster.kubectl("-n", namespace, "get", what, "-o", "name", kubeconfig=kubeconfig).split())
    job = f"trainjob.{OURS}/mine"
    assert found("tj") == {job}
    assert job in found("all")
    assert {job, f"trainingruntime.{OURS}/of-the-team", f"clustertrainingruntime.{OURS}/plain-test"} <= found("kubeflow")
    assert_refused(lambda: tenant.create(runtime("another", "TrainingRuntime")), "create", "trainingruntimes")
    tenant.delete("trainjobs", "mine")


def test_view_creates_nothing_and_reads_all_that_explain_shows(signalbox, rest, user, namespace):
    rest.create(runtime())
    rest.create(train_job("shown", seconds="never"))
    wait_for("its condition", lambda: true_conditions(rest.get("trainjobs", "shown")))
    kubeconfig = user("view")
    reader = Rest(kubeconfig, namespace)
    assert_refused(lambda: reader.create(train_job("mine")), "create", "trainjobs")
    assert_refused(lambda: reader.patch("trainjobs", "shown", {"spec": {"suspend": True}}), "patch", "trainjobs")
    assert_refused(lambda: reader.request("DELETE", reader.path("trainjobs", "shown"), {}), "delete", "trainjobs")
    shown = subprocess.run([PROGRAM, "explain", f"{namespace}/shown", "--kubeconfig", kubeconfig], capture_output=True, text=True,
                           timeout=60, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "JobSet    runs" in shown.stdout and "could not be read" not in shown.stdout


def test_admin_writes_runtimes_of_its_namespace_and_none_for_all(signalbox, user, namespace):
    administrator = Rest(user("admin"), namespace)
    administrator.create(runtime("of-the-team", "TrainingRuntime"))
    administrator.create(train_job("mine", "of-the-team", "TrainingRuntime", suspend=True))
    assert_refused(lambda: administrator.create(runtime("of-all")), "create", "clustertrainingruntimes")
