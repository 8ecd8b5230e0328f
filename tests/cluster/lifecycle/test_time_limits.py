"""Deadlines and times to live on the real control plane: what they count from, and that nothing makes them forget."""

import time

import pytest

from jobs import runtime, train_job
from rest import ApiError, conditions, true_conditions, wait_for

HOLD = "signalbox.test/hold"
# Times in the API are whole seconds, so that a limit may seem to come up to a second early.
ROUNDING = 1.0


def until(rest, name, kind, reason=None, timeout=30):
    def look():
        found = true_conditions(rest.get("trainjobs", name)).get(kind)
        return found if found and reason in (None, found["reason"]) else None
    return wait_for(f"{name} to be {kind} {reason or ''}", look, timeout)


def until_gone(rest, name, timeout=30):
    wait_for(f"{name} to be deleted", lambda: rest.get("trainjobs", name) is None, timeout, 0.05)


def pods(rest, name):
    return rest.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name}")


def until_runs(rest, name):
    wait_for(f"a running pod of {name}", lambda: [
        pod for pod in pods(rest, name)
        if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]])


def suspend(rest, name, yes=True):
    rest.patch("trainjobs", name, {"spec": {"suspend": yes}})


def has_ended(rest, name):
    return {"Complete", "Failed"} & set(true_conditions(rest.get("trainjobs", name)))


def events(rest, name, reason):
    return [event for event in rest.list("events") if event["reason"] == reason and event["regarding"]["name"] == name]


# Deadlines


def test_each_resume_starts_a_full_period(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("twice", seconds="never", activeDeadlineSeconds=4))
    for _ in range(2):
        until_runs(rest, "twice")
        time.sleep(1.5)
        suspend(rest, "twice")
        until(rest, "twice", "Suspended")
        suspend(rest, "twice", False)
        resumed = time.monotonic()
        wait_for("the resume", lambda: conditions(rest.get("trainjobs", "twice"))["Suspended"]["status"] == "False")
    until(rest, "twice", "Failed", "DeadlineExceeded")
    assert time.monotonic() - resumed >= 4 - ROUNDING


def test_a_restart_before_the_deadline_moves_nothing(signalbox, rest):
    rest.create(runtime())
    created = time.monotonic()
    rest.create(train_job("restarted", seconds="never", activeDeadlineSeconds=4))
    until_runs(rest, "restarted")
    signalbox.restart_reconciler()
    assert not has_ended(rest, "restarted")
    until(rest, "restarted", "Failed", "DeadlineExceeded")
    # Not a new period since the restart.
    assert 4 - ROUNDING <= time.monotonic() - created < 7
    wait_for("its pods to go", lambda: not pods(rest, "restarted"))


def test_the_deadline_needs_no_runtime(signalbox, rest):
    rest.create(runtime("short-lived"))
    rest.create(train_job("orphaned", "short-lived", seconds="never", activeDeadlineSeconds=3))
    until_runs(rest, "orphaned")
    rest.delete("clustertrainingruntimes", "short-lived")
    until(rest, "orphaned", "Failed", "DeadlineExceeded")
    wait_for("its pods to go", lambda: not pods(rest, "orphaned"))


def test_the_deadline_ends_a_job_that_never_got_a_job_set(signalbox, rest):
    rest.create(runtime("withdrawn"))
    signalbox.stop_reconciler()
    rest.create(train_job("waiting", "withdrawn", activeDeadlineSeconds=3))
    rest.delete("clustertrainingruntimes", "withdrawn")
    signalbox.start_reconciler()
    wait_for("Created=False", lambda: conditions(rest.get("trainjobs", "waiting")).get("Created", {}).get("status") == "False")
    until(rest, "waiting", "Failed", "DeadlineExceeded")
    signalbox.wait_until_idle()
    assert rest.get("jobsets", "waiting") is None


def keep_job_sets(rest, yes):
    """Whether a policy of the cluster refuses to have JobSets deleted."""
    group = "/apis/admissionregistration.k8s.io/v1/"
    policy, binding = group + "validatingadmissionpolicies", group + "validatingadmissionpolicybindings"
    if not yes:
        for path in (f"{binding}/keep", f"{policy}/keep"):
            rest.request("DELETE", path)
        return
    rest.request("POST", policy, {"metadata": {"name": "keep"}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["*"],
                                                "operations": ["DELETE"], "resources": ["jobsets"]}]},
        "validations": [{"expression": "false", "message": "JobSets are kept for the audit"}]}})
    rest.request("POST", binding, {"metadata": {"name": "keep"}, "spec": {"policyName": "keep",
                                                                           "validationActions": ["Deny"]}})


def is_kept(rest, name):
    try:
        rest.request("DELETE", f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/{name}?dryRun=All")
    except ApiError as error:
        return "JobSets are kept" in error.status["message"]
    return False


def test_the_cleanup_after_a_deadline_is_tried_until_the_job_set_is_gone_and_told_once(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("kept", seconds="never", suspend=True, activeDeadlineSeconds=2))
    wait_for("its JobSet", lambda: rest.get("jobsets", "kept"))
    keep_job_sets(rest, True)
    try:
        wait_for("the policy to work", lambda: is_kept(rest, "kept"))
        suspend(rest, "kept", False)
        until(rest, "kept", "Failed", "DeadlineExceeded")
        (told,) = wait_for("the warning", lambda: events(rest, "kept", "JobSetDeletionFailed"))
        assert told["type"] == "Warning" and "JobSets are kept for the audit" in told["note"]
        tried = signalbox.reconciler.metric("signalbox_api_requests_total", 'verb="DELETE"')
        wait_for("another try", lambda: signalbox.reconciler.metric(
            "signalbox_api_requests_total", 'verb="DELETE"') > tried)
        # A successor knows what is left to do, from the cluster alone.
        signalbox.restart_reconciler()
        wait_for("the successor's try", lambda: signalbox.reconciler.metric(
            "signalbox_api_requests_total", 'verb="DELETE"') >= 1)
        assert pods(rest, "kept")
    finally:
        keep_job_sets(rest, False)
    wait_for("the JobSet to go", lambda: rest.get("jobsets", "kept") is None)
    wait_for("its pods to go", lambda: not pods(rest, "kept"))
    wait_for("the counts to tell so", lambda: all(
        entry["active"] == entry["ready"] == 0 for entry in rest.get("trainjobs", "kept")["status"]["jobsStatus"]))


# Times to live


def test_no_train_job_overrides_the_ttl_of_its_runtime(signalbox, rest):
    rest.create(runtime("tidy", ttlSecondsAfterFinished=1))
    for name, fields in (("longer", {"ttlSecondsAfterFinished": 3600}), ("never", {"ttlSecondsAfterFinished": None})):
        job = rest.create(train_job(name, "tidy", **fields))
        assert "ttlSecondsAfterFinished" not in job["spec"]
    for name in ("longer", "never"):
        until_gone(rest, name)


def test_a_ttl_that_the_runtime_gets_later_counts_for_jobs_that_have_ended(signalbox, rest):
    rest.create(runtime("untidy"))
    rest.create(train_job("leftover", "untidy"))
    until(rest, "leftover", "Complete")
    signalbox.wait_until_idle()
    rest.patch("clustertrainingruntimes", "untidy", {"spec": {"ttlSecondsAfterFinished": 0}})
    until_gone(rest, "leftover")


@pytest.mark.parametrize("expired", [False, True])
def test_a_ttl_outlives_the_reconciler_and_the_runtime(signalbox, rest, expired):
    ttl = 3
    rest.create(runtime("passing", ttlSecondsAfterFinished=ttl))
    rest.create(train_job("ended", "passing"))
    ended = until(rest, "ended", "Complete")
    finished = time.monotonic()
    signalbox.stop_reconciler()
    rest.delete("clustertrainingruntimes", "passing")  # its snapshot speaks for it now
    if expired:
        time.sleep(ttl)
    assert true_conditions(rest.get("trainjobs", "ended"))["Complete"] == ended
    signalbox.start_reconciler()
    until_gone(rest, "ended", timeout=10)
    assert time.monotonic() - finished >= ttl - ROUNDING
    wait_for("what it owned to go", lambda: not rest.get("jobsets", "ended") and not pods(rest, "ended")
             and not rest.get("configmaps", "ended-runtime-snapshot"))


def test_without_runtime_and_snapshot_there_is_no_ttl(signalbox, rest):
    rest.create(runtime("forgotten", ttlSecondsAfterFinished=2))
    rest.create(train_job("spared", "forgotten"))
    until(rest, "spared", "Complete")
    signalbox.stop_reconciler()
    rest.delete("clustertrainingruntimes", "forgotten")
    rest.delete("configmaps", "spared-runtime-snapshot")
    signalbox.start_reconciler()
    time.sleep(2)
    signalbox.wait_until_idle()
    assert rest.get("trainjobs", "spared")["metadata"].get("deletionTimestamp") is None


def test_what_runs_or_is_suspended_has_no_ttl(signalbox, rest):
    rest.create(runtime("hasty", ttlSecondsAfterFinished=0))
    rest.create(train_job("runs", "hasty", seconds="never"))
    rest.create(train_job("rests", "hasty", suspend=True))
    until_runs(rest, "runs")
    until(rest, "rests", "Suspended")
    signalbox.restart_reconciler()
    signalbox.wait_until_idle()
    assert rest.get("jobsets", "runs") and rest.get("jobsets", "rests")
    # It is not the suspension's length that counts when it ends.
    suspend(rest, "rests", False)
    until_gone(rest, "rests")


def test_a_ttl_waits_for_the_finalizers_of_others_and_the_job_set_goes_with_the_job(signalbox, rest):
    rest.create(runtime("patient", ttlSecondsAfterFinished=1))
    rest.create(train_job("audited", "patient"))
    rest.patch("trainjobs", "audited", {"metadata": {"finalizers": [HOLD]}})
    wait_for("its deletion to begin", lambda: rest.get("trainjobs", "audited")["metadata"].get("deletionTimestamp"))
    wait_for("its JobSet to go", lambda: rest.get("jobsets", "audited") is None, timeout=60)
    signalbox.wait_until_idle()
    assert rest.get("jobsets", "audited") is None
    assert "Complete" in true_conditions(rest.get("trainjobs", "audited"))
    rest.patch("trainjobs", "audited", {"metadata": {"finalizers": None}})
    until_gone(rest, "audited")
