"""Training programs that really run: ten TrainJobs, from their creation to their end, side by side."""

import pytest

from node.training import train_job
from rest import true_conditions, wait_for

SECONDS = 240

JOBS = [
    train_job("plain", "plain", ["sh", "-c", "echo hello from $(hostname)"], 2),
    train_job("torch", "torch-distributed", ["torchrun", "/workspace/torch_train.py"], 2, {"numProcPerNode": 2}),
    train_job("jax", "jax-distributed", ["python3", "/workspace/jax_sum.py"], 2),
    train_job("xgboost", "xgboost-distributed", ["python3", "/workspace/xgboost_train.py"], 2),
    train_job("mpi", "deepspeed-distributed", ["mpirun", "python3", "/workspace/mpi_sum.py"], 2, {"numProcPerNode": 2}),
    train_job("progress", "plain", ["python3", "/workspace/progress.py"]),
    train_job("mistake", "plain", ["python3", "-c", "import sys; sys.exit('there is no file train.csv')"]),
    train_job("memory", "plain", ["python3", "/workspace/hog.py"], trainer={"resourcesPerNode": {"limits": {"memory": "200Mi"}}}),
    train_job("misspelt", "plain", ["trainn"]),
    train_job("deadline", "plain", ["python3", "-c", "import time; print('begins'); time.sleep(600)"], activeDeadlineSeconds=30),
]


def test_a_program_without_a_framework_runs_on_each_node(ended, plugin):
    assert ended("plain") == "Complete"
    logs = plugin("logs", "plain")
    assert "hello from plain-node-0-0" in logs and "hello from plain-node-0-1" in logs


def test_torchrun_trains_on_two_nodes_with_two_processes_each_and_the_loss_falls(ended, plugin, admin):
    assert ended("torch") == "Complete"
    logs = plugin("logs", "torch")
    assert [f"rank {rank} of 4 on torch-node-0-{rank // 2}" in logs for rank in range(4)] == [True] * 4
    assert [f"rank {rank}: the loss fell" in logs for rank in range(4)] == [True] * 4
    pods = admin.list("pods", selector="jobset.sigs.k8s.io/jobset-name=torch")
    assert {pod["spec"]["nodeName"] for pod in pods} == {"node-1", "node-2"}


def test_processes_of_jax_find_each_other_and_compute_a_sum(ended, plugin):
    assert ended("jax") == "Complete"
    logs = plugin("logs", "jax")
    assert "process 0 of 2: the sum is 3" in logs and "process 1 of 2: the sum is 3" in logs


def test_workers_of_xgboost_train_together_and_the_loss_falls(ended, plugin):
    assert ended("xgboost") == "Complete"
    logs = plugin("logs", "xgboost")
    assert "worker 0 of 2: the loss fell" in logs and "worker 1 of 2: the loss fell" in logs


def test_mpirun_starts_ranks_on_both_nodes_by_ssh(ended, plugin):
    assert ended("mpi") == "Complete"
    logs = plugin("logs", "mpi")
    assert [f"rank {rank} of 4" in logs for rank in range(4)] == [True] * 4
    assert logs.count("the sum is 10") == 4


def test_an_mpi_job_that_is_deleted_and_created_again_gets_keys_that_fit(runtimes, admin, ended, plugin):
    nodes = "jobset.sigs.k8s.io/jobset-name=again"
    admin.create(train_job("again", "deepspeed-distributed", ["mpirun", "sleep", "600"], 2))
    wait_for("its launcher", lambda: [pod for pod in admin.list("pods", selector="batch.kubernetes.io/job-name=again-launcher-0")
                                      if pod["status"]["phase"] == "Running"], SECONDS)
    admin.delete("trainjobs", "again")
    wait_for("its deletion", lambda: admin.get("trainjobs", "again") is None, 30)
    assert admin.list("pods", selector=nodes), "the nodes have no Pod of the deleted job, so nothing is shown"
    admin.create(train_job("again", "deepspeed-distributed", ["mpirun", "python3", "/workspace/mpi_sum.py"], 2))
    assert ended("again") == "Complete"
    output = plugin("logs", "again")
    assert "rank 1 of 2" in output, output


def test_a_program_reports_its_progress_with_the_token_of_its_pod(ended, plugin):
    assert ended("progress") == "Complete"
    shown = plugin("explain", "progress")
    assert "100%" in shown and "loss" in shown, shown


@pytest.fixture
def first_failure(admin):
    """Returns the first failure in the status of a job that has ended."""
    return lambda name: admin.get("trainjobs", name)["status"]["failures"][0]


def test_the_output_and_exit_code_of_a_failing_program_are_kept(ended, plugin, admin, first_failure):
    assert ended("mistake") == "Failed"
    failure = first_failure("mistake")
    assert (failure["exitCode"], failure["message"]) == (1, "there is no file train.csv")
    assert failure["pod"].startswith("mistake-node-0-0-") and failure["node"] in ("node-1", "node-2")
    assert "there is no file train.csv" in true_conditions(admin.get("trainjobs", "mistake"))["Failed"]["message"]
    assert "there is no file train.csv" in plugin("logs", "mistake")
    assert "exit code 1" in plugin("explain", "mistake")


def test_a_program_over_its_memory_limit_is_explained(ended, plugin, first_failure):
    assert ended("memory") == "Failed"
    failure = first_failure("memory")
    assert (failure["reason"], failure["exitCode"], failure["signal"]) == ("OOMKilled", 137, 9)
    assert "holds 100 MiB" in plugin("logs", "memory")
    assert "OOMKilled, exit code 137" in plugin("explain", "memory")


def test_a_command_that_the_image_lacks_is_explained(ended, plugin, first_failure):
    assert ended("misspelt") == "Failed"
    assert "executable file not found" in first_failure("misspelt")["message"]
    assert "executable file not found" in plugin("explain", "misspelt")


def test_a_program_is_ended_at_its_deadline(ended, plugin, admin):
    assert ended("deadline") == "Failed"
    assert "DeadlineExceeded" in plugin("explain", "deadline")
    wait_for("its Pods to end", lambda: not admin.list("pods", selector="jobset.sigs.k8s.io/jobset-name=deadline"), 60)
