"""What goes wrong in a user's first week, and what `kubectl trainjob` says of it: the cause, in words that tell what to mend."""

import re
import signal
import subprocess
import time

import pytest

from node.registry import ADDRESS, PRIVATE
from node.training import train_job
from rest import wait_for

SECONDS = 120


def with_pod(pod):
    """Returns the part of a TrainJob's spec that changes the Pods of its nodes."""
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]
    return {"runtimePatches": [{"manager": "example.com/test", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}]}


def with_volume(source):
    return with_pod({"volumes": [{"name": "data", **source}],
                     "containers": [{"name": "node", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]})


# Kubeflow's runtimes are like this one: a program that fails is started again in its Pod.
RESTARTING = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
              "metadata": {"name": "restarting", "labels": {"trainer.kubeflow.org/framework": "plain"}},
              "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
                  "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                  "spec": {"template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "node", "image": "localhost/training:1"}]}}}}}]}}}}

JOBS = [
    RESTARTING,
    train_job("no-image", "plain", ["true"], trainer={"image": f"{ADDRESS}/team/train:1.0"}),
    train_job("private", "plain", ["true"], trainer={"image": f"{PRIVATE}/train:1.0"}),
    train_job("no-config", "plain", ["true"], **with_volume({"configMap": {"name": "settings"}})),
    train_job("no-secret", "plain", ["true"], 2, **with_volume({"secret": {"secretName": "token"}})),
    train_job("no-claim", "plain", ["true"], **with_volume({"persistentVolumeClaim": {"claimName": "data"}})),
    train_job("no-variable", "plain", ["true"], trainer={
        "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "token"}}}]}),
    train_job("no-space", "plain", ["sh", "-c", "echo fills the disk; head -c 60M /dev/zero > /tmp/data; sleep 600"], trainer={
        "resourcesPerNode": {"limits": {"ephemeral-storage": "20Mi"}}}),
    train_job("no-cores", "plain", ["true"], trainer={"resourcesPerNode": {"requests": {"cpu": "64"}}}),
    train_job("processes", "torch-distributed", ["torchrun", "--no_python", "sh", "-c", "echo process $RANK of $WORLD_SIZE"], trainer={
        "numProcPerNode": 6}),
    train_job("loop", "restarting", ["sh", "-c", "echo there is no file train.csv; exit 3"], runtimeRef={"kind": "TrainingRuntime", "name": "restarting"}),
    train_job("million", "plain", ["python3", "-c", "for number in range(1_000_000): print('line', number)"]),
]


NO_IMAGE = "cannot start, its image cannot be pulled"
NO_VOLUME = "cannot start, its volumes or its network are not ready"


@pytest.fixture
def reaches(state_of):
    """Waits until a job has a state."""
    def wait(name, state):
        seen = []

        def is_there():
            seen.append(state_of(name))
            return seen[-1] == state
        wait_for(f"{name} to be: {state}", is_there, SECONDS)
        # Errors take turns with pauses: what was seen once stays.
        return seen
    return wait


@pytest.mark.parametrize("name, cause", [
    ("no-image", f"failed to resolve image: {ADDRESS}/team/train:1.0: not found"),
    ("private", "authorization failed: no basic auth credentials"),
])
def test_an_image_that_cannot_be_pulled_is_named_with_the_words_of_the_registry(reaches, attempt, plugin, name, cause):
    reaches(name, NO_IMAGE)
    assert cause in plugin("explain", name)
    status, _, errors = attempt("wait", name, "--timeout=1s")
    assert status == 5 and f"default/{name} ({NO_IMAGE})" in errors
    status, output, errors = attempt("logs", name)
    # Tries and pauses take turns, with words of their own.
    assert (status, output) == (1, "") and re.search("is waiting to start: (trying and failing to pull image|image can't be pulled)", errors)


@pytest.mark.parametrize("name, cause", [("no-config", 'configmap "settings" not found'), ("no-secret", 'secret "token" not found')])
def test_a_volume_that_cannot_be_mounted_is_named_with_what_it_lacks(reaches, attempt, plugin, name, cause):
    reaches(name, NO_VOLUME)
    assert f"; FailedMount: MountVolume.SetUp failed for volume \"data\" : {cause}" in plugin("explain", name)
    status, _, errors = attempt("wait", name, "--timeout=1s")
    assert status == 5 and f"default/{name} ({NO_VOLUME})" in errors


def test_a_secret_that_a_variable_needs_is_named(reaches, plugin):
    reaches("no-variable", "cannot start, CreateContainerConfigError")
    assert 'CreateContainerConfigError: secret "token" not found' in plugin("explain", "no-variable")


@pytest.mark.parametrize("name, cause", [("no-claim", 'persistentvolumeclaim "data" not found'), ("no-cores", "2 Insufficient cpu")])
def test_a_pod_that_no_node_takes_says_why(reaches, plugin, name, cause):
    reaches(name, "waits for its Pods")
    shown = plugin("explain", name)
    assert "Pending; no node: 0/2 nodes are available: " in shown and cause in shown


def test_a_full_disk_is_no_exit_code_of_the_program(reaches, plugin):
    reaches("no-space", "failed")
    shown = plugin("explain", "no-space")
    assert ": Evicted" in shown and "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi" in shown
    assert "exit code" not in shown


def test_a_program_that_fails_again_and_again_is_told_from_one_that_runs(admin, state_of, attempt):
    wait_for("its second attempt", lambda: state_of("loop").endswith("of 6, exit code 3"), SECONDS)
    assert state_of("loop").startswith("fails and is retried, ")
    # The kubelet removes the output of an attempt once the next one has ended, before the status of the Pod names that.
    wait_for("the output of the attempt before", lambda: "there is no file train.csv" in attempt("logs", "loop", "--previous")[1], SECONDS)


def test_of_a_million_lines_those_are_printed_that_the_node_still_has(ended, plugin):
    assert ended("million") == "Complete"
    _, *lines = plugin("logs", "million").splitlines()  # a new file of the node may begin in the middle of a line
    assert lines == [f"line {number}" for number in range(1_000_000 - len(lines), 1_000_000)] and lines


def test_more_processes_than_cores_run_on_one_node(ended, plugin):
    assert ended("processes") == "Complete"
    logs = plugin("logs", "processes")
    assert [f"process {number} of 6" in logs for number in range(6)] == [True] * 6


def test_ctrl_c_ends_a_wait_and_leaves_the_job_alone(plugin_command, admin):
    with subprocess.Popen(**plugin_command("wait", "no-cores"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        time.sleep(1)
        waiting.send_signal(signal.SIGINT)
        output, errors = waiting.communicate(timeout=10)
    assert (output, errors) == ("", "") and waiting.returncode in (130, -signal.SIGINT)
    assert admin.get("trainjobs", "no-cores")
