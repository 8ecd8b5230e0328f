"""TrainJobs without progress: stalled or failed, over restarts of the reconciler and of the server of reports. Times lie in the past, so
that nothing waits for a deadline."""

import pytest

import progress_deadlines
from deployment import NAMESPACE, ROOT
from jobs import runtime, train_job
from progress import until, until_runs
from rest import ApiError, conditions, true_conditions, wait_for

GATES = "--feature-gates=TrainJobStatus=true,TrainJobProgressDeadline=true"
CA = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "signalbox-progress-cert", "namespace": NAMESPACE},
      "stringData": {"ca.crt": "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"}}


@pytest.fixture
def watched(cluster, signalbox, admin):
    """The reconciler with the gates; the Secret and the role are those of component progress."""
    cluster.kubectl("apply", "--server-side", "-f", ROOT / "manifests" / "components" / "progress" / "rbac.yaml")
    admin.create(CA)
    with signalbox.reconfigured(GATES):
        yield signalbox
    admin.delete("secrets", "signalbox-progress-cert", NAMESPACE)


def limited(name, seconds="60", action=None, **options):
    job = train_job(name, seconds="never", **options)
    job["metadata"]["annotations"] = {progress_deadlines.SECONDS: seconds, **({progress_deadlines.ACTION: action} if action else {})}
    return job


def events(rest, name, reason):
    return [event for event in rest.list("events") if event["regarding"]["name"] == name and event["reason"] == reason]


def test_a_job_without_progress_is_stalled_until_it_makes_progress_and_fails_if_it_asks_for_that(watched, rest, admin):
    rest.create(runtime())
    for name, action in (("warns", None), ("fails", "Fail"), ("reports-nothing", "Fail")):
        rest.create(limited(name, action=action))
        until_runs(rest, name)
    # The server of reports has been away: no verdict.
    progress_deadlines.lease(admin, NAMESPACE, renewed=120)
    for name in ("warns", "fails"):
        progress_deadlines.stand_still(rest, name)
    watched.restart_reconciler(GATES)
    wait_for("the reconciler to have looked", lambda: watched.reconciler.metric("signalbox_requeues_total", 'reason="progress"') >= 2)
    assert "Stalled" not in true_conditions(rest.get("trainjobs", "warns"))
    assert "Failed" not in true_conditions(rest.get("trainjobs", "fails"))
    # It is back, and has been there all the time.
    progress_deadlines.lease(admin, NAMESPACE)
    watched.restart_reconciler(GATES)
    stalled = until(rest, "warns", "Stalled", "ProgressDeadlineExceeded")
    said = stalled["status"]["conditions"][-1]
    assert said["type"] == "Stalled" and said["message"].startswith("no progress for 1h (limit 1m): 42 %; last report ")
    failed = until(rest, "fails", "Failed", "ProgressDeadlineExceeded")
    assert "Stalled" not in conditions(failed) and failed["status"]["completionTime"]
    wait_for("its end to be counted", lambda: watched.reconciler.metric("signalbox_train_jobs_ended_total", 'end="progress_deadline"') == 1)
    wait_for("the gauge", lambda: watched.reconciler.metric("signalbox_train_jobs_stalled", 'reason="ProgressDeadlineExceeded"') == 1)
    wait_for("its JobSet to go", lambda: rest.get("jobsets", "fails") is None)
    assert rest.get("jobsets", "warns")["spec"].get("suspend") is False
    # A restart says it no second time, and progress takes it back.
    watched.restart_reconciler(GATES)
    progress_deadlines.report(rest, "warns", progressPercentage=43)
    wait_for("the stall to end", lambda: "Stalled" not in conditions(rest.get("trainjobs", "warns")))
    wait_for("its event", lambda: events(rest, "warns", "ProgressResumed"))
    event, = events(rest, "warns", "ProgressDeadlineExceeded")
    assert event["type"] == "Warning" and event.get("series", {}).get("count", 1) == 1
    assert true_conditions(rest.get("trainjobs", "reports-nothing")).keys() == {"Created"}


def test_a_deadline_with_errors_is_denied(watched, rest):
    rest.create(runtime())
    for seconds, action, why in (("30m", None, "from 60 to 2147483647"), ("60", "Kill", "must be Warn or Fail")):
        with pytest.raises(ApiError, match=why) as denied:
            rest.create(limited("any", seconds, action))
        assert denied.value.code == 422
    with pytest.raises(ApiError, match="progress-deadline-seconds"):
        rest.create(limited("any", "59"))
    rest.create(limited("any", suspend=True))
    with pytest.raises(ApiError, match="must be Warn or Fail"):
        rest.patch("trainjobs", "any", {"metadata": {"annotations": {progress_deadlines.ACTION: "x"}}})
