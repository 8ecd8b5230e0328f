"""A TrainJob in a queue of Kueue, from its submission to its end."""

import time

import pytest

import progress_deadlines
from attempts import attempt, counters, policy, until_backing_off
from jobs import runtime, train_job
from progress import fail_pod, since, uid, until
from queues import HOST, MANAGER, QUEUE_LABEL, SideBySide, flavor, wait_for
from rest import conditions, true_conditions

TOLERATION = {"key": "example.com/spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}


def entries_of(job):
    """Returns {manager: its runtime patch}"""
    return {entry["manager"]: entry for entry in job["spec"]["runtimePatches"]}


def plain(team, **spec):
    team.rest.create(runtime(kind="TrainingRuntime", **spec))


def container_of(made):
    """Returns the container of a runtime of jobs.runtime()."""
    (job,) = made["spec"]["template"]["spec"]["replicatedJobs"]
    return job["template"]["spec"]["template"]["spec"]["containers"][0]


def warnings_of(team, method, runtime_object):
    """Returns what is said of such a request. Of many edits within a second, as those of other tests, some get no warning."""
    return wait_for("a warning", lambda: team.answer(method, "trainingruntimes", runtime_object, dry_run=True)[2], interval=1)


def until_counted(team, name, text):
    """Waits until Kueue has admitted the job with a Workload that has this text."""
    def look():
        # Kueue does not watch runtimes: it reads the job's one when something happens to the TrainJob.
        team.rest.patch("trainjobs", name, {"metadata": {"annotations": {"example.com/seen": str(time.monotonic())}}})
        workload = team.workload(name)
        return workload and text in str(workload["spec"]["podSets"]) and "Admitted" in true_conditions(workload)
    wait_for("Kueue to count it anew", look, interval=1)


def one_runs_and_the_other_after_it(queue):
    with queue(flavor("one")) as team:
        plain(team)
        team.submit("first", seconds="never")
        team.until_runs("first")
        team.submit("second")
        team.until_held("second")
        team.rest.patch("trainjobs", "second", {"metadata": {"annotations": {progress_deadlines.SECONDS: "3600"}}})
        job_set = wait_for("the JobSet of the second", lambda: team.rest.get("jobsets", "second"))
        assert job_set["spec"]["suspend"] and not team.rest.list("pods", selector="jobset.sigs.k8s.io/jobset-name=second")
        team.finish("first")
        first, second = team.until_ends("first"), team.until_ends("second")
        assert since(second, "Suspended") >= since(first, "Complete")
        assert conditions(second)["Suspended"]["reason"] == "Resumed"
        # Kueue has started it by a PUT of its own type, which drops fields of the spec that it does not know.
        assert second["metadata"]["annotations"][progress_deadlines.SECONDS] == "3600"


def pods_are_placed_by_their_flavor(queue):
    with queue(flavor("one", "node-3", [TOLERATION])) as team:
        plain(team)
        team.submit("placed", nodes=2, cpu="500m", seconds="never")
        pods = team.until_runs("placed")
        team.until_workload("placed", "PodsReady")
        assert {pod["spec"]["nodeName"] for pod in pods} == {"node-3"}
        assert all(TOLERATION in pod["spec"]["tolerations"] for pod in pods)
        # Only Kueue's own entry has the settings of the admission.
        entries = entries_of(team.rest.get("trainjobs", "placed"))
        assert "node-3" in str(entries.pop(MANAGER)) and "node-3" not in str(entries)


def a_flavors_tolerations_join_the_users_own(queue):
    own = {"key": "example.com/own", "operator": "Exists"}
    with queue(flavor("one", tolerations=[TOLERATION])) as team:
        made = runtime(kind="TrainingRuntime")
        made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["tolerations"] = [own]
        team.rest.create(made)
        team.submit("tolerant", seconds="never")
        (pod,) = team.until_runs("tolerant")
        assert TOLERATION in pod["spec"]["tolerations"] and own in pod["spec"]["tolerations"]


def a_deadline_runs_from_the_admission(queue):
    with queue(flavor("one")) as team:
        plain(team)
        team.submit("first", seconds="never")
        team.until_runs("first")
        team.submit("patient", seconds="never", activeDeadlineSeconds=3)
        team.until_held("patient")
        team.finish("first")
        first, patient = team.until_ends("first"), team.until_ends("patient", "Failed")
        assert conditions(patient)["Failed"]["reason"] == "DeadlineExceeded"
        assert since(patient, "Failed") - since(patient, "Suspended") >= 3
        assert since(patient, "Suspended") >= since(first, "Complete")


def a_waiting_job_is_deleted_without_leftovers(queue):
    with queue(flavor("one")) as team:
        plain(team)
        team.submit("first", seconds="never")
        team.until_runs("first")
        team.submit("unwanted")
        team.until_held("unwanted")
        team.rest.delete("trainjobs", "unwanted", propagation="Foreground")
        wait_for("it to be deleted", lambda: not team.rest.get("trainjobs", "unwanted"))
        wait_for("its objects to be deleted", lambda: not team.workload("unwanted") and not team.rest.get("jobsets", "unwanted"))
        assert team.until_runs("first")


def a_time_to_live_takes_the_workload_along(queue):
    with queue(flavor("one")) as team:
        plain(team, ttlSecondsAfterFinished=1)
        team.submit("brief")
        team.until_workload("brief", "Admitted")
        wait_for("it to be deleted", lambda: not team.rest.get("trainjobs", "brief"))
        wait_for("its objects to be deleted", lambda: not team.rest.list("workloads") and not team.rest.list("jobsets"))
        team.submit("next", seconds="never")
        team.until_runs("next")


def a_copy_from_another_cluster_outlives_its_time_to_live(queue):
    with queue(flavor("one")) as team:
        plain(team, ttlSecondsAfterFinished=1)
        team.submit("copy", labels={"kueue.x-k8s.io/multikueue-origin": "multikueue"})
        copy = uid(team.until_ends("copy"))
        team.submit("local")
        wait_for("the local one to be deleted", lambda: not team.rest.get("trainjobs", "local"))
        assert uid(team.rest.get("trainjobs", "copy")) == copy


def a_job_for_another_cluster_is_left_to_kueue(queue):
    with queue(flavor("one", cpu="2")) as team:
        plain(team)
        team.submit("remote", managedBy="kueue.x-k8s.io/multikueue", seconds="never")
        team.until_workload("remote", "Admitted")
        wait_for("Kueue to resume it", lambda: team.rest.get("trainjobs", "remote")["spec"]["suspend"] is False)
        # By the time the local job has ended, Kueue has had the time to act on the remote one.
        team.submit("local")
        team.until_ends("local")
        assert team.rest.get("jobsets", "remote") is None
        assert not team.rest.get("trainjobs", "remote").get("status", {}).get("conditions")


def thirty_jobs_pass_through_quota_for_five(queue):
    with queue(flavor("one", cpu="5")) as team:
        plain(team)
        names = {f"job-{number}" for number in range(30)}
        for name in sorted(names):
            team.submit(name, seconds=0.5)
        most = 0

        def all_done():
            nonlocal most
            running = [pod for pod in team.rest.list("pods") if pod["status"].get("phase") in ("Pending", "Running")]
            most = max(most, len(running))
            return {job["metadata"]["name"] for job in team.rest.list("trainjobs") if "Complete" in true_conditions(job)} == names
        wait_for("all to end", all_done, timeout=240)
        assert most <= 5, f"{most} Pods at once"
        wait_for("Kueue to mark them finished", lambda: all("Finished" in true_conditions(each) for each in team.rest.list("workloads")))
        assert [name for name, uids in team.seen.job_sets(*names).items() if len(uids) > 1] == []
        for name in names:
            team.rest.delete("trainjobs", name)
        wait_for("all objects to be deleted", lambda: not any(
            team.rest.list(resource) for resource in ("trainjobs", "workloads", "jobsets", "jobs", "pods"))
            and [each["metadata"]["name"] for each in team.rest.list("configmaps")] == ["kube-root-ca.crt"])


def a_topology_request_puts_all_pods_onto_one_node(queue):
    with queue(flavor("one", topology="hosts", cpu="3")) as team:
        made = runtime(kind="TrainingRuntime")
        template = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
        template["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-required-topology": HOST}}
        team.rest.create(made)
        team.rest.create(runtime("urgent", "TrainingRuntime"))
        # Without the request, the scheduler spreads them.
        team.submit("close", nodes=3, cpu="1", seconds="never")
        def on_one_node():
            pods = team.until_runs("close")
            assert len({pod["spec"]["nodeName"] for pod in pods}) == 1
            assert not any(pod["spec"].get("schedulingGates") for pod in pods)
            return {uid(pod) for pod in pods}
        before = on_one_node()
        team.submit("urgent", "urgent", urgent=True)
        team.until_ends("urgent")
        assert not on_one_node() & before
        (assigned,) = team.workload("close")["status"]["admission"]["podSetAssignments"]
        assert assigned["topologyAssignment"]["levels"] == [HOST]


def an_edited_runtime_is_counted_anew_and_leaves_running_jobs_as_they_were(queue):
    with queue(flavor("one")) as team:
        plain(team)
        team.submit("surprised", seconds="never")
        team.until_runs("surprised")
        live = team.rest.get("trainingruntimes", "plain-test")
        container_of(live)["env"] = [{"name": "NEW", "value": "yes"}]
        team.rest.replace("trainingruntimes", live)
        until_counted(team, "surprised", "NEW")
        # It restarts, unless Kueue takes it back before JobSet has seen the suspension. What it was built from is kept.
        (pod,) = team.until_runs("surprised")
        assert "NEW" not in str(pod["spec"])


def requests_that_are_edited_in_a_runtime_are_counted_while_its_jobs_keep_the_former_ones(queue):
    with queue(flavor("one", cpu="2")) as team:
        made = runtime(kind="TrainingRuntime")
        container_of(made)["resources"] = {"requests": {"cpu": "500m"}}
        team.rest.create(made)
        team.submit("surprised", cpu=None, seconds="never")
        team.until_runs("surprised")
        live = team.rest.get("trainingruntimes", "plain-test")
        container_of(live)["resources"] = {"requests": {"cpu": "1500m"}}
        assert warnings_of(team, "PUT", live) == [
            "1 TrainJob is in a queue: Kueue counts its Pods by what the runtime is now"]
        team.rest.replace("trainingruntimes", live)
        until_counted(team, "surprised", "1500m")
        (pod,) = team.until_runs("surprised")
        assert pod["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "500m"}}


def a_deleted_runtime_leaves_the_quota_of_its_job_reserved_until_the_job_is_deleted(queue):
    with queue(flavor("one", cpu="2")) as team:
        team.rest.create(runtime("going", "TrainingRuntime"))
        plain(team)
        team.submit("left", "going", seconds="never")
        team.until_runs("left")
        assert warnings_of(team, "DELETE", team.rest.get("trainingruntimes", "going")) == [
            "1 TrainJob is in a queue: Kueue cannot count its Pods any more; delete it first"]
        team.rest.delete("trainingruntimes", "going")
        team.finish("left")
        until(team.rest, "left", "Complete")
        # By the time the other job has ended for Kueue, it has had the time to act on this one.
        team.submit("other")
        team.until_ends("other")
        assert "QuotaReserved" in true_conditions(team.workload("left")) and "Finished" not in true_conditions(team.workload("left"))
        team.submit("next", cpu="2", seconds="never")
        team.until_held("next")
        team.rest.delete("trainjobs", "left")
        team.until_runs("next")


def a_job_that_is_preempted_between_two_attempts_waits_and_resumes_into_the_next_one(queue):
    with queue(flavor("one")) as team:
        plain(team, **policy(1, backoff={"initialSeconds": 20}))
        team.rest.create(runtime("urgent", "TrainingRuntime"))
        team.submit("unlucky", seconds="never")
        (pod,) = team.until_runs("unlucky")
        fail_pod(team.rest, pod, 1)
        until_backing_off(team.rest, "unlucky")
        # It keeps its quota meanwhile.
        assert "Admitted" in true_conditions(team.workload("unlucky"))
        team.submit("urgent", "urgent", urgent=True, seconds="never")
        team.until_runs("urgent")
        team.until_held("unlucky")
        team.finish("urgent")
        team.until_runs("unlucky")
        assert counters(team.rest, "unlucky") == (1, 1)
        attempt(team.rest, "unlucky", 1)
        team.finish("unlucky")
        team.until_ends("unlucky")


def a_job_whose_back_off_outlasts_the_recovery_timeout_is_evicted_and_goes_on(queue):
    with queue(flavor("one")) as team:
        plain(team, **policy(1, backoff={"initialSeconds": 25}))
        team.submit("unlucky", seconds="never")
        (pod,) = team.until_runs("unlucky")
        team.until_workload("unlucky", "PodsReady")
        fail_pod(team.rest, pod, 1)
        until_backing_off(team.rest, "unlucky")
        team.until_workload("unlucky", "Evicted")
        assert true_conditions(team.workload("unlucky"))["Evicted"]["reason"] == "PodsReadyTimeout"
        team.until_workload("unlucky", "Admitted")
        team.until_runs("unlucky")
        assert counters(team.rest, "unlucky") == (1, 1)
        attempt(team.rest, "unlucky", 1)
        team.finish("unlucky")
        team.until_ends("unlucky")


def a_command_that_kueues_library_changes_reserves_quota_and_never_runs(queue):
    with queue(flavor("one", **{"cpu": "2", "nvidia.com/gpu": "4"})) as team:
        plain(team)
        job = train_job("tune", "torchtune-llama3.2-1b", labels={QUEUE_LABEL: "team"})
        job["spec"]["trainer"]["command"] = ["tune", "run"]
        team.rest.create(job)
        team.until_workload("tune", "Admitted")
        team.submit("other")
        team.until_ends("other")
        assert team.rest.get("trainjobs", "tune")["spec"]["suspend"] and "Admitted" in true_conditions(team.workload("tune"))


STORIES = {story.__name__: story for story in (
    one_runs_and_the_other_after_it, pods_are_placed_by_their_flavor, a_flavors_tolerations_join_the_users_own,
    a_deadline_runs_from_the_admission, a_waiting_job_is_deleted_without_leftovers,
    a_time_to_live_takes_the_workload_along, a_copy_from_another_cluster_outlives_its_time_to_live, a_job_for_another_cluster_is_left_to_kueue, thirty_jobs_pass_through_quota_for_five,
    a_topology_request_puts_all_pods_onto_one_node, an_edited_runtime_is_counted_anew_and_leaves_running_jobs_as_they_were,
    requests_that_are_edited_in_a_runtime_are_counted_while_its_jobs_keep_the_former_ones,
    a_deleted_runtime_leaves_the_quota_of_its_job_reserved_until_the_job_is_deleted,
    a_job_that_is_preempted_between_two_attempts_waits_and_resumes_into_the_next_one,
    a_job_whose_back_off_outlasts_the_recovery_timeout_is_evicted_and_goes_on,
    a_command_that_kueues_library_changes_reserves_quota_and_never_runs)}


@pytest.fixture(scope="module")
def outcomes(request, queue):
    with SideBySide(request, "story", lambda name: STORIES[name](queue)) as stories:
        yield stories


@pytest.mark.parametrize("story", STORIES)
def test_in_a_queue(outcomes, story):
    outcomes.result(story)
