"""Reports of progress on the real control plane, by processes with the variables and files that Pods of TrainJobs get: the script of the
guide, Kubeflow's SDK, and transformers' callback. The server runs with the account, the roles, the policy and the arguments of component progress."""

import os

import pytest

import pod_reports
import progress_deployment
from deployment import NAMESPACE
from jobs import runtime, train_job
from progress import until_alone
from progress_deployment import GUIDE, run
from rest import wait_for

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
    """The server of progress. The reconciler has the component's gate."""
    with progress_deployment.running(cluster, os.environ["SIGNALBOX_BIN_DIR"]) as program, \
            installed.reconfigured(progress_deployment.GATE):
        yield program


@pytest.fixture
def pod(server, rest):
    """A running Pod of a TrainJob called "training"."""
    rest.create(runtime(kind="TrainingRuntime"))
    rest.create(train_job("training", kind="TrainingRuntime", seconds="never"))

    def running():
        pods = [pod for pod in rest.list("pods") if pod["status"].get("phase") == "Running"]
        return pods[0] if pods else None
    return wait_for("a Pod", running)


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


def test_reports_cause_no_reconcile(server, installed, rest, pod, admin):
    """Their events reach the reconciler's watch before that of the label, which causes one."""
    to = (server.port_of("progress"), f"signalbox-progress.{NAMESPACE}.svc",
          pod_reports.ca_of(admin.get("secrets", "signalbox-progress-cert", NAMESPACE)), rest.namespace, "training")
    token = pod_reports.token_of(rest, pod, pod_reports.audience_of(rest.namespace, "training"))
    assert pod_reports.report(*to, token, 0)[0] == 200
    until_alone(admin)
    installed.wait_until_idle()
    before = installed.reconciler.metric("signalbox_reconciles_total")
    for percentage in range(1, 4):
        assert pod_reports.report(*to, token, percentage)[0] == 200
        wait_for("its write", lambda p=percentage: progress(rest)["progressPercentage"] == p)
    rest.patch("trainjobs", "training", {"metadata": {"labels": {"seen": "all"}}})
    wait_for("a reconcile", lambda: installed.reconciler.metric("signalbox_reconciles_total") > before)
    installed.wait_until_idle()
    assert installed.reconciler.metric("signalbox_reconciles_total") == before + 1


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
