"""The mistakes of a first day, and the words that come back."""

import base64
import datetime
import functools
import json
import os
import pathlib
import re
import subprocess

import pytest

from guides import NEEDS_PODS, runbook_commands
from jobs import train_job
from paths import ROOT
from progress import resume, until, until_held, until_runs
from rest import conditions, wait_for

PROGRAM = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"
TROUBLESHOOTING = (ROOT / "docs" / "troubleshooting.md").read_text()


@pytest.fixture
def apply(signalbox, kubectl):
    """Returns a function that applies a TrainJob and returns the words of its refusal."""
    def run(job, *options):
        with pytest.raises(RuntimeError) as refused:
            kubectl("apply", "-f", "-", *options, input=json.dumps(job))
        return str(refused.value)
    return run


@pytest.fixture
def explain(signalbox, kubeconfig):
    def run(name):
        return subprocess.run([PROGRAM, "explain", name], capture_output=True, text=True, timeout=60, check=True,
                              env={**os.environ, "KUBECONFIG": str(kubeconfig)}).stdout
    return run


def job_of(name, runtime="torch-distributed", trainer=None, **spec):
    job = train_job(name, runtime, **spec)
    job["spec"]["trainer"].update(trainer or {})
    return job


def running(screen):
    """Returns the line of a running job's state, "" of any other."""
    line = screen.splitlines()[1]
    return line if line.startswith("State     running") else ""


def refusal(cluster, job):
    """Returns why a dry run is refused, "" if it is not."""
    try:
        cluster.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(job))
    except RuntimeError as error:
        return str(error)
    return ""


def columns(kubectl, name):
    return kubectl("get", "trainjob", name, "--no-headers").split()[1:3]


def test_a_gpu_without_its_domain_is_refused_with_its_name(apply):
    said = apply(job_of("gpus", trainer={"resourcesPerNode": {"requests": {"gpu": 8}}}))
    assert ('spec.trainer.resourcesPerNode.requests[gpu]: Invalid value: "gpu": is no resource of a container; '
            'did you mean "nvidia.com/gpu"?') in said


def test_half_a_gpu_is_refused(apply):
    said = apply(job_of("half", trainer={"resourcesPerNode": {"limits": {"nvidia.com/gpu": "500m"}}}))
    assert 'spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]: Invalid value: "500m": must be a whole number' in said


def test_a_misspelt_runtime_is_refused_with_the_nearest_name(apply):
    said = apply(job_of("typo", "torch-distribted"))
    assert ('spec.runtimeRef: Invalid value: "torch-distribted": ClusterTrainingRuntime not found: it must be created before the '
            'TrainJob; did you mean "torch-distributed"?') in said


def test_no_nodes_are_a_warning_since_the_train_job_completes_without_a_pod(apply, rest):
    job = job_of("none", trainer={"numNodes": 0})
    said = apply(job, "--dry-run=server", "--warnings-as-errors")
    assert "Warning: spec.trainer.numNodes is 0: no Pod trains, and the TrainJob ends as Complete" in said
    rest.create(job)
    until(rest, "none", "Complete")
    assert not [pod for pod in rest.list("pods") if pod["metadata"]["name"].startswith("none-")]


def test_explain_says_which_deadline_has_passed_and_since_when_the_train_job_has_failed(kubectl, rest, explain):
    rest.create(job_of("late", seconds="never", activeDeadlineSeconds=2))
    until(rest, "late", "Failed", "DeadlineExceeded")
    message = "TrainJob exceeded its active deadline"
    assert conditions(rest.get("trainjobs", "late"))["Failed"]["message"] == message
    assert columns(kubectl, "late") == ["Failed", "DeadlineExceeded"]
    lines = explain("late").splitlines()
    state, said = lines[1:3]
    assert state.startswith("State     failed ") and state.endswith(" ago (DeadlineExceeded)") and said.strip() == message
    assert "Deadline  2s; the job has ended" in lines


def test_a_resumed_train_job_shows_what_it_does_now_and_since_when(kubectl, rest, explain):
    rest.create(job_of("night", seconds="never", suspend=True))
    until_held(rest, "night")
    resume(rest, "night")
    until_runs(rest, "night")
    assert columns(kubectl, "night") == ["Created", "JobsCreationSucceeded"]
    state = wait_for("its Pods", lambda: running(explain("night")))
    assert state.startswith("State     running for ") and state.endswith(" (Resumed)")


@pytest.mark.parametrize("memory, meant", [("512m", "512Mi"), ("16", "16Gi")])
def test_memory_without_its_unit_is_a_warning_with_the_likely_value(apply, memory, meant):
    said = apply(job_of("small", trainer={"resourcesPerNode": {"limits": {"memory": memory}}}), "--dry-run=server", "--warnings-as-errors")
    assert f"Warning: spec.trainer.resourcesPerNode.limits[memory] is {memory}, less than 1Mi; did you mean {meant}?" in said


def test_a_unit_of_memory_that_kubernetes_does_not_know_is_refused_in_words_that_troubleshooting_has(apply):
    said = apply(job_of("units", trainer={"resourcesPerNode": {"limits": {"memory": "16GB"}}}))
    assert "spec.trainer.resourcesPerNode.limits.memory" in said and "should match" in said
    assert "| The quantity `should match` a long pattern |" in TROUBLESHOOTING


def test_a_user_without_a_role_is_refused_in_words_that_troubleshooting_has_and_its_command_helps(signalbox, cluster, kubectl, namespace):
    """The walk of a platform team: with the built-in role a tenant finds the runtimes, and submits."""
    alice = cluster.user_kubeconfig(f"alice-{namespace}", "alice")

    def tried(*command, **options):
        try:
            return cluster.kubectl("-n", namespace, *command, kubeconfig=alice, **options)
        except RuntimeError as refused:
            return str(refused)
    create = functools.partial(tried, "create", "-f", "-", input=json.dumps(job_of("first")))
    assert 'cannot create resource "trainjobs"' in create() and 'cannot create resource "trainjobs"' in TROUBLESHOOTING
    remedy = re.search(r"`kubectl (create rolebinding NAME --clusterrole=edit --user=USER)`", TROUBLESHOOTING)[1]
    kubectl(*remedy.replace("NAME", "scientist").replace("USER", "alice").split())
    wait_for("the TrainJob", lambda: create() == "trainjob.trainer.kubeflow.org/first created\n")
    assert "clustertrainingruntime.trainer.kubeflow.org/torch-distributed" in tried("get", "clustertrainingruntimes", "-o", "name").split()
    assert tried("get", "tj", "-o", "name").split() == ["trainjob.trainer.kubeflow.org/first"]


def test_a_wrong_ca_is_refused_in_words_that_troubleshooting_and_the_log_have(signalbox, cluster, apply, tmp_path):
    """The walk of the one on call: what users report, the page about it, the metric behind the alert, and the line of the log."""
    subprocess.run([ROOT / "certs" / "make-development-certificates", "--out", tmp_path, "--ip", "127.0.0.1"], check=True, capture_output=True)
    before = signalbox.webhook.metric("signalbox_tls_certificates_rejected_total", 'certificate="server"')
    configurations = json.loads(cluster.kubectl("get", "mutatingwebhookconfigurations,validatingwebhookconfigurations",
                                                "-l=app.kubernetes.io/part-of=signalbox", "-o", "json"))["items"]
    for configuration in configurations:
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["caBundle"] = base64.b64encode((tmp_path / "ca.crt").read_bytes()).decode()
        configuration["metadata"].pop("managedFields", None)
        cluster.kubectl("replace", "-f", "-", input=json.dumps(configuration))
    try:
        said = wait_for("a refusal", lambda: refusal(cluster, job_of("unseen")))
        reported = re.search(r"failed calling webhook .*(x509: certificate signed by unknown authority)", said)[1]
        for page in ("troubleshooting", "operations"):
            assert reported in (ROOT / "docs" / f"{page}.md").read_text(), "on one line, for a search"
        wait_for("its count", lambda: signalbox.webhook.metric("signalbox_tls_certificates_rejected_total", 'certificate="server"') > before)
        line, *_ = [line for line in map(json.loads, signalbox.webhook.text().splitlines()) if line["msg"].startswith("TLS handshake failed")]
        assert line["msg"] == "TLS handshake failed: a client does not trust the serving certificate"
        assert line["level"] == "warn" and line["peer"].startswith("127.0.0.1")
    finally:
        signalbox.configure_webhooks()
    wait_for("admission to work again", lambda: not refusal(cluster, job_of("seen")))


def test_commands_of_the_runbook_work(signalbox, cluster, tmp_path):
    """Those that need no Pods of Signalbox, which run in tests/cluster/real."""
    commands = [(name, line) for name, line in runbook_commands(ROOT / "docs" / "operations.md") if not NEEDS_PODS.search(line)]
    assert len(commands) > 10
    for name, command in commands:
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60,
                             env={"PATH": f"{cluster.kubectl_path.parent}:{PROGRAM.parent.resolve()}:/usr/bin:/bin", "HOME": str(tmp_path),
                                  "KUBECONFIG": str(cluster.kubeconfig)})
        assert run.returncode in (0, 1) and run.stderr in ("", "No resources found\n", "No TrainJobs found\n"), f"{name}: {command}\n{run.stderr}"


def test_explain_says_for_how_long_no_reconciler_has_led_as_the_runbook_says(signalbox, admin, rest, explain):
    with signalbox.without_reconciler():
        since = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=125)
        admin.patch("leases", "trainer.kubeflow.org", {"spec": {"renewTime": since.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}, "kubeflow-system")
        rest.create(job_of("orphan"))
        assert re.search(r"(?m)^Lease +no reconciler leads: kubeflow-system/trainer\.kubeflow\.org was (released|renewed) 2m \d+s ago$", explain("orphan"))
    until(rest, "orphan", "Complete")
