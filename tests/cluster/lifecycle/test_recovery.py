"""TrainJobs on the real control plane whose objects are deleted, blocked, denied or immutable."""

import contextlib

import pytest

from deployment import NAMESPACE
from jobs import runtime, train_job
from progress import created_at, events, owner, resume, running_pods, since, suspend, uid, until, until_held, until_not_created, until_runs
from rest import ApiError, conditions, true_conditions, wait_for

HOLD = "signalbox.test/hold"


@pytest.fixture(scope="module", autouse=True)
def legacy_runtimes(installed, admin):
    """Creates runtimes before the first test of the file: the reconciler checks for such runtimes every ten seconds."""
    legacy = "trainer.kubeflow.org/resource-in-use"
    for kind, finalizers in (("ClusterTrainingRuntime", [legacy]), ("TrainingRuntime", [legacy, HOLD])):
        old = runtime("old", kind)
        old["metadata"]["finalizers"] = finalizers
        admin.create(old)
    admin.delete("clustertrainingruntimes", "old")
    yield
    admin.patch("trainingruntimes", "old", {"metadata": {"finalizers": None}})
    admin.delete("trainingruntimes", "old")


@contextlib.contextmanager
def held_back(rest, kind, name):
    """Blocks the deletion of an object."""
    rest.patch(kind, name, {"metadata": {"finalizers": [HOLD]}})
    try:
        yield
    finally:
        if rest.get(kind, name):
            rest.patch(kind, name, {"metadata": {"finalizers": None}})


@pytest.mark.together
def test_a_job_set_that_is_deleted_mid_run_is_built_again(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("robbed", seconds="never"))
    until_runs(rest, "robbed")
    before = uid(rest.get("jobsets", "robbed"))
    rest.delete("jobsets", "robbed")
    wait_for("a new JobSet", lambda: uid(rest.get("jobsets", "robbed")) not in (None, before))
    until_runs(rest, "robbed")
    wait_for("the warning", lambda: events(rest, "robbed", "JobSetRecreated"))
    assert not {"Complete", "Failed"} & set(conditions(rest.get("trainjobs", "robbed")))


def test_a_job_set_is_built_again_although_pods_of_the_old_one_still_end(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("haunted", seconds="never"))
    until_runs(rest, "haunted")
    (ghost,) = running_pods(rest, "haunted")
    before = uid(rest.get("jobsets", "haunted"))
    with held_back(rest, "pods", ghost["metadata"]["name"]):
        rest.delete("jobsets", "haunted")
        wait_for("a new JobSet", lambda: uid(rest.get("jobsets", "haunted")) not in (None, before))
        wait_for("the old pod to be terminating", lambda: "deletionTimestamp" in rest.get(
            "pods", ghost["metadata"]["name"])["metadata"])
        signalbox.wait_until_idle()
        assert not {"Complete", "Failed"} & set(conditions(rest.get("trainjobs", "haunted")))
    until_runs(rest, "haunted")
    for pod in running_pods(rest, "haunted"):
        rest.patch("pods", pod["metadata"]["name"], {"metadata": {"labels": {"signalbox.test/run-seconds": "1"}}})
    until(rest, "haunted", "Complete")
    assert uid(rest.get("jobsets", "haunted")) != before


def test_a_job_that_is_being_deleted_still_meets_its_deadline_and_gets_no_new_job_set(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("stuck", seconds="never", activeDeadlineSeconds=10))
    until_runs(rest, "stuck")
    with held_back(rest, "trainjobs", "stuck"):
        rest.delete("trainjobs", "stuck")
        until(rest, "stuck", "Failed")
        assert true_conditions(rest.get("trainjobs", "stuck"))["Failed"]["reason"] == "DeadlineExceeded"
        wait_for("its JobSet to be deleted", lambda: rest.get("jobsets", "stuck") is None)
        signalbox.wait_until_idle()
        assert rest.get("jobsets", "stuck") is None
    wait_for("the TrainJob to be deleted", lambda: rest.get("trainjobs", "stuck") is None)


@pytest.mark.together
def test_a_quota_that_denies_the_job_set_is_reported_and_raising_it_helps(signalbox, rest):
    counted = "count/jobsets.jobset.x-k8s.io"
    rest.create(runtime())
    rest.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"},
                 "spec": {"hard": {counted: "0"}}})
    wait_for("the quota to count", lambda: rest.get("resourcequotas", "few").get("status", {}).get("used"))
    rest.create(train_job("many"))
    assert "exceeded quota: few" in until_not_created(rest, "many", "JobsCreationFailed")["message"]
    rest.patch("resourcequotas", "few", {"spec": {"hard": {counted: "3"}}})
    assert conditions(until(rest, "many", "Complete")).keys() == {"Complete"}


def test_a_runtime_that_is_gone_before_the_first_build_is_waited_for(signalbox, rest):
    rest.create(runtime("elusive"))
    with signalbox.without_reconciler():
        rest.create(train_job("patient", "elusive"))
        rest.delete("clustertrainingruntimes", "elusive")
    assert '"elusive" does not exist' in until_not_created(rest, "patient", "JobsBuildFailed")["message"]
    assert rest.get("jobsets", "patient") is None
    rest.create(runtime("elusive"))
    until(rest, "patient", "Complete")


@pytest.mark.together
def test_a_job_set_of_another_owner_is_never_adopted_and_blocks_the_job_until_it_is_deleted(signalbox, rest):
    rest.create(runtime())
    container = {"name": "x", "image": "registry.example.com/other:1"}
    template = {"spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}}
    foreign = rest.create({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "narrow"},
                          "spec": {"suspend": True, "replicatedJobs": [{"name": "x", "template": template}]}})
    job = rest.create(train_job("narrow"))
    until_not_created(rest, "narrow", "JobsCreationFailed")
    kept = rest.get("jobsets", "narrow")
    assert uid(kept) == uid(foreign) and owner(kept) is None
    rest.delete("jobsets", "narrow")
    until(rest, "narrow", "Complete")
    assert owner(rest.get("jobsets", "narrow")) == uid(job)


def test_a_running_job_needs_neither_its_runtime_nor_its_snapshot(signalbox, rest):
    rest.create(runtime("vanishing"))
    rest.create(train_job("settled", "vanishing", seconds="never"))
    until_runs(rest, "settled")
    rest.delete("clustertrainingruntimes", "vanishing")
    rest.delete("configmaps", "settled-runtime-snapshot")
    signalbox.restart_reconciler()
    signalbox.wait_until_idle()
    assert true_conditions(rest.get("trainjobs", "settled"))["Created"]["reason"] == "JobsCreationSucceeded"
    suspend(rest, "settled")
    until(rest, "settled", "Suspended")
    wait_for("its pods to be deleted", lambda: not running_pods(rest, "settled"))


def test_runtimes_lose_the_finalizer_of_older_controllers_and_can_be_deleted(legacy_runtimes, admin):
    wait_for("the deleted runtime to be gone", lambda: admin.get("clustertrainingruntimes", "old") is None)
    wait_for("only the other finalizer", lambda: admin.get("trainingruntimes", "old")["metadata"]["finalizers"] == [HOLD])


@contextlib.contextmanager
def webhook_down(rest, admin, operation, probe):
    """Installs a webhook for an operation on JobSets of the test's namespace, at an address at which no server listens. `probe`: sends
    such a request as a dry run."""
    configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    name = f"down-{rest.namespace}"
    admin.request("POST", configurations, {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": name}, "webhooks": [{
            "name": "down.signalbox.test", "clientConfig": {"url": "https://127.0.0.1:1/"}, "failurePolicy": "Fail", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": rest.namespace}},
            "rules": [{"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["*"], "operations": [operation], "resources": ["jobsets"]}]}]})
    try:
        wait_for("the webhook to fail", lambda: fails(probe))
        yield
    finally:
        admin.request("DELETE", f"{configurations}/{name}")


def fails(probe):
    try:
        probe()
    except ApiError as error:
        return "down.signalbox.test" in str(error)
    return False


@pytest.mark.together(first=True)
def test_a_job_whose_job_set_a_webhook_keeps_from_being_created_reports_it_until_it_works(signalbox, rest, admin):
    rest.create(runtime())
    probe = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "probe"}, "spec": {"replicatedJobs": []}}
    with webhook_down(rest, admin, "CREATE", lambda: rest.create(probe, dry_run=True)):
        rest.create(train_job("unjudged"))
        job = wait_for("the condition", lambda: conditions(found := rest.get("trainjobs", "unjudged")) and found)
    created = conditions(job)["Created"]
    assert (created["status"], created["reason"]) == ("Unknown", "JobsCreationRetrying")
    assert created["message"].startswith(f"JobSet {rest.namespace}/unjudged: ") and "down.signalbox.test" in created["message"]
    # tests/unit/controller/lasting_errors_test.cpp shows that it is no later.
    assert 14 <= since(job, "Created") - created_at(job)  # 15, by the API server's Date, which has whole seconds
    rest.patch("trainjobs", "unjudged", {"metadata": {"labels": {"retry": "now"}}})
    until(rest, "unjudged", "Complete", timeout=60)
    assert conditions(rest.get("trainjobs", "unjudged")).keys() == {"Complete"}


@pytest.mark.together(first=True)
def test_a_job_whose_job_set_a_webhook_keeps_from_being_resumed_is_stalled_until_it_works(signalbox, rest, admin):
    def change_job_set():
        rest.request("PATCH", rest.path("jobsets", "unmoved") + "?dryRun=All", {"metadata": {"labels": {"a": "b"}}},
                     "application/merge-patch+json")
    rest.create(runtime())
    rest.create(train_job("unmoved", seconds="never", suspend=True))
    until_held(rest, "unmoved")
    with webhook_down(rest, admin, "UPDATE", change_job_set):
        resume(rest, "unmoved")
        job = until(rest, "unmoved", "Stalled", "APIServerError")
    assert job["status"]["conditions"][-1]["type"] == "Stalled"
    stalled = conditions(job)["Stalled"]
    assert stalled["message"].startswith(f"JobSet {rest.namespace}/unmoved: ") and "down.signalbox.test" in stalled["message"]
    assert 15 <= since(job, "Stalled") - since(job, "Suspended")
    assert true_conditions(job)["Created"]["reason"] == "JobsCreationSucceeded"
    rest.patch("trainjobs", "unmoved", {"metadata": {"labels": {"retry": "now"}}})
    until_runs(rest, "unmoved")
    wait_for("it to be stalled no more", lambda: "Stalled" not in conditions(rest.get("trainjobs", "unmoved")))


@contextlib.contextmanager
def unread_runtimes(rest, admin):
    """Lets the API server keep the reconciler's reads of TrainingRuntimes in the test's namespace waiting, and answer each with 429 in the
    end: their priority level has no room for a request, and a queue for one."""
    api, version = "/apis/flowcontrol.apiserver.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1"
    levels, schemas, name = f"{api}/prioritylevelconfigurations", f"{api}/flowschemas", f"full-{rest.namespace}"
    admin.request("POST", levels, {"apiVersion": version, "kind": "PriorityLevelConfiguration", "metadata": {"name": name}, "spec": {
        "type": "Limited", "limited": {
            "nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Queue", "queuing": {"queues": 1, "handSize": 1, "queueLengthLimit": 1}}}}})
    admin.request("POST", schemas, {"apiVersion": version, "kind": "FlowSchema", "metadata": {"name": name}, "spec": {
        "matchingPrecedence": 500, "priorityLevelConfiguration": {"name": name}, "rules": [{
            "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"namespace": NAMESPACE, "name": "signalbox-reconciler"}}],
            "resourceRules": [{"verbs": ["get"], "apiGroups": ["trainer.kubeflow.org"], "resources": ["trainingruntimes"],
                               "namespaces": [rest.namespace]}]}]}})
    try:
        wait_for("the API server to have it", lambda: conditions(admin.request("GET", f"{schemas}/{name}")).get(
            "Dangling", {}).get("status") == "False")
        yield
    finally:
        # A request that waits goes on at once.
        admin.request("PATCH", f"{levels}/{name}", {"spec": {"limited": {"nominalConcurrencyShares": 100}}}, "application/merge-patch+json")
        admin.request("DELETE", f"{schemas}/{name}")
        admin.request("DELETE", f"{levels}/{name}")


@pytest.mark.together(first=True)
def test_a_job_whose_runtime_cannot_be_read_reports_it_until_it_can(signalbox, rest, admin):
    rest.create(runtime("unread", kind="TrainingRuntime"))
    with unread_runtimes(rest, admin):
        rest.create(train_job("unbuilt", "unread", kind="TrainingRuntime"))
        job = wait_for("the condition", lambda: conditions(found := rest.get("trainjobs", "unbuilt")) and found, timeout=60)
    created = conditions(job)["Created"]
    assert (created["status"], created["reason"]) == ("Unknown", "JobsBuildRetrying")
    assert created["message"].startswith(f"TrainingRuntime {rest.namespace}/unread: ") and "oo many requests" in created["message"]
    assert 14 <= since(job, "Created") - created_at(job)  # 15, by the API server's Date, which has whole seconds
    wait_for("the event", lambda: events(rest, "unbuilt", "ReconcileError"))
    assert conditions(until(rest, "unbuilt", "Complete")).keys() == {"Complete"}


@pytest.mark.together(first=True)
def test_a_name_that_is_used_again_waits_for_the_old_job_set_to_go(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("again", seconds="never"))
    until_runs(rest, "again")
    old = rest.get("jobsets", "again")
    with held_back(rest, "jobsets", "again"):
        rest.delete("trainjobs", "again")
        wait_for("the old TrainJob to be gone", lambda: rest.get("trainjobs", "again") is None)
        new = rest.create(train_job("again"))
        assert f"JobSet {rest.namespace}/again" in until_not_created(rest, "again", "JobsCreationFailed")["message"]
        assert uid(rest.get("jobsets", "again")) == uid(old)
    # The garbage collector watches a new CRD only after half a minute.
    until(rest, "again", "Complete", timeout=60)
    assert owner(rest.get("jobsets", "again")) == uid(new)
