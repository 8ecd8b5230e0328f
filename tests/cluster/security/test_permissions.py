"""Denials by the authorizer, or in a namespace that is being deleted, are no fault of a TrainJob."""

import contextlib

from deployment import NAMESPACE
from jobs import runtime, train_job
from progress import has_begun, suspend, until, until_alone, until_held, until_runs
from rest import conditions, true_conditions, wait_for

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/signalbox-reconciler"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def may(rest, verb, group, resource, name=""):
    """Returns whether the reconciler has that permission in the test's namespace; `name`: on that object."""
    review = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {
        "user": f"system:serviceaccount:{NAMESPACE}:signalbox-reconciler",
        "resourceAttributes": {"namespace": rest.namespace, "verb": verb, "group": group, "resource": resource, "name": name}}}
    return rest.request("POST", REVIEWS, review)["status"]["allowed"]


@contextlib.contextmanager
def without_permissions(rest, *missing):
    """Takes permissions from the reconciler's role inside the context. missing: (verb, API group, resource)"""
    role = rest.request("GET", ROLE)
    assert all(may(rest, *each) for each in missing)

    def left(rule):
        taken = {verb for verb, group, resource in missing if group in rule["apiGroups"] and resource in rule["resources"]}
        return {**rule, "verbs": [verb for verb in rule["verbs"] if verb not in taken]}

    def set_rules(rules):
        rest.request("PATCH", ROLE, {"rules": rules}, "application/merge-patch+json")
    set_rules([left(rule) for rule in role["rules"]])
    try:
        wait_for("the permissions to be gone", lambda: not any(may(rest, *each) for each in missing))
        yield
    finally:
        set_rules(role["rules"])
    wait_for("the permissions to be back", lambda: all(may(rest, *each) for each in missing))


def grant(rest, *objects):
    """Gives the reconciler permissions in the test's namespace. objects: (verb, API group, resource, name)"""
    group = "rbac.authorization.k8s.io"
    path = f"/apis/{group}/v1/namespaces/{rest.namespace}/role"
    rest.request("POST", f"{path}s", {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": "some"}, "rules": [
        {"verbs": [verb], "apiGroups": [of], "resources": [resource], "resourceNames": [name]} for verb, of, resource, name in objects]})
    rest.request("POST", f"{path}bindings", {
        "apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": {"name": "some"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "some"},
        "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": "signalbox-reconciler"}]})


def failed_passes(signalbox):
    return signalbox.reconciler.metric("signalbox_reconciles_total", 'result="failed"')


def until_tried_again(signalbox, jobs=1):
    before = failed_passes(signalbox)
    wait_for("a second attempt", lambda: failed_passes(signalbox) >= before + 2 * jobs)


def a_selector():
    pods = {"spec": {"nodeSelector": {"kubernetes.io/os": "linux"}}}
    return {"manager": "signalbox.test/selector", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": pods}}}]}}}}


# A TrainJob, its condition, and the object and permission that the message names. The last two jobs have a JobSet.
DENIED = {
    "barred": ("Created", "JobSet {}/barred", "create", "jobset.x-k8s.io", "jobsets"),
    "unread": ("Created", "TrainingRuntime {}/unread", "get", "trainer.kubeflow.org", "trainingruntimes"),
    "keyed": ("Created", "Secret {}/keyed-mpi-ssh-auth", "get", "", "secrets"),
    "going": ("Stalled", "JobSet {}/going", "patch", "jobset.x-k8s.io", "jobsets"),
    "resting": ("Stalled", "ConfigMap {}/resting-runtime-snapshot", "get", "", "configmaps"),
}


def test_missing_permissions_are_reported_once_they_have_lasted_and_granting_them_helps(signalbox, rest, admin):
    def said(name):
        return conditions(rest.get("trainjobs", name)).get(DENIED[name][0])

    def is_denied(name):
        return (said(name) or {}).get("reason") == "PermissionDenied"
    rest.create(runtime())
    rest.create(runtime("unread", "TrainingRuntime"))
    rest.create(runtime("keyed", ml_policy={"numNodes": 1, "mpi": {"mpiImplementation": "OpenMPI"}}))
    rest.create(train_job("going", seconds="never"))
    rest.create(train_job("resting", seconds="never", suspend=True))
    until_runs(rest, "going")
    until_held(rest, "resting")
    until_alone(admin)  # then only these jobs can fail
    # Each job lacks one permission.
    others = [*(("get", "", "configmaps", f"{name}-runtime-snapshot") for name in DENIED if name != "resting"),
              ("patch", "jobset.x-k8s.io", "jobsets", "barred")]
    grant(rest, *others)
    with without_permissions(rest, *(each[2:] for each in DENIED.values())):
        wait_for("the other permissions", lambda: all(may(rest, *each) for each in others))
        rest.create(train_job("barred"))
        rest.create(train_job("unread", "unread", kind="TrainingRuntime"))
        rest.create(train_job("keyed", "keyed"))
        suspend(rest, "going")
        # Without a change, a resume needs no snapshot.
        patches = rest.get("trainjobs", "resting")["spec"]["runtimePatches"]
        rest.patch("trainjobs", "resting", {"spec": {"suspend": False, "runtimePatches": [*patches, a_selector()]}})
        until_tried_again(signalbox, len(DENIED))
        assert not any(is_denied(name) for name in DENIED)
        assert [conditions(rest.get("trainjobs", name)) for name in ("barred", "unread", "keyed")] == [{}, {}, {}]
        for name, (kind, what, verb, _, resource) in DENIED.items():
            wait_for(f"what is missing for {name}", lambda: is_denied(name))
            denial = said(name)
            assert denial["status"] == ("True" if kind == "Stalled" else "False")
            assert denial["message"].startswith(what.format(rest.namespace) + ": ")
            assert f'cannot {verb} resource "{resource}"' in denial["message"]
        assert rest.get("jobsets", "barred") is None and not rest.get("jobsets", "going")["spec"]["suspend"]
    for name in DENIED:
        # A change is tried at once.
        rest.patch("trainjobs", name, {"metadata": {"labels": {"retry": "now"}}})
    for name in ("barred", "unread"):
        until(rest, name, "Complete")
    wait_for("the JobSet of keyed", lambda: has_begun(rest.get("trainjobs", "keyed")))
    until_held(rest, "going")
    until_runs(rest, "resting")
    for name in ("going", "resting"):
        wait_for(f"{name} to be stalled no more", lambda: said(name) is None)


def test_a_terminating_namespace_is_no_fault_of_its_jobs_and_is_not_blocked(cluster, signalbox, rest):
    rest.create(runtime())
    rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ending"}})
    rest.create(train_job("running", namespace="ending", seconds="never"))
    wait_for("its JobSet", lambda: rest.get("jobsets", "running", namespace="ending"))
    signalbox.wait_until_idle()
    signalbox.stop_reconciler()
    rest.create(train_job("late", namespace="ending"))
    # Without the controller manager, the namespace stays in termination.
    with cluster.paused("kube-controller-manager"):
        rest.delete("namespaces", "ending")
        signalbox.start_reconciler()
        until_tried_again(signalbox)
        assert conditions(rest.get("trainjobs", "late", namespace="ending")) == {}
        assert set(true_conditions(rest.get("trainjobs", "running", namespace="ending"))) == {"Created"}
    wait_for("the namespace to be deleted", lambda: rest.get("namespaces", "ending") is None, timeout=60)


def test_the_condition_of_a_job_in_kube_system_names_other_namespaces(signalbox, rest):
    rest.create(runtime())
    job = train_job("at-the-heart")
    rest.create({**job, "metadata": {**job["metadata"], "namespace": "kube-system"}})
    said = wait_for("the condition", lambda: conditions(rest.get("trainjobs", "at-the-heart", "kube-system")).get("Created"))
    assert said["status"] == "False" and "TrainJobs belong into other namespaces" in said["message"]
    rest.delete("trainjobs", "at-the-heart", "kube-system")
