"""Denials by the authorizer, or in a namespace that is being deleted, are no fault of a TrainJob."""

import contextlib

from deployment import NAMESPACE
from jobs import runtime, train_job
from progress import until_alone
from rest import conditions, true_conditions, wait_for

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/signalbox-reconciler"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def may(rest, verb, group, resource):
    """Returns whether the reconciler has that permission in the test's namespace."""
    review = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {
        "user": f"system:serviceaccount:{NAMESPACE}:signalbox-reconciler",
        "resourceAttributes": {"namespace": rest.namespace, "verb": verb, "group": group, "resource": resource}}}
    return rest.request("POST", REVIEWS, review)["status"]["allowed"]


@contextlib.contextmanager
def without_permission(rest, verb, group, resource):
    role = rest.request("GET", ROLE)
    assert may(rest, verb, group, resource)
    less = [{**rule, "verbs": [v for v in rule["verbs"] if v != verb]}
            if group in rule["apiGroups"] and resource in rule["resources"] else rule for rule in role["rules"]]

    def grant(rules):
        rest.request("PATCH", ROLE, {"rules": rules}, "application/merge-patch+json")
    grant(less)
    try:
        wait_for("the permission to be gone", lambda: not may(rest, verb, group, resource))
        yield
    finally:
        grant(role["rules"])


def failed_passes(signalbox):
    return signalbox.reconciler.metric("signalbox_reconciles_total", 'result="failed"')


def until_tried_again(signalbox):
    before = failed_passes(signalbox)
    wait_for("a second attempt", lambda: failed_passes(signalbox) >= before + 2)


def test_a_missing_permission_is_reported_once_it_has_lasted_and_granting_it_helps(signalbox, rest, admin):
    until_alone(admin)  # then only this job can fail
    rest.create(runtime())
    with without_permission(rest, "create", "jobset.x-k8s.io", "jobsets"):
        rest.create(train_job("barred"))
        until_tried_again(signalbox)
        assert conditions(rest.get("trainjobs", "barred")) == {}
        assert rest.get("jobsets", "barred") is None
        said = wait_for("what is missing", lambda: conditions(rest.get("trainjobs", "barred")).get("Created"), timeout=30)
        assert (said["status"], said["reason"]) == ("False", "PermissionDenied")
        assert "cannot" in said["message"] and "jobsets" in said["message"]
    wait_for("Complete", lambda: "Complete" in true_conditions(rest.get("trainjobs", "barred")), timeout=60)
    assert conditions(rest.get("trainjobs", "barred"))["Created"]["reason"] == "JobsCreationSucceeded"


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
