"""Times to live of TrainJobs, deadlines and times to live of runtimes, and the times in the status, on the real control plane."""

import concurrent.futures
import time

import pytest

from jobs import runtime, train_job
from progress import created_at, events, resume, since, suspend, until, until_alone, until_gone, until_runs
from rest import ApiError, true_conditions, wait_for


def is_kept(rest, name):
    return "deletionTimestamp" not in rest.get("trainjobs", name)["metadata"]


# Times to live


def deletions(signalbox, of):
    return signalbox.reconciler.metric("signalbox_ttl_deletions_total", f'from="{of}"')


def test_a_job_has_its_own_ttl_and_it_can_be_set_after_the_end(signalbox, rest):
    before = deletions(signalbox, "train_job")
    rest.create(runtime("lasting", runPolicy={"ttlSecondsAfterFinished": 3600}))
    rest.create(train_job("short", "lasting", ttlSecondsAfterFinished=1))
    rest.create(train_job("later", "lasting"))
    until_gone(rest, "short")
    until(rest, "later", "Complete")
    signalbox.wait_until_idle()
    assert is_kept(rest, "later")
    rest.patch("trainjobs", "later", {"spec": {"ttlSecondsAfterFinished": 0}})
    until_gone(rest, "later")
    wait_for("both to be counted", lambda: deletions(signalbox, "train_job") == before + 2)


def test_an_edit_of_a_runtime_never_shortens_a_life_that_has_begun(signalbox, rest):
    before = deletions(signalbox, "runtime")
    began_with = {"edited": {"ttlSecondsAfterFinished": 3600}, "endless": {}}
    edits = {"edited": {"runPolicy": {"ttlSecondsAfterFinished": 0}}, "endless": {"ttlSecondsAfterFinished": 0}}
    for name, policy in began_with.items():
        rest.create(runtime(name, runPolicy=policy))
    names = [f"{name}-{number}" for name in began_with for number in range(50)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        # Without nodes they end without a Pod.
        list(pool.map(lambda name: rest.create(train_job(name, name.split("-")[0], nodes=0)), names))
    wait_for("all of them to be complete", lambda: {each["metadata"]["name"] for each in rest.list("trainjobs")
                                                    if "Complete" in true_conditions(each)} == {*names}, timeout=60)
    signalbox.wait_until_idle()
    for name, policy in began_with.items():
        assert rest.get("trainjobs", f"{name}-0")["status"]["runPolicy"] == policy
        rest.patch("clustertrainingruntimes", name, {"spec": edits[name]})
        rest.create(train_job("new", name))
        until_gone(rest, "new")
    signalbox.wait_until_idle()
    assert all(is_kept(rest, name) for name in names)
    assert deletions(signalbox, "runtime") == before + len(began_with)
    # The platform can say so, once for all.
    for name in began_with:
        live = rest.get("clustertrainingruntimes", name)
        live["spec"].setdefault("runPolicy", {})["ttlAppliesTo"] = "All"
        assert rest.answer("PUT", "clustertrainingruntimes", live)[2] == [
            "50 TrainJobs that have ended are deleted now, since runPolicy.ttlAppliesTo is All"]
    wait_for("all of them to be deleted", lambda: not rest.list("trainjobs"), timeout=60)
    assert deletions(signalbox, "runtime") == before + len(began_with) + len(names)


def test_a_longer_ttl_of_the_runtime_keeps_jobs_until_the_runtime_goes(signalbox, rest):
    rest.create(runtime("prolonged", runPolicy={"ttlSecondsAfterFinished": 3}))
    rest.create(train_job("kept", "prolonged", seconds=5))
    until_runs(rest, "kept")
    rest.patch("clustertrainingruntimes", "prolonged", {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 3600}}})
    finished = since(until(rest, "kept", "Complete"), "Complete")
    time.sleep(max(0, finished + 4 - time.time()))
    signalbox.wait_until_idle()
    assert is_kept(rest, "kept")
    rest.delete("clustertrainingruntimes", "prolonged")
    until_gone(rest, "kept")


def test_a_worker_s_copy_stays_until_its_label_goes(signalbox, rest):
    rest.create(runtime("worker"))
    before = signalbox.reconciler.metric("signalbox_ttl_held_total", 'why="multikueue"')
    rest.create(train_job("copy", "worker", ttlSecondsAfterFinished=0, labels={"kueue.x-k8s.io/multikueue-origin": "manager"}))
    until(rest, "copy", "Complete")
    signalbox.wait_until_idle()
    assert is_kept(rest, "copy")
    assert signalbox.reconciler.metric("signalbox_ttl_held_total", 'why="multikueue"') > before
    rest.patch("trainjobs", "copy", {"metadata": {"labels": None}})
    until_gone(rest, "copy")


def test_of_a_job_of_multikueue_s_manager_nothing_is_written_but_its_deletion(signalbox, rest):
    rest.create(runtime("manager", runPolicy={"ttlSecondsAfterFinished": 0}))
    rest.create(train_job("dispatched", "manager", managedBy="kueue.x-k8s.io/multikueue"))
    ended = {"type": "Complete", "status": "True", "reason": "AllJobsCompleted", "message": "",
             "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    rest.request("PATCH", rest.path("trainjobs", "dispatched") + "/status", {"status": {"conditions": [ended]}},
                 content_type="application/merge-patch+json")
    signalbox.wait_until_idle()
    assert rest.get("trainjobs", "dispatched")["status"] == {"conditions": [ended]}
    rest.patch("trainjobs", "dispatched", {"spec": {"ttlSecondsAfterFinished": 1}})
    until_gone(rest, "dispatched")


def test_no_job_stays_longer_than_the_maximum_with_which_it_began(signalbox, rest):
    rest.create(runtime("cleared", runPolicy={"maxTtlSecondsAfterFinished": 1}))
    rest.create(train_job("without-its-own", "cleared"))
    rest.create(train_job("with-its-own", "cleared", ttlSecondsAfterFinished=3600))
    for name in ("without-its-own", "with-its-own"):
        until_gone(rest, name)
    # A later maximum reaches no job that has begun.
    rest.create(runtime("cleared-later"))
    rest.create(train_job("stays", "cleared-later"))
    until(rest, "stays", "Complete")
    rest.patch("clustertrainingruntimes", "cleared-later", {"spec": {"runPolicy": {"maxTtlSecondsAfterFinished": 0}}})
    rest.create(train_job("goes", "cleared-later"))
    until_gone(rest, "goes")
    signalbox.wait_until_idle()
    assert is_kept(rest, "stays")
    with pytest.raises(ApiError, match="must be at most maxTtlSecondsAfterFinished"):
        rest.create(runtime("contradicts-itself", runPolicy={"ttlSecondsAfterFinished": 2, "maxTtlSecondsAfterFinished": 1}))


# Deadlines


def test_the_event_names_the_deadline_and_what_set_it(signalbox, rest):
    rest.create(runtime("usual", runPolicy={"activeDeadlineSeconds": 2}))
    rest.create(runtime("limited"))
    rest.create(train_job("by-default", "usual", seconds="never"))
    with signalbox.without_reconciler():
        rest.create(train_job("by-maximum", "limited", seconds="never", activeDeadlineSeconds=3600))
        rest.patch("clustertrainingruntimes", "limited", {"spec": {"runPolicy": {"maxActiveDeadlineSeconds": 3}}})
    exceeded = "TrainJob exceeded its active deadline of "
    for name, limit in (("by-default", "2s: default of ClusterTrainingRuntime usual"),
                        ("by-maximum", "3s: maximum of ClusterTrainingRuntime limited")):
        wait_for("the event", lambda name=name: events(rest, name, "DeadlineExceeded"))
        assert [event["note"] for event in events(rest, name, "DeadlineExceeded")] == [exceeded + limit]


def test_a_job_keeps_the_deadline_that_it_began_with(signalbox, rest):
    rest.create(runtime("tightened", runPolicy={"activeDeadlineSeconds": 3600}))
    rest.create(train_job("begun", "tightened", seconds="never"))
    until_runs(rest, "begun")
    rest.patch("clustertrainingruntimes", "tightened", {"spec": {"runPolicy": {"activeDeadlineSeconds": 1}}})
    rest.create(train_job("new", "tightened", seconds="never"))
    until(rest, "new", "Failed", "DeadlineExceeded")
    signalbox.restart_reconciler()
    signalbox.wait_until_idle()
    assert "Failed" not in true_conditions(rest.get("trainjobs", "begun"))
    assert rest.get("trainjobs", "begun")["status"]["runPolicy"] == {"activeDeadlineSeconds": 3600}


def test_a_deadline_above_the_maximum_is_denied(signalbox, rest):
    rest.create(runtime("capped", runPolicy={"maxActiveDeadlineSeconds": 60}))
    rest.create(train_job("enough", "capped", activeDeadlineSeconds=60))
    with pytest.raises(ApiError, match="must be at most 60, the maximum of ClusterTrainingRuntime capped"):
        rest.create(train_job("too-long", "capped", activeDeadlineSeconds=61))


# Times


def test_the_status_tells_when_a_job_last_started_and_ended(signalbox, rest, kubectl, admin):
    until_alone(admin)  # jobs of other tests would be counted, too

    def counts():
        return (signalbox.reconciler.metric("signalbox_wait_seconds_count"),
                signalbox.reconciler.metric("signalbox_run_seconds_count", 'end="complete"'))
    starts, ends = counts()
    rest.create(runtime())
    rest.create(train_job("timed", seconds="never"))
    until_runs(rest, "timed")
    job = rest.get("trainjobs", "timed")
    assert wait_for("its start", lambda: rest.get("trainjobs", "timed")["status"].get("startTime")) == \
        job["metadata"]["creationTimestamp"]
    suspend(rest, "timed")
    until(rest, "timed", "Suspended")
    assert "startTime" not in rest.get("trainjobs", "timed")["status"]
    resume(rest, "timed")
    wait_for("its second start", lambda: rest.get("trainjobs", "timed")["status"].get("startTime"))
    rest.create(train_job("ended"))
    status = until(rest, "ended", "Complete")["status"]
    assert status["completionTime"] == next(
        each["lastTransitionTime"] for each in status["conditions"] if each["type"] == "Complete")
    header, *rows = kubectl("get", "trainjobs").splitlines()
    assert header.split() == ["NAME", "STATE", "REASON", "STARTED", "FINISHED", "PROGRESS", "AGE"]
    columns = {row.split()[0]: row[header.index("FINISHED"):header.index("PROGRESS")].strip() for row in rows}
    assert columns["timed"] == "" and columns["ended"] != ""
    wait_for("three starts and one end to be counted", lambda: counts() == (starts + 3, ends + 1))


def test_times_that_others_write_are_put_right(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("forged", seconds="never", activeDeadlineSeconds=3600))
    until_runs(rest, "forged")
    signalbox.wait_until_idle()
    rest.request("PATCH", rest.path("trainjobs", "forged") + "/status",
                 {"status": {"startTime": "2001-01-01T00:00:00Z", "completionTime": "2001-01-01T00:00:00Z"}},
                 content_type="application/merge-patch+json")
    wait_for("the times to be put right", lambda: "completionTime" not in rest.get("trainjobs", "forged")["status"])
    job = rest.get("trainjobs", "forged")
    assert job["status"]["startTime"] == job["metadata"]["creationTimestamp"]
    assert "Failed" not in true_conditions(job) and created_at(job) > 0


# The gate


def test_without_the_gate_stored_values_count_and_new_ones_are_denied(signalbox, rest):
    rest.create(runtime("gated", runPolicy={"ttlSecondsAfterFinished": 1}))
    rest.create(train_job("own", "gated", seconds="never", ttlSecondsAfterFinished=3600))
    with signalbox.reviewed("--feature-gates=TrainJobRunPolicy=false"):
        for change in (lambda: rest.patch("trainjobs", "own", {"spec": {"ttlSecondsAfterFinished": 60}}),
                       lambda: rest.create(train_job("new", "gated", ttlSecondsAfterFinished=60)),
                       lambda: rest.patch("clustertrainingruntimes", "gated", {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 2}}})):
            with pytest.raises(ApiError, match="needs the feature gate TrainJobRunPolicy"):
                change()
        rest.create(train_job("brief", "gated"))
        until_gone(rest, "brief")
        rest.patch("trainjobs", "own", {"spec": {"ttlSecondsAfterFinished": None}})
