"""Which Pods may report for a TrainJob, with tokens and labels of the real control plane; two replicas of the server of progress; and a job
whose training goes on reporting, but makes no progress."""

import os
import re

import pytest

import progress_deadlines
import progress_deployment
from deployment import NAMESPACE
from jobs import runtime, train_job
from progress import events, until
from progress_deployment import running_pod
from rest import ApiError, conditions, true_conditions, wait_for

LABEL = "jobset.sigs.k8s.io/jobset-uid"


def test_the_token_of_a_deleted_pod_is_forbidden(rest, pod, training):
    # The API server remembers for seconds that a token is good, so this is none that it has seen.
    token = training.token()
    assert training.report(training.token(), 1) == 200
    rest.delete("pods", pod["metadata"]["name"])
    wait_for("the Pod to go", lambda: rest.get("pods", pod["metadata"]["name"]) is None)
    assert training.report(token, 2) == 403
    assert training.progress()["progressPercentage"] == 1


def test_a_pod_cannot_claim_the_job_set_of_another_train_job(rest, pod, training):
    label = {LABEL: rest.get("jobsets", "training")["metadata"]["uid"]}
    forging = runtime("forging", kind="TrainingRuntime")
    forging["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"] = {"labels": label}
    rest.create(forging)
    forger = train_job("forger", "forging", kind="TrainingRuntime", seconds="never")
    patch = forger["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]
    patch["template"]["spec"]["template"]["metadata"]["labels"].update(label)
    rest.create(forger)
    forged = running_pod(rest, "forger")
    assert forged["metadata"]["labels"][LABEL] == rest.get("jobsets", "forger")["metadata"]["uid"]
    assert training.report(training.token(forged), 99) == 403
    assert training.progress() == {}
    assert training.report(training.token(), 1) == 200


def test_pods_of_an_earlier_train_job_of_the_name_may_not_report(cluster, rest, pod, training):
    name = pod["metadata"]["name"]
    token, unused = training.token(), training.token()
    assert training.report(token, 1) == 200
    rest.patch("pods", name, {"metadata": {"finalizers": ["signalbox.test/outlives-its-job"]}})
    try:
        # One by one: the garbage collector may not know new kinds yet.
        kinds = "trainjobs", "jobsets", "jobs", "configmaps"

        def left():
            return [(kind, each["metadata"]["name"]) for kind in kinds for each in rest.list(kind)
                    if each["metadata"]["name"].startswith("training")]
        for kind, each in [*left(), ("pods", name)]:
            rest.delete(kind, each)
        wait_for("its objects to go", lambda: not left())
        rest.create(train_job("training", kind="TrainingRuntime", seconds="never"))
        own = training.token(running_pod(rest, but=name))
        with progress_deployment.running(cluster, os.environ["SIGNALBOX_BIN_DIR"], log="progress-2.log") as other:
            # To the API server the token is good, for a minute after the Pod's deletion.
            assert training.report(unused, 98, other) == 403
            assert other.metric("signalbox_progress_token_reviews_total", 'outcome="accepted"') == 1
        # This replica has known the earlier job.
        wait_for("the former Pod to be refused", lambda: training.report(token, 99) == 403)
        assert training.progress() == {}
        assert training.report(own, 2) == 200
        assert training.progress()["progressPercentage"] == 2
    finally:
        rest.patch("pods", name, {"metadata": {"finalizers": None}})


def test_an_invalid_report_is_refused_with_the_api_server_s_own_words(rest, training):
    def words(message):
        # How much of the path the API server repeats depends on what is stored already.
        return re.sub(r": \S+ in body", ": in body", message)
    token, when = training.token(), progress_deadlines.ago(0)
    for members in ({"progressPercentage": 150}, {"progressPercentage": -1}, {"estimatedRemainingSeconds": -5},
                    {"metrics": [{"name": "", "value": "1"}]}, {"metrics": [{"name": "loss", "value": "1" * 65}]},
                    {"metrics": [{"name": "loss", "value": "1"}] * 257}):
        with pytest.raises(ApiError) as refused:
            rest.patch("trainjobs", "training", {"status": {"trainerStatus": {"lastUpdatedTime": when, **members}}}, subresource="status")
        status, body = training.answer(token, **{"percentage": 1, **members})
        assert (status, body["reason"], words(body["message"])) == (refused.value.code, "Invalid", words(refused.value.status["message"]))
    assert training.progress() == {}


def test_two_replicas_keep_the_newest_report_of_a_job(cluster, server, training):
    token = training.token()
    with progress_deployment.running(cluster, os.environ["SIGNALBOX_BIN_DIR"], log="progress-2.log") as other:
        replicas = server, other

        def counted(metric, having=""):
            return sum(replica.metric(metric, having) for replica in replicas)
        conflicts, lost = counted("signalbox_api_requests_total", 'code="409"'), counted("signalbox_progress_lost_total")
        for number in range(10):
            assert training.report(token, number, replicas[number % 2], seconds_ago=30 - number) == 200
        wait_for("the newest report", lambda: training.progress()["progressPercentage"] == 9)
        # An older one of the other replica's clients comes late.
        assert training.report(token, 3, server, seconds_ago=27) == 200
        wait_for("the replicas to have written", lambda: counted("signalbox_progress_write_lag_seconds") == 0)
        assert training.progress()["progressPercentage"] == 9
        assert counted("signalbox_api_requests_total", 'code="409"') > conflicts
        assert counted("signalbox_progress_lost_total") == lost


def test_a_job_that_reports_without_progress_is_stalled_until_it_makes_progress(rest, pod, training, admin):
    token = training.token()
    assert training.report(token) == 200
    rest.patch("trainjobs", "training", {"metadata": {"annotations": {progress_deadlines.SECONDS: "60"}}})
    progress_deadlines.stand_still(rest, "training")
    stood_still = training.progress()
    wait_for("the next second", lambda: progress_deadlines.ago(0) > stood_still["lastUpdatedTime"])
    assert training.report(token) == 200
    wait_for("its write", lambda: training.progress()["lastUpdatedTime"] > stood_still["lastUpdatedTime"])
    assert training.progress()["lastProgressTime"] == stood_still["lastProgressTime"]
    rest.patch("trainjobs", "training", {"metadata": {"labels": {"reconcile": "now"}}})
    stalled = until(rest, "training", "Stalled", "ProgressDeadlineExceeded")
    assert conditions(stalled)["Stalled"]["message"].startswith("no progress for 1h (limit 1m): 42 %; last report ")
    # The server renews the Lease, and keeps since when reports are accepted.
    lease = admin.get("leases", progress_deadlines.LEASE, NAMESPACE)["spec"]
    assert lease["acquireTime"] < progress_deadlines.ago(3600) < progress_deadlines.ago(30) < lease["renewTime"]
    assert training.report(token, 43) == 200
    wait_for("the stall to end", lambda: "Stalled" not in conditions(rest.get("trainjobs", "training")))
    wait_for("its event", lambda: events(rest, "training", "ProgressResumed"))


@pytest.mark.parametrize("pod", [{"activeDeadlineSeconds": 3600}], indirect=True)
def test_a_job_that_reports_more_time_than_its_deadline_leaves_is_at_risk_until_it_reports_less(installed, rest, training):
    def at_risk():
        return installed.reconciler.metric("signalbox_train_jobs_at_risk")
    token = training.token()
    assert training.report(token, 10, estimatedRemainingSeconds=600) == 200
    wait_for("its write", lambda: training.progress())
    installed.wait_until_idle()
    assert at_risk() == 0 and not events(rest, "training", "DeadlineAtRisk")
    assert training.report(token, 20, estimatedRemainingSeconds=7260) == 200
    event, = wait_for("its event", lambda: events(rest, "training", "DeadlineAtRisk"))
    assert event["type"] == "Warning"
    assert re.fullmatch(r"will not finish before its deadline: needs 2h.*, has 5\dm.* left", event["note"])
    assert at_risk() == 1
    # It is an event, and no condition.
    assert true_conditions(rest.get("trainjobs", "training")).keys() == {"Created"}
    assert training.report(token, 30, estimatedRemainingSeconds=900) == 200
    wait_for("the risk to end", lambda: at_risk() == 0)
