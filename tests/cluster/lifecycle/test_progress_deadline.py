"""TrainJobs without progress: stalled, failed or restarted, over restarts of the reconciler and of the server of reports. Times lie in the
past, so that nothing waits for a deadline. That of a start cannot: a test for the long run waits for it."""

import pytest

import progress_deadlines
from attempts import EXCLUDED, attempt, counters, decisions, failed, is_backing_off, known, policy, soon, started, until_noted
from deployment import NAMESPACE, ROOT
from jobs import runtime, train_job
from progress import delete_jobs, events, resume, suspend, uid, until, until_runs
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


def limited(name, seconds="60", action=None, start=None, of="plain-test", **options):
    """`seconds`: of the progress deadline; `start`: of the start deadline; `of`: the runtime."""
    job = train_job(name, of, seconds="never", **options)
    wanted = {progress_deadlines.SECONDS: seconds, progress_deadlines.ACTION: action, progress_deadlines.START: start}
    job["metadata"]["annotations"] = {key: value for key, value in wanted.items() if value}
    return job


@pytest.fixture
def nothing_left(rest):
    yield
    delete_jobs(rest)


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


def test_a_job_that_hangs_is_restarted_under_its_failure_policy_or_ends_by_it_and_fails_without_one(watched, rest, admin, nothing_left):
    rest.create(runtime())
    for restarts in (0, 1):
        rest.create(runtime(f"restarts-{restarts}", **policy(restarts)))
    for name, of in {"restarts": "restarts-1", "spent": "restarts-0", "has-no-policy": "plain-test"}.items():
        rest.create(limited(name, action="Restart", of=of))
        until_runs(rest, name)
    first = uid(attempt(rest, "restarts", 0))
    former = known(rest, "restarts", ())
    progress_deadlines.lease(admin, NAMESPACE)
    for name in ("restarts", "spent", "has-no-policy"):
        progress_deadlines.stand_still(rest, name)
    following = attempt(rest, "restarts", 1, other_than=first)
    started(rest, "restarts", former)
    wait_for("it to be told that it runs", lambda: not is_backing_off(rest.get("trainjobs", "restarts")))
    assert counters(rest, "restarts") == (1, 1) and decisions(rest, "restarts") == [(0, "Restart", -1)]
    entry, = rest.get("trainjobs", "restarts")["status"]["failures"]
    assert entry["reason"] == "ProgressDeadlineExceeded" and entry["message"].startswith("no progress for 1h (limit 1m): 42 %")
    # No node is to blame.
    assert not entry.keys() & {"pod", "node", "excludesNode"} and not following["metadata"]["annotations"].get(EXCLUDED)
    until_noted(rest, "restarts", {"restart 1, 1 of 1 counted"})
    said = failed(rest, "spent", "ReachedMaxRestarts")["message"]
    assert said.startswith("the TrainJob has used the restarts of its failure policy: 0. The last attempt: no progress for 1h (limit 1m)")
    assert decisions(rest, "spent") == [(0, "Fail", -1)]
    assert failed(rest, "has-no-policy", "ProgressDeadlineExceeded")["message"].startswith("no progress for 1h (limit 1m)")
    # What it reported before does not count, so the next attempt has all its time.
    watched.restart_reconciler(GATES)
    wait_for("the reconciler to have looked", lambda: watched.reconciler.metric("signalbox_reconciles_total") >= 3)
    assert true_conditions(rest.get("trainjobs", "restarts")).keys() == {"Created"}


def test_the_start_of_all_pods_is_stored_for_a_start_deadline_until_the_job_is_suspended(watched, rest, nothing_left):
    rest.create(runtime())
    rest.create(limited("starts", None, start="3600"))
    rest.create(limited("only-moves-on"))

    def began(name="starts"):
        return rest.get("trainjobs", name)["status"].get("attemptStartTime")
    for name in ("starts", "only-moves-on"):
        until_runs(rest, name)
    before = wait_for("its start", began)
    suspend(rest, "starts")
    until(rest, "starts", "Suspended")
    soon(rest, "its start to be forgotten", lambda: not began())
    resume(rest, "starts")
    assert soon(rest, "another start", began) >= before
    assert not began("only-moves-on")


@pytest.mark.long
def test_a_job_that_reports_nothing_is_stalled_or_restarted_once_its_start_deadline_has_passed(watched, rest, admin, nothing_left):
    rest.create(runtime())
    rest.create(runtime("restarts-1", **policy(1)))
    rest.create(limited("warns", None, start="60"))
    rest.create(limited("restarts", None, "Restart", start="60", of="restarts-1"))
    rest.create(limited("reports", None, "Fail", start="60"))
    for name in ("warns", "restarts", "reports"):
        until_runs(rest, name)
    first = uid(attempt(rest, "restarts", 0))
    progress_deadlines.report(rest, "reports")

    def look():
        # The server of reports is there all the time.
        progress_deadlines.lease(admin, NAMESPACE)
        return "Stalled" in true_conditions(rest.get("trainjobs", "warns"))
    wait_for("the job that warns to be stalled", look, timeout=180, interval=5)
    assert true_conditions(rest.get("trainjobs", "warns"))["Stalled"]["message"].startswith("no report for 2m")
    attempt(rest, "restarts", 1, other_than=first)
    assert decisions(rest, "restarts") == [(0, "Restart", -1)]
    assert true_conditions(rest.get("trainjobs", "reports")).keys() == {"Created"}
    progress_deadlines.report(rest, "warns")
    wait_for("the stall to end", lambda: "Stalled" not in conditions(rest.get("trainjobs", "warns")))


def test_a_deadline_with_errors_is_denied(watched, rest):
    rest.create(runtime())
    for seconds, action, why in (("30m", None, "from 60 to 2147483647"), ("60", "Kill", "must be Warn, Fail or Restart")):
        with pytest.raises(ApiError, match=why) as denied:
            rest.create(limited("any", seconds, action))
        assert denied.value.code == 422
    with pytest.raises(ApiError, match="progress-deadline-seconds"):
        rest.create(limited("any", "59"))
    with pytest.raises(ApiError, match="start-deadline-seconds"):
        rest.create(limited("any", start="59"))
    rest.create(limited("any", suspend=True))
    with pytest.raises(ApiError, match="must be Warn, Fail or Restart"):
        rest.patch("trainjobs", "any", {"metadata": {"annotations": {progress_deadlines.ACTION: "x"}}})
