"""Two clusters that MultiKueue joins, each with Signalbox and Kueue: TrainJobs of the manager cluster run as copies in the worker cluster."""

import pytest

from controlplane import ControlPlane
from controlplane.kueue import Kueue
from jobs import runtime, train_job
from multikueue import joined
from progress import uid, until, until_gone
from queues import Queue, flavor, wait_for
from rest import Rest

pytestmark = pytest.mark.long  # a second control plane, with Signalbox and Kueue, takes longer to start than all stories take

GRACE = {"manager": "signalbox.test/shape", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
    {"name": "node", "template": {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 20}}}}}]}}}}
KINDS = ("trainjobs", "workloads", "jobsets", "jobs", "pods")


@pytest.fixture(scope="module")
def pair(request, cluster, admin, kueue, install):
    """Returns two queues of one name, in the manager cluster and in the worker cluster, with a runtime whose TTL is 0."""
    with ControlPlane(nodes=1) as plane, install(plane):
        remote = Kueue(plane)
        remote.install()
        remote.start()
        with joined(cluster, plane) as check:
            manager = Queue(admin, cluster.kubeconfig, flavor("one", cpu="4"), checks=[check])
            worker = Queue(Rest(plane.kubeconfig), plane.kubeconfig, flavor("one", cpu="4"), name=manager.name)
            for queue in (manager, worker):
                queue.rest.create(runtime(kind="TrainingRuntime", ttlSecondsAfterFinished=0))
            yield manager, worker
            for queue in (manager, worker):
                queue.close()
        plane.keep_logs = request.session.testsfailed > 0


@pytest.fixture
def manager(pair):
    return pair[0]


@pytest.fixture
def worker(pair):
    return pair[1]


def until_a_local_job_is_removed(queue):
    """Runs a job that has no queue until its TTL, which is that of all jobs here, is over."""
    queue.rest.create(train_job("local", kind="TrainingRuntime"))
    until_gone(queue.rest, "local")


def until_nothing_is_left(queue, name):
    """Waits until the job, its Workload, and all that is named after it are gone."""
    def left():
        return [found for kind in KINDS for each in queue.rest.list(kind)
                if name in (found := each["metadata"]["name"]).split("-")]
    wait_for(f"the objects of {name} to be deleted", lambda: not left())


def writers(job):
    return {entry["manager"] for entry in job["metadata"]["managedFields"]}


def test_a_job_runs_in_the_worker_cluster_and_shows_its_status_in_the_manager_cluster(manager, worker):
    assert manager.submit("remote", nodes=2, seconds="never")["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
    worker.until_runs("remote")

    def shown():
        return manager.rest.get("trainjobs", "remote").get("status", {}).get("jobsStatus", [{}])[0].get("active")
    wait_for("the manager cluster to show that it runs", shown)
    copy = worker.rest.get("trainjobs", "remote")
    assert copy["spec"]["managedBy"] == "trainer.kubeflow.org/trainjob-controller"
    worker.finish("remote")
    manager.until_ends("remote")
    until_nothing_is_left(worker, "remote")
    until_a_local_job_is_removed(manager)
    job = manager.rest.get("trainjobs", "remote")
    assert job["status"]["jobsStatus"][0]["succeeded"] == 1
    # The controller of the manager cluster has neither written to it nor built anything for it, and its TTL does not count there.
    assert "trainer" in writers(copy) - writers(job)
    assert manager.rest.get("jobsets", "remote") is None


def test_a_copy_outlives_its_time_to_live_until_the_manager_has_seen_its_end(manager, worker, kueue):
    manager.submit("kept", seconds="never")
    worker.until_runs("kept")
    with kueue.away():
        worker.finish("kept")
        copy = uid(until(worker.rest, "kept", "Complete"))
        until_a_local_job_is_removed(worker)
        assert uid(worker.rest.get("trainjobs", "kept")) == copy
    manager.until_ends("kept")
    until_nothing_is_left(worker, "kept")


def test_a_deactivated_job_leaves_the_worker_cluster_and_returns_when_it_is_activated_again(manager, worker):
    manager.submit("stopped", seconds="never")
    worker.until_runs("stopped")
    before = uid(worker.rest.get("trainjobs", "stopped"))
    workload = manager.workload("stopped")["metadata"]["name"]
    manager.rest.patch("workloads", workload, {"spec": {"active": False}})
    manager.until_held("stopped")
    until_nothing_is_left(worker, "stopped")
    manager.rest.patch("workloads", workload, {"spec": {"active": True}})
    worker.until_runs("stopped")
    assert uid(worker.rest.get("trainjobs", "stopped")) != before
    worker.finish("stopped")
    manager.until_ends("stopped")
    until_nothing_is_left(worker, "stopped")


def test_a_deleted_job_leaves_the_worker_cluster(manager, worker):
    manager.submit("deleted", seconds="never")
    worker.until_runs("deleted")
    manager.rest.delete("trainjobs", "deleted")
    until_gone(manager.rest, "deleted")
    until_nothing_is_left(worker, "deleted")


def test_a_copy_lacks_the_fields_that_kueues_types_lack(manager, worker):
    job = manager.submit("short", seconds="never", runtimePatches=[GRACE])
    copy = wait_for("the copy", lambda: worker.rest.get("trainjobs", "short"))
    assert "terminationGracePeriodSeconds" in str(job["spec"])
    assert "terminationGracePeriodSeconds" in str(manager.rest.get("trainjobs", "short")["spec"])
    assert "terminationGracePeriodSeconds" not in str(copy["spec"])
