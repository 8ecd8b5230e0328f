"""Start and end of signalbox-reconciler in a shell."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from rest import wait_for

BINARY = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-reconciler"
# TrainJobs, both kinds of runtimes, JobSets, all three of PodGroups, where there are any, disruption budgets and network policies.
WATCHED_KINDS = 9

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


def run(*arguments, environment=None):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=20,
                          env={**os.environ, **(environment or {})})


def one_line(result, status):
    assert result.returncode == status, result.stderr
    lines = result.stderr.strip().splitlines()
    said = [line for line in lines if not line.startswith("{")]
    assert len(said) == 1, result.stderr
    return said[0]


def kubeconfig(tmp_path, port):
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.format(port=port))
    return path


def test_help_names_every_option_and_ends_well():
    result = run("--help")
    assert result.returncode == 0
    for option in ("--kubeconfig", "--leader-elect", "--lease", "--created-condition", "--concurrency", "--qps", "--burst",
                   "--admin-listen", "--log-level", "--log-format", "--config", "--version"):
        assert option in result.stdout


def test_version_is_one_line():
    assert re.fullmatch(r"signalbox-reconciler \d+\.\d+\.\d+\n", run("--version").stdout)


def test_an_unknown_option_is_named_and_ends_with_2():
    assert "--nonsense" in one_line(run("--nonsense"), 2)


def test_a_missing_kubeconfig_is_named_and_ends_with_1(tmp_path):
    missing = tmp_path / "no-such-file"
    assert str(missing) in one_line(run("--kubeconfig", missing), 1)


def test_a_broken_kubeconfig_is_named_with_the_place(tmp_path):
    broken = tmp_path / "kubeconfig"
    broken.write_text("clusters: [\n")
    assert str(broken) in one_line(run("--kubeconfig", broken), 1)


def test_outside_of_a_cluster_it_says_what_is_missing():
    assert "--kubeconfig" in one_line(run(environment={"KUBERNETES_SERVICE_HOST": ""}), 1)


def test_a_port_in_use_is_named(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert address in one_line(run("--kubeconfig", kubeconfig(tmp_path, 9), "--admin-listen", address), 1)


def test_without_an_api_server_it_keeps_trying_logs_it_once_and_ends_with_0_on_sigterm(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        log = tmp_path / "log"
        with open(log, "w", encoding="utf-8") as file:
            process = subprocess.Popen([BINARY, "--kubeconfig", kubeconfig(tmp_path, unused.getsockname()[1]),
                                        "--admin-listen", "127.0.0.1:0"], stderr=file)

        def log_lines():
            return log.read_text().count("cannot watch")
        try:
            wait_for("a log line for each watched kind", lambda: log_lines() >= WATCHED_KINDS, timeout=10)
            time.sleep(2.5)  # two or three more attempts, which must not be logged
            assert process.poll() is None
            assert log_lines() == WATCHED_KINDS
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
