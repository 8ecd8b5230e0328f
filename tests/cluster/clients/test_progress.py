"""Reports of progress on the real control plane, by processes with the variables and files that Pods of TrainJobs get: the script of the
guide, Kubeflow's SDK, and transformers' callback. The server runs with the account, the roles, the policy and the arguments of component progress."""

import pytest

import pod_reports
from deployment import NAMESPACE
from jobs import train_job
from progress import until, until_alone
from progress_deployment import GUIDE, run
from rest import ApiError, Rest, conditions, wait_for

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


def test_the_guide_s_script_reports_with_what_a_pod_is_given(server, rest, pod, training, tmp_path):
    assert run(GUIDE, rest, pod, server, tmp_path) == ""
    stored = wait_for("the last report", lambda: training.progress() if training.progress().get("progressPercentage") == 100 else None)
    assert stored["metrics"] == [{"name": "loss", "value": "0.25"}, {"name": "step", "value": "4"}]
    entries = rest.get("trainjobs", "training")["metadata"]["managedFields"]
    of_server, = [entry["fieldsV1"] for entry in entries if entry["manager"] == "trainer-status"]
    assert of_server.keys() == {"f:status"} and of_server["f:status"].keys() == {"f:trainerStatus"}


def test_the_sdk_reports_with_what_a_pod_is_given(server, rest, pod, training, tmp_path):
    run(SDK, rest, pod, server, tmp_path)
    stored = wait_for("the report", lambda: training.progress() or None)
    assert stored["progressPercentage"] == 55 and stored["estimatedRemainingSeconds"] == 120
    assert stored["metrics"] == [{"name": "loss", "value": "0.25"}, {"name": "step", "value": "7"}]


def test_the_callback_of_transformers_reports_with_what_a_pod_is_given(server, rest, pod, training, tmp_path):
    run(TRANSFORMERS, rest, pod, server, tmp_path)
    stored = wait_for("the last report", lambda: training.progress() if training.progress().get("progressPercentage") == 100 else None)
    assert stored["estimatedRemainingSeconds"] == 0 and stored["metrics"] == [{"name": "loss", "value": "0.25"}]


def test_reports_cause_no_reconcile(installed, rest, training, admin):
    """Their events reach the reconciler's watch before that of the label, which causes one."""
    token = training.token()
    assert training.report(token, 0) == 200
    # The Job controller counts a Pod as ready about a second after it has begun to run.
    wait_for("the last change of the counts", lambda: any(
        each["ready"] == 1 for each in rest.get("trainjobs", "training").get("status", {}).get("jobsStatus", [])))
    until_alone(admin)
    installed.wait_until_idle()
    before = installed.reconciler.metric("signalbox_reconciles_total")
    for percentage in range(1, 4):
        assert training.report(token, percentage) == 200
        wait_for("its write", lambda p=percentage: training.progress()["progressPercentage"] == p)
    rest.patch("trainjobs", "training", {"metadata": {"labels": {"seen": "all"}}})
    wait_for("a reconcile", lambda: installed.reconciler.metric("signalbox_reconciles_total") > before)
    installed.wait_until_idle()
    assert installed.reconciler.metric("signalbox_reconciles_total") == before + 1


def test_a_stolen_token_of_the_server_gives_no_job_a_deadline(installed, cluster, rest, training):
    path = rest.path("trainjobs", "training") + "/status?fieldManager=trainer-status"
    deadline = {"status": {"runPolicy": {"activeDeadlineSeconds": 1}}}

    def write(client):
        return client.request("PATCH", path, deadline, "application/merge-patch+json")
    assert training.report(training.token()) == 200
    thief = Rest(cluster.service_account_kubeconfig(NAMESPACE, "signalbox-progress"))
    with pytest.raises(ApiError, match="403.* signalbox-progress may change nothing of a TrainJob's status but trainerStatus"):
        write(thief)
    installed.wait_until_idle()
    assert "Failed" not in conditions(rest.get("trainjobs", "training")) and rest.get("jobsets", "training")
    write(rest)
    until(rest, "training", "Failed", "DeadlineExceeded")


def test_pods_of_another_train_job_or_of_none_may_not_report(rest, pod, training):
    good = training.token()
    assert training.report(good) == 200
    rest.create(train_job("other", kind="TrainingRuntime", suspend=True))
    of_other = training.token(audience=pod_reports.audience_of(rest.namespace, "other"))
    alone = rest.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"},
                         "spec": {"containers": [{"name": "any", "image": "registry.example.com/any:1"}]}})
    for job, token in (("other", good), ("other", of_other), ("training", training.token(alone)),
                       ("training", training.token(audience="https://kubernetes.default.svc")),
                       ("training", good[:-8] + "AAAAAAAA"), ("training", "")):
        assert training.report(token, job=job) == 403
    assert training.progress()["progressPercentage"] == 42
    assert "trainerStatus" not in rest.get("trainjobs", "other").get("status", {})
