"""The server of progress on a control plane, as component progress starts it, but for addresses; and training code that reports to it."""

import contextlib
import pathlib
import re
import subprocess
import sys

import yaml

import pod_reports
from deployment import NAMESPACE, Program
from paths import ROOT
from progress import running_pods
from rest import wait_for

COMPONENT = ROOT / "manifests" / "components" / "progress"
GATE = "--feature-gates=TrainJobStatus=true"
DEADLINE_GATE = "--feature-gates=TrainJobStatus=true,TrainJobProgressDeadline=true"
GUIDE = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "progress.md").read_text(), re.DOTALL)[1]


def start(cluster, binaries, *options, log="progress.log"):
    """Installs roles and policy of the component, and starts the server with its account and arguments. Returns the ready program. The
    reconciler needs GATE or DEADLINE_GATE. A second replica needs a log of its own."""
    cluster.kubectl("apply", "--server-side", "-f", COMPONENT / "rbac.yaml", "-f", COMPONENT / "account-policy.yaml")
    container, = yaml.safe_load((COMPONENT / "deployment.yaml").read_text())["spec"]["template"]["spec"]["containers"]
    arguments = [re.sub("listen=:.*", "listen=127.0.0.1:0", argument) for argument in container["args"]]
    program = Program(pathlib.Path(binaries) / "signalbox-webhook", pathlib.Path(cluster.directory) / log, [
        *arguments, "--kubeconfig", cluster.service_account_kubeconfig(NAMESPACE, "signalbox-progress", NAMESPACE),
        "--shutdown-delay=0s", "--progress-interval=1s", "--progress-source-rate=0", *options])
    program.wait_until_ready()
    return program


@contextlib.contextmanager
def running(cluster, binaries, *options, log="progress.log"):
    """Starts the server, and checks that it ends cleanly."""
    program = start(cluster, binaries, *options, log=log)
    try:
        yield program
    finally:
        problems = program.stop()
    assert problems == []


def running_pod(rest, job="training", but=""):
    """Returns a running Pod of the TrainJob that has another name than `but`."""
    return wait_for(f"a Pod of {job}", lambda: [pod for pod in running_pods(rest, job) if pod["metadata"]["name"] != but], 60)[0]


def run(script, rest, pod, server, directory):
    """Runs a program in place of the Pod's container, with the Pod's variables and files. Returns its output."""
    environment = pod_reports.environment_of(rest, pod, directory, server.port_of("progress"))
    result = subprocess.run([sys.executable, "-c", script], env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True,
                            timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr
