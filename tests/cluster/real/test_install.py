"""What was installed runs as Pods. The fixtures have given the commands."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from guides import NEEDS_PODS, runbook_commands
from node.installed import DEPLOYMENTS, SYSTEM, Creations, processes_of, ready_pods
from paths import ROOT
from rest import wait_for

SECONDS = 120


def containers(admin, namespace):
    """Returns the status of each container of the namespace's Pods."""
    return [status for pod in admin.list("pods", namespace) for status in pod["status"]["containerStatuses"]]


@pytest.mark.together(first=True)
def test_a_program_that_hangs_is_restarted(installed, admin):
    leader = wait_for("a leader", lambda: admin.get("leases", "trainer.kubeflow.org", SYSTEM)["spec"].get("holderIdentity"))
    standby, = (pod for pod in admin.list("pods", SYSTEM, "app.kubernetes.io/name=signalbox-reconciler") if pod["metadata"]["name"] not in leader)
    process, = processes_of(standby)
    os.kill(process, signal.SIGSTOP)
    try:
        wait_for("the node to notice", lambda: [
            event for event in admin.list("events", SYSTEM) if event["reason"] == "Killing" and event["regarding"]["uid"] == standby["metadata"]["uid"]
            and "failed liveness probe" in event["note"]], SECONDS)
    finally:
        os.kill(process, signal.SIGCONT)

    def container():
        status, = admin.get("pods", standby["metadata"]["name"], SYSTEM)["status"]["containerStatuses"]
        return status
    wait_for("its restart", lambda: container()["ready"] and container()["restartCount"] == 1, SECONDS)


def test_the_programs_run_from_the_images_that_the_script_has_loaded(installed, admin):
    running = containers(admin, SYSTEM)
    assert {status["image"].rpartition(":")[0] for status in running} == {"localhost/signalbox-webhook", "localhost/signalbox-reconciler"}
    assert [status for status in running if "running" not in status["state"]] == []
    # The test above has stopped one.
    assert [status for status in running if status["restartCount"] and status["name"] != "reconciler"] == []


def test_the_replicas_of_a_program_are_on_different_nodes(installed, admin):
    nodes = {(pod["metadata"]["labels"]["app.kubernetes.io/name"], pod["spec"]["nodeName"]) for pod in admin.list("pods", SYSTEM)}
    assert nodes == {(name, node) for name in DEPLOYMENTS for node in ("node-1", "node-2")}


def test_the_programs_have_no_rights_on_their_nodes(installed, admin):
    level = admin.get("namespaces", SYSTEM)["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
    assert level == "restricted"
    for pod in admin.list("pods", SYSTEM):
        process, = processes_of(pod)
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines() if ":\t" in line)
        assert {*status["Uid"].split()} == {"65532"}
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0 and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"


def test_job_set_runs_from_its_released_manifests(installed, admin):
    controller, = containers(admin, "jobset-system")
    assert controller["ready"] and controller["image"].startswith("registry.k8s.io/jobset/jobset:v")


def commands_about_pods(admin):
    pages = [*runbook_commands(ROOT / "docs" / "operations.md"),
             *(("first minutes", line) for line in (ROOT / "docs" / "first-minutes-on-call.md").read_text().splitlines()
               if line.startswith("kubectl -n kubeflow-system"))]
    reconciler, *_ = admin.list("pods", SYSTEM, "app.kubernetes.io/name=signalbox-reconciler")
    # There are no metrics of Pods here, and the others are not to be copied as they are.
    return [(name, re.sub(r"\bPOD\b", reconciler["metadata"]["name"], line)) for name, line in pages
            if NEEDS_PODS.search(line) and not re.search(r"\btop\b|VERB", line)]


def test_commands_of_the_runbook_about_pods_work(installed, cluster, admin, tmp_path):
    commands = commands_about_pods(admin)
    assert len(commands) > 20
    for name, command in commands:
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60,
                             env={"PATH": f"{cluster.kubectl_path.parent}:/usr/bin:/bin", "HOME": str(tmp_path), "KUBECONFIG": str(cluster.kubeconfig)})
        # Nothing is wrong, so what looks for an error finds none.
        shows = re.search(r"get pods|get deployment|get secret|curl|--tail=20", command)
        assert (run.returncode, run.stderr) == (0, "") if shows else run.returncode in (0, 1) and run.stderr == "", f"{name}: {command}\n{run}"
        if "curl" in command:
            assert re.search(r"(?m)^(signalbox_\w+|ok|ready)", run.stdout), f"{name}: {command}\n{run}"


def test_no_create_fails_while_all_programs_are_restarted(installed, cluster, admin):
    before = ready_pods(admin)
    with Creations(admin) as creations:
        cluster.kubectl("-n", SYSTEM, "rollout", "restart", "deployment")
        for name in DEPLOYMENTS:
            cluster.kubectl("-n", SYSTEM, "rollout", "status", f"deployment/{name}", f"--timeout={SECONDS}s")
    assert not before & ready_pods(admin) and len(before) == len(ready_pods(admin)) == 6
    assert creations.count > 20 and creations.refusals == []
