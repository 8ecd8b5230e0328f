"""Reports of progress on the real control plane, by processes with the variables and files that Pods of TrainJobs get: the script of the
guide, Kubeflow's SDK, and transformers' callback. The server runs with the account, the roles, the policy and the arguments of component progress."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

import pod_reports
from deployment import NAMESPACE, ROOT, Program
from jobs import runtime, train_job
from rest import wait_for

COMPONENT = ROOT / "manifests" / "components" / "progress"
GUIDE = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "progress.md").read_text(), re.DOTALL)[1]
SDK = """
from kubeflow.trainer.backends.kubernetes.utils import update_trainjob_status
assert update_trainjob_status(55, 120, {"loss": 0.25, "step": 7})
"""
# Of a Trainer, which needs a framework and a model, the state that its callbacks see.
TRANSFORMERS = """
import types
from transformers.integrations.integration_utils import KubeflowCallback
callback = KubeflowCallback()
state = types.SimpleNamespace(is_world_process_zero=True, max_steps=4, global_step=0, epoch=0.0)
callback.on_train_begin(None, state, None)
for state.global_step in range(1, 5):
    callback.on_log(None, state, None, {"loss": 1 / state.global_step})
    callback.on_step_end(None, state, None)
callback.on_train_end(None, state, None)
"""


@pytest.fixture(scope="module")
def server(cluster, installed):
    """The server of progress as the component starts it, but for addresses. The reconciler has the component's gate."""
    cluster.kubectl("apply", "--server-side", "-f", COMPONENT / "rbac.yaml", "-f", COMPONENT / "account-policy.yaml")
    container, = yaml.safe_load((COMPONENT / "deployment.yaml").read_text())["spec"]["template"]["spec"]["containers"]
    arguments = [argument.replace("0.0.0.0:10443", "127.0.0.1:0").replace("0.0.0.0:8080", "127.0.0.1:0") for argument in container["args"]]
    program = Program(pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-webhook", cluster.directory / "progress.log", [
        *arguments, "--kubeconfig", cluster.service_account_kubeconfig(NAMESPACE, "signalbox-progress", NAMESPACE),
        "--shutdown-delay=0s", "--progress-interval=1s", "--progress-source-rate=0"])
    program.wait_until_ready()
    with installed.reconfigured("--feature-gates=TrainJobStatus=true"):
        yield program
    assert program.stop() == []


@pytest.fixture
def pod(server, rest):
    """A running Pod of a TrainJob called "training"."""
    rest.create(runtime(kind="TrainingRuntime"))
    rest.create(train_job("training", kind="TrainingRuntime", seconds="never"))

    def running():
        pods = [pod for pod in rest.list("pods") if pod["status"].get("phase") == "Running"]
        return pods[0] if pods else None
    return wait_for("a Pod", running)


def run(script, rest, pod, server, directory):
    """Runs a program in place of the Pod's container. Returns its output."""
    environment = pod_reports.environment_of(rest, pod, directory, server.port_of("progress"))
    result = subprocess.run([sys.executable, "-c", script], env={"PATH": os.environ["PATH"], **environment}, capture_output=True, text=True,
                            timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def progress(rest):
    return rest.get("trainjobs", "training").get("status", {}).get("trainerStatus", {})


def test_the_guide_s_script_reports_with_what_a_pod_is_given(server, rest, pod, tmp_path):
    assert run(GUIDE, rest, pod, server, tmp_path) == ""
    stored = wait_for("the last report", lambda: progress(rest) if progress(rest).get("progressPercentage") == 100 else None)
    assert stored["metrics"] == [{"name": "loss", "value": "0.25"}, {"name": "step", "value": "4"}]
    entries = rest.get("trainjobs", "training")["metadata"]["managedFields"]
    of_server, = [entry["fieldsV1"] for entry in entries if entry["manager"] == "trainer-status"]
    assert of_server.keys() == {"f:status"} and of_server["f:status"].keys() == {"f:trainerStatus"}


def test_the_sdk_reports_with_what_a_pod_is_given(server, rest, pod, tmp_path):
    run(SDK, rest, pod, server, tmp_path)
    stored = wait_for("the report", lambda: progress(rest) or None)
    assert stored["progressPercentage"] == 55 and stored["estimatedRemainingSeconds"] == 120
    assert stored["metrics"] == [{"name": "loss", "value": "0.25"}, {"name": "step", "value": "7"}]


def test_the_callback_of_transformers_reports_with_what_a_pod_is_given(server, rest, pod, tmp_path):
    run(TRANSFORMERS, rest, pod, server, tmp_path)
    stored = wait_for("the last report", lambda: progress(rest) if progress(rest).get("progressPercentage") == 100 else None)
    assert stored["estimatedRemainingSeconds"] == 0 and stored["metrics"] == [{"name": "loss", "value": "0.25"}]


def test_pods_of_another_train_job_or_of_none_may_not_report(server, rest, pod, admin):
    namespace = rest.namespace
    ca = pod_reports.ca_of(admin.get("secrets", "signalbox-progress-cert", NAMESPACE))
    port, name = server.port_of("progress"), f"signalbox-progress.{NAMESPACE}.svc"

    def status(job, token):
        return pod_reports.report(port, name, ca, namespace, job, token)[0]
    audience = pod_reports.audience_of(namespace, "training")
    good = pod_reports.token_of(rest, pod, audience)
    assert status("training", good) == 200
    rest.create(train_job("other", kind="TrainingRuntime", suspend=True))
    of_other = pod_reports.token_of(rest, pod, pod_reports.audience_of(namespace, "other"))
    alone = rest.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"},
                         "spec": {"containers": [{"name": "any", "image": "registry.example.com/any:1"}]}})
    for job, token in (("other", good), ("other", of_other), ("training", pod_reports.token_of(rest, alone, audience)),
                       ("training", pod_reports.token_of(rest, pod, "https://kubernetes.default.svc")),
                       ("training", good[:-8] + "AAAAAAAA"), ("training", "")):
        assert status(job, token) == 403
    assert progress(rest)["progressPercentage"] == 42
    assert "trainerStatus" not in rest.get("trainjobs", "other").get("status", {})
