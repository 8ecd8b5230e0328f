"""Deadlines and times to live on the real control plane: their starting points, and their survival of restarts."""

import time

import pytest

from jobs import runtime, train_job
from progress import created_at, events, pods, resume, since, suspend, until, until_alone, until_gone, until_not_created, until_runs
from rest import ApiError, conditions, true_conditions, wait_for

HOLD = "signalbox.test/hold"


# Deadlines


def test_a_deadline_ends_the_job_and_its_pods_and_a_restart_does_not_move_it(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("late", seconds="never", activeDeadlineSeconds=8))
    until_runs(rest, "late")
    created = created_at(rest.get("trainjobs", "late"))
    with signalbox.without_reconciler():
        time.sleep(max(0, created + 3 - time.time()))
    restarted = time.time()
    job = until(rest, "late", "Failed", "DeadlineExceeded")
    # The restart has not started a new period, which would end eleven seconds after the creation. The deadline may pass during a slow start.
    assert 8 <= since(job, "Failed") - created
    assert since(job, "Failed") < max(created + 11, restarted + 3)
    assert true_conditions(job).keys() == {"Failed"}
    assert true_conditions(job)["Failed"]["message"] == "TrainJob exceeded its active deadline"
    wait_for("JobSet and pods to be deleted", lambda: not rest.get("jobsets", "late") and not pods(rest, "late"))
    assert rest.get("trainjobs", "late") is not None


def test_a_finalizer_of_another_tool_keeps_the_job_set_but_not_its_pods(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("kept", seconds="never", activeDeadlineSeconds=8))
    until_runs(rest, "kept")
    rest.patch("jobsets", "kept", {"metadata": {"finalizers": [HOLD]}})
    until(rest, "kept", "Failed", "DeadlineExceeded")
    wait_for("the pods to be deleted", lambda: not pods(rest, "kept"))
    wait_for("the deletion of the JobSet", lambda: "deletionTimestamp" in rest.get("jobsets", "kept")["metadata"])
    rest.patch("jobsets", "kept", {"metadata": {"finalizers": []}})
    wait_for("the end of the JobSet", lambda: not rest.get("jobsets", "kept"))


def test_suspension_stops_the_deadline_and_each_resume_starts_a_full_period(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("paused", seconds="never", activeDeadlineSeconds=10, suspend=True))
    rest.create(train_job("held", seconds="never", activeDeadlineSeconds=3, suspend=True))
    until(rest, "paused", "Suspended")
    resume(rest, "paused")
    until_runs(rest, "paused")
    time.sleep(1)  # a period that counted from before would end a second too early
    suspend(rest, "paused")
    until(rest, "paused", "Suspended")
    resume(rest, "paused")
    job = until(rest, "paused", "Failed", "DeadlineExceeded")
    assert conditions(job)["Suspended"]["reason"] == "Resumed"
    assert since(job, "Failed") - since(job, "Suspended") >= 10
    assert "Failed" not in conditions(rest.get("trainjobs", "held"))


def test_a_deadline_that_passed_while_no_reconciler_ran_is_acted_on_at_once_and_needs_no_runtime(signalbox, rest):
    rest.create(runtime("short-lived"))
    created = rest.create(train_job("missed", "short-lived", seconds="never", activeDeadlineSeconds=10))
    until_runs(rest, "missed")
    with signalbox.without_reconciler():
        rest.delete("clustertrainingruntimes", "short-lived")
        time.sleep(max(0, created_at(created) + 10.5 - time.time()))
        assert "Failed" not in conditions(rest.get("trainjobs", "missed"))
    until(rest, "missed", "Failed", "DeadlineExceeded")
    wait_for("its pods to be deleted", lambda: not pods(rest, "missed"))


def test_the_deadline_ends_a_job_that_never_got_a_job_set(signalbox, rest):
    rest.create(runtime("withdrawn"))
    with signalbox.without_reconciler():
        rest.create(train_job("waiting", "withdrawn", activeDeadlineSeconds=10))
        rest.delete("clustertrainingruntimes", "withdrawn")
    until_not_created(rest, "waiting", "JobsBuildFailed")
    until(rest, "waiting", "Failed", "DeadlineExceeded")
    signalbox.wait_until_idle()
    assert rest.get("jobsets", "waiting") is None


def keep_job_sets(rest, yes):
    """Switches a policy of the cluster that denies the deletion of JobSets in this namespace."""
    group, name = "/apis/admissionregistration.k8s.io/v1/", f"keep-{rest.namespace}"
    policy, binding = group + "validatingadmissionpolicies", group + "validatingadmissionpolicybindings"
    if not yes:
        for path in (f"{binding}/{name}", f"{policy}/{name}"):
            rest.request("DELETE", path)
        return
    rest.request("POST", policy, {"metadata": {"name": name}, "spec": {
        "matchConstraints": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": rest.namespace}},
                             "resourceRules": [{"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["*"],
                                                "operations": ["DELETE"], "resources": ["jobsets"]}]},
        "validations": [{"expression": "false", "message": "JobSets are kept for the audit"}]}})
    rest.request("POST", binding, {"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}})


def is_kept(rest, name):
    try:
        rest.request("DELETE", rest.path("jobsets", name) + "?dryRun=All")
    except ApiError as error:
        return "JobSets are kept" in error.status["message"]
    return False


def test_the_cleanup_after_a_deadline_is_retried_until_the_job_set_is_gone_and_reported_once(signalbox, rest, admin):
    rest.create(runtime())
    rest.create(train_job("kept", seconds="never", suspend=True, activeDeadlineSeconds=2))
    wait_for("its JobSet", lambda: rest.get("jobsets", "kept"))
    keep_job_sets(rest, True)
    try:
        wait_for("the policy to be in force", lambda: is_kept(rest, "kept"))
        resume(rest, "kept")
        until(rest, "kept", "Failed", "DeadlineExceeded")
        (warning,) = wait_for("the warning", lambda: events(rest, "kept", "JobSetDeletionFailed"))
        assert warning["type"] == "Warning" and "JobSets are kept for the audit" in warning["note"]
        until_alone(admin)  # deletions of other tests' JobSets would be counted, too
        tried = signalbox.reconciler.metric("signalbox_api_requests_total", 'verb="DELETE"')
        wait_for("another try", lambda: signalbox.reconciler.metric(
            "signalbox_api_requests_total", 'verb="DELETE"') > tried)
        # A successor finds the remaining work in the cluster alone.
        signalbox.restart_reconciler()
        wait_for("the successor's try", lambda: signalbox.reconciler.metric(
            "signalbox_api_requests_total", 'verb="DELETE"') >= 1)
        # Nothing of it runs meanwhile.
        wait_for("its pods to be deleted", lambda: not pods(rest, "kept"))
        assert rest.get("jobsets", "kept")["spec"]["suspend"]
    finally:
        keep_job_sets(rest, False)
    wait_for("the JobSet to be deleted", lambda: rest.get("jobsets", "kept") is None)
    wait_for("the counts without active pods", lambda: all(
        entry["active"] == entry["ready"] == 0 for entry in rest.get("trainjobs", "kept")["status"]["jobsStatus"]))


# Times to live


@pytest.mark.together
def test_a_deadline_and_a_ttl_work_together(signalbox, rest):
    rest.create(runtime("both", ttlSecondsAfterFinished=5))
    rest.create(train_job("brief", "both", seconds="never", activeDeadlineSeconds=2))
    until(rest, "brief", "Failed", "DeadlineExceeded")
    until_gone(rest, "brief")
    wait_for("its pods to be deleted", lambda: not pods(rest, "brief"), timeout=60)


@pytest.mark.parametrize("expired", [False, True])
def test_a_ttl_outlives_the_reconciler_and_the_runtime_and_takes_all_that_the_job_owns(signalbox, rest, expired):
    ttl = 5
    rest.create(runtime("passing", ttlSecondsAfterFinished=ttl))
    rest.create(train_job("ended", "passing"))
    finished = since(until(rest, "ended", "Complete"), "Complete")
    with signalbox.without_reconciler():
        rest.delete("clustertrainingruntimes", "passing")  # the TTL that the job began with applies now
        if expired:
            time.sleep(max(0, finished + ttl - time.time()))
        assert since(rest.get("trainjobs", "ended"), "Complete") == finished
    until_gone(rest, "ended", timeout=10)
    assert time.time() >= finished + ttl
    wait_for("its objects to be deleted", timeout=60, probe=lambda: not rest.get("jobsets", "ended") and not pods(rest, "ended")
             and not rest.get("configmaps", "ended-runtime-snapshot"))


def test_without_runtime_and_snapshot_the_status_tells_what_the_job_began_with(signalbox, rest):
    rest.create(runtime("forgotten", ttlSecondsAfterFinished=2))
    rest.create(train_job("remembered", "forgotten"))
    until(rest, "remembered", "Complete")
    with signalbox.without_reconciler():
        rest.delete("clustertrainingruntimes", "forgotten")
        rest.delete("configmaps", "remembered-runtime-snapshot")
    until_gone(rest, "remembered")


def test_running_and_suspended_jobs_have_no_ttl(signalbox, rest):
    rest.create(runtime("hasty", ttlSecondsAfterFinished=0))
    rest.create(train_job("runs", "hasty", seconds="never"))
    rest.create(train_job("rests", "hasty", suspend=True))
    until_runs(rest, "runs")
    until(rest, "rests", "Suspended")
    signalbox.restart_reconciler()
    signalbox.wait_until_idle()
    assert rest.get("jobsets", "runs") and rest.get("jobsets", "rests")
    # The time in suspension does not count towards the TTL.
    resume(rest, "rests")
    until_gone(rest, "rests")


def test_a_ttl_waits_for_the_finalizers_of_others_and_the_job_set_goes_with_the_job(signalbox, rest):
    rest.create(runtime("patient", ttlSecondsAfterFinished=1))
    rest.create(train_job("audited", "patient"))
    rest.patch("trainjobs", "audited", {"metadata": {"finalizers": [HOLD]}})
    wait_for("its deletion to start", lambda: rest.get("trainjobs", "audited")["metadata"].get("deletionTimestamp"))
    wait_for("its JobSet to be deleted", lambda: rest.get("jobsets", "audited") is None, timeout=60)
    signalbox.wait_until_idle()
    assert rest.get("jobsets", "audited") is None
    assert "Complete" in true_conditions(rest.get("trainjobs", "audited"))
    rest.patch("trainjobs", "audited", {"metadata": {"finalizers": None}})
    until_gone(rest, "audited")
