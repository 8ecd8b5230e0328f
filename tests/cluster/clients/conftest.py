"""Fixtures of this folder: `kubectl trainjob` as plain users run it; and the server of progress with a TrainJob that reports to it."""

import os
import pathlib
import subprocess
import types

import pytest

import pod_reports
import progress_deadlines
import progress_deployment
from deployment import NAMESPACE
from jobs import runtime, train_job
from rest import Rest, wait_for

PROGRAMS = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])


@pytest.fixture
def user(cluster, kubectl, namespace):
    """Returns a function that makes a user with this role in the test's namespace, and returns the function that runs `kubectl trainjob` as
    that user."""
    def make(role):
        name = f"{role}-of-{namespace}"
        kubectl("create", "rolebinding", name, f"--clusterrole={role}", f"--user={name}")
        kubeconfig = cluster.user_kubeconfig(name, name)
        client = Rest(kubeconfig, namespace)
        wait_for("the role to count", lambda: is_allowed(client))
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}

        def run(command, *arguments):
            return subprocess.run([cluster.kubectl_path, "trainjob", command, "-n", namespace, *arguments], capture_output=True, text=True,
                                  timeout=60, check=False, env=environment)
        return run
    return make


def is_allowed(client):
    answer = client.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {
        "namespace": client.namespace, "verb": "list", "group": "trainer.kubeflow.org", "resource": "trainjobs"}}})
    return answer["status"]["allowed"]


@pytest.fixture(scope="module")
def server(cluster, installed, admin):
    """The server of progress, whose predecessor has accepted reports until now. The reconciler watches for progress deadlines."""
    progress_deadlines.lease(admin, NAMESPACE)
    with progress_deployment.running(cluster, PROGRAMS) as program, installed.reconfigured(progress_deployment.DEADLINE_GATE):
        yield program


@pytest.fixture
def pod(server, rest, request):
    """A running Pod of a TrainJob called "training". Its parameter is more of the TrainJob's spec."""
    rest.create(runtime(kind="TrainingRuntime"))
    rest.create(train_job("training", kind="TrainingRuntime", seconds="never", **getattr(request, "param", {})))
    return progress_deployment.running_pod(rest)


@pytest.fixture
def training(server, rest, pod, admin):
    """token(pod): one for the reports of "training", bound to that Pod; answer(token, ...): sends a report and returns status and body;
    report(token, ...): the status alone; progress(): what is stored."""
    def token(of=pod, audience=pod_reports.audience_of(rest.namespace, "training")):
        return pod_reports.token_of(rest, of, audience)

    def answer(with_token, percentage=42, replica=server, job="training", **options):
        ca = pod_reports.ca_of(admin.get("secrets", "signalbox-progress-cert", NAMESPACE))
        return pod_reports.report(replica.port_of("progress"), f"signalbox-progress.{NAMESPACE}.svc", ca, rest.namespace, job,
                                  with_token, percentage, **options)

    def report(*arguments, **options):
        return answer(*arguments, **options)[0]

    def progress():
        return rest.get("trainjobs", "training").get("status", {}).get("trainerStatus", {})
    return types.SimpleNamespace(token=token, answer=answer, report=report, progress=progress)
