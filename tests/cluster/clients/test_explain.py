"""`kubectl trainjob explain` on the real control plane: its output for users, with their permissions."""

import datetime
import os
import pathlib
import pty
import subprocess

import pytest

from controlplane.kubeconfig import write_kubeconfig
from credential_plugins import CredentialPlugin
from jobs import runtime, train_job
from rest import conditions, true_conditions, wait_for

PROGRAM = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"


@pytest.fixture
def ask(kubeconfig, signalbox):
    """Returns a function that runs the command and returns its result."""
    def run(*arguments, kubeconfig=kubeconfig):
        return subprocess.run([PROGRAM, "explain", *arguments], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "KUBECONFIG": str(kubeconfig)})
    return run


@pytest.fixture
def explain(ask):
    """Returns a function that returns the output for an existing TrainJob."""
    def screen(*arguments, **options):
        done = ask(*arguments, **options)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    def once(words, *arguments, **options):
        return wait_for(words, lambda: (lambda text: text if words in text else None)(screen(*arguments, **options)))
    screen.once = once
    return screen


def test_a_running_job_with_its_pods_and_nodes(explain, rest, namespace):
    rest.create(runtime(ttlSecondsAfterFinished=600))
    rest.create(train_job("runs", seconds="never", nodes=2, activeDeadlineSeconds=3600))
    explain.once("2 Running", f"{namespace}/runs")
    text = explain.once("State     running for ", f"{namespace}/runs")
    lines = text.splitlines()
    assert lines[0].startswith(f"TrainJob  {namespace}/runs, created ")
    assert lines[1].startswith("State     running for ") and lines[1].endswith("(JobsCreationSucceeded)")
    assert any(line.startswith("Deadline  1h since its creation: ") and line.endswith(" left") for line in lines)
    assert "TTL       10m after its end" in lines
    assert "Runtime   ClusterTrainingRuntime plain-test" in lines
    assert "JobSet    runs" in lines
    pods = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in rest.list("pods")}
    for pod, node in pods.items():
        assert f"            {pod}  Running on {node}" in lines
    explain.once("JobsCreationSucceeded: ", "runs")
    assert "\x1b" not in text
    # The options of kubectl.
    assert f"{namespace}/runs" in explain("-n", namespace, "runs") and f"{namespace}/runs" in explain("runs")


def test_a_job_that_waits_for_room_says_what_no_node_has(explain, rest):
    rest.create(runtime())
    rest.create(train_job("big", seconds="never", trainer={
        "command": ["train"], "resourcesPerNode": {"limits": {"nvidia.com/gpu": "99"}}}))
    # The scheduler writes its event before the Pod's condition.
    text = explain.once("  Pending; no node: 0/4 nodes are available", "big")
    assert "State     waits for its Pods for " in text
    assert "Pods      1 Pending\n" in text and "Insufficient nvidia.com/gpu" in text


def test_an_image_that_cannot_be_pulled_is_named(explain, rest):
    rest.create(runtime())
    rest.create(train_job("misspelt", seconds="never"))
    explain.once("1 Running", "misspelt")
    (pod,) = rest.list("pods")
    # The status that a kubelet would report.
    rest.patch("pods", pod["metadata"]["name"], {"status": {"phase": "Pending", "containerStatuses": [{
        "name": "node", "image": "registry.example.com/team/train:1.0", "imageID": "", "ready": False, "restartCount": 0,
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"train:1.0\""}}}]}}, subresource="status")
    text = explain.once("container node: ImagePullBackOff: Back-off pulling image \"train:1.0\"", "misspelt")
    assert f"{pod['metadata']['name']}  Pending on {pod['spec']['nodeName']}; " in text
    assert "State     cannot start, its image cannot be pulled\n" in text


def test_a_deadline_that_has_passed(explain, rest):
    rest.create(runtime())
    rest.create(train_job("late", seconds="never", activeDeadlineSeconds=1))
    wait_for("its end", lambda: "Failed" in true_conditions(rest.get("trainjobs", "late")))
    text = explain.once("JobSet    none", "late")
    assert " ago (DeadlineExceeded)" in text and "State     failed " in text
    assert "Deadline  1s; the job has ended" in text


def test_a_changed_runtime_is_compared_with_the_jobs_snapshot(explain, rest):
    made = rest.create(runtime())
    rest.create(train_job("held", suspend=True, activeDeadlineSeconds=60))
    # The job starts with its JobSet; until then it uses the live runtime.
    wait_for("it to be suspended", lambda: {"Created", "Suspended"} == set(true_conditions(rest.get("trainjobs", "held"))))
    made["spec"]["mlPolicy"]["numNodes"] = 3
    rest.replace("clustertrainingruntimes", made)
    text = explain("held")
    print(text)
    assert "State     suspended for " in text and "JobSet    suspended" in text and "Pods      none" in text
    assert "Deadline  1m from the next resume on; it does not run while suspended\n" in text
    assert "changed since the job began; the job keeps its snapshot:\n            mlPolicy.numNodes: 1 -> 3\n" in text


def test_a_job_that_cannot_be_built_says_why(explain, signalbox, rest):
    rest.create(runtime("gone"))
    with signalbox.without_reconciler():
        rest.create(train_job("unbuilt", "gone"))
        rest.delete("clustertrainingruntimes", "gone")
        assert "State     not looked at yet\n" in explain("unbuilt")
    wait_for("the condition", lambda: conditions(rest.get("trainjobs", "unbuilt")).get("Created"))
    text = explain("unbuilt")
    assert "State     cannot be created for " in text and "(JobsBuildFailed)" in text
    assert '"gone" does not exist; create it, and this TrainJob goes on' in text
    assert "Runtime   ClusterTrainingRuntime gone, which does not exist\n" in text


def test_objects_that_the_user_may_not_read_are_named(ask, explain, cluster, kubectl, rest, namespace):
    rest.create(runtime("of-the-team", "TrainingRuntime"))
    rest.create(train_job("seen", "of-the-team", "TrainingRuntime", seconds="never"))
    wait_for("its JobSet", lambda: rest.get("jobsets", "seen"))
    kubectl("create", "serviceaccount", "reader")
    kubeconfig = cluster.service_account_kubeconfig(namespace, "reader")
    refused = ask(f"{namespace}/seen", kubeconfig=kubeconfig)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert 'cannot get resource "trainjobs"' in refused.stderr and len(refused.stderr.splitlines()) == 1
    kubectl("create", "role", "reader", "--verb=get", "--resource=trainjobs.trainer.kubeflow.org,jobsets.jobset.x-k8s.io")
    kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={namespace}:reader")
    wait_for("the role to count", lambda: ask(f"{namespace}/seen", kubeconfig=kubeconfig).returncode == 0)
    text = explain(f"{namespace}/seen", kubeconfig=kubeconfig)
    assert "State     has its JobSet for " in text and "JobSet    runs" in text
    for part in ("Pods      could not be read: ", "Events    could not be read: ", "of-the-team, which could not be read: ",
                 "TTL       not known: "):
        assert part in text
    assert 'cannot list resource "pods"' in text


NOT_TO_BE_SHOWN = [
    (["default/missing"], 1, "there is no TrainJob default/missing; `kubectl trainjob list -n default` lists"),
    (["nowhere/missing"], 1, "there is no TrainJob nowhere/missing"),
    (["trainjob/missing"], 1, "; what is asked for is NAMESPACE/NAME, not KIND/NAME"),
    (["a/b/c"], 2, "a/b/c: must be NAMESPACE/NAME, or a NAME"),
    (["/b"], 2, "/b: must be NAMESPACE/NAME, or a NAME"),
    (["-n", "a", "b/c"], 2, "b/c is not in the namespace a"),
    ([], 2, "NAMESPACE/NAME is missing"),
    (["a", "b"], 2, "only one NAMESPACE/NAME"),
    (["a", "--interval=1ms"], 2, "--interval must be at least 100ms"),
    (["a", "--kubeconfig=/no/such/file"], 2, "/no/such/file does not exist"),
]


def test_an_error_is_one_line_with_its_reason(ask):
    for arguments, status, words in NOT_TO_BE_SHOWN:
        done = ask(*arguments)
        assert (done.returncode, done.stdout) == (status, ""), arguments
        (line,) = done.stderr.splitlines()
        assert line.startswith("kubectl trainjob explain: ") and words in line, arguments


def test_a_cluster_that_cannot_be_reached_is_named(ask, tmp_path, cluster):
    away = tmp_path / "away"
    away.write_text(cluster.kubeconfig.read_text().replace(cluster.server, "https://127.0.0.1:1"))
    done = ask("any", kubeconfig=away)
    assert (done.returncode, done.stdout) == (1, "") and "127.0.0.1:1" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_address_of_kubectl_proxy_needs_no_credentials(cluster, signalbox, rest, namespace, tmp_path):
    rest.create(runtime())
    rest.create(train_job("seen", seconds="never"))
    plugin = tmp_path / "plugin"
    plugin.write_text("{kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: "
                      "{server: 'https://127.0.0.1:1'}}], users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
                      "command: no-such-login}}}]}")
    alone = {**os.environ, "KUBECONFIG": str(plugin), "HOME": str(tmp_path)}
    refused = subprocess.run([PROGRAM, "explain", "seen"], capture_output=True, text=True, timeout=60, check=False, env=alone)
    assert refused.returncode == 2 and "the credential plugin no-such-login was not found" in refused.stderr
    proxy = subprocess.Popen([cluster.kubectl_path, "--kubeconfig", cluster.kubeconfig, "proxy", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        address = proxy.stdout.readline().split()[-1]
        done = subprocess.run([PROGRAM, "explain", f"{namespace}/seen", "--server", f"http://{address}"], capture_output=True, text=True,
                              timeout=60, check=False, env=alone)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"TrainJob  {namespace}/seen, ")
        wrong = subprocess.run([PROGRAM, "explain", "seen", "--server=ftp://x"], capture_output=True, text=True, timeout=60,
                               check=False, env=alone)
        assert wrong.returncode == 2 and "--server" in wrong.stderr
    finally:
        proxy.kill()
        proxy.wait()


def test_watching_goes_on_when_a_credential_plugins_token_ends_and_when_it_is_refused(ask, cluster, kubectl, rest, namespace, tmp_path):
    rest.create(runtime())
    rest.create(train_job("watched", suspend=True))
    wait_for("it to be suspended", lambda: "Suspended" in true_conditions(rest.get("trainjobs", "watched")))
    kubectl("create", "serviceaccount", "reader")
    kubectl("create", "rolebinding", "reader", "--clusterrole=cluster-admin", f"--serviceaccount={namespace}:reader")
    as_reader = cluster.service_account_kubeconfig(namespace, "reader")
    wait_for("the role to count", lambda: ask(f"{namespace}/watched", kubeconfig=as_reader).returncode == 0)
    kubectl("create", "serviceaccount", "former")
    cluster.service_account_kubeconfig(namespace, "former")
    kubectl("delete", "serviceaccount", "former")
    token, refused = ((cluster.directory / f"{namespace}-{account}.token").read_text() for account in ("reader", "former"))
    end = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    plugin = CredentialPlugin(tmp_path / "plugin", [{"token": token, "expirationTimestamp": end}, {"token": refused}, {"token": token}])
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, cluster.server, cluster.ca_file, plugin.user(), namespace)
    watching = subprocess.Popen([PROGRAM, "explain", "watched", "--watch", "--interval=100ms"], stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "KUBECONFIG": str(path)})
    try:
        assert watching.stdout.readline().startswith(f"TrainJob  {namespace}/watched, ")
        wait_for("the token's end, and the refusal of the next", lambda: len(plugin.calls()) == 3)
        rest.delete("trainjobs", "watched")
        remaining, errors = watching.communicate(timeout=60)
        assert remaining.splitlines()[-1] == f"TrainJob {namespace}/watched is gone"
        assert (watching.returncode, errors, len(plugin.calls())) == (0, "", 3)
    finally:
        watching.kill()


def test_watching_shows_each_change_and_ends_with_the_job(signalbox, kubeconfig, rest, namespace):
    rest.create(runtime())
    rest.create(train_job("watched", suspend=True))
    wait_for("it to be suspended", lambda: "Suspended" in true_conditions(rest.get("trainjobs", "watched")))
    watching = subprocess.Popen([PROGRAM, "explain", "watched", "--watch", "--interval=100ms"], stdout=subprocess.PIPE,
                                text=True, env={**os.environ, "KUBECONFIG": str(kubeconfig)})
    try:
        first = [watching.stdout.readline() for _ in range(2)]
        assert first[1].startswith("State     suspended for ")
        rest.patch("trainjobs", "watched", {"spec": {"suspend": False}})
        wait_for("its end", lambda: "Complete" in true_conditions(rest.get("trainjobs", "watched")))
        for line in watching.stdout:
            if line.startswith("State     completed "):
                break
        rest.delete("trainjobs", "watched")
        remaining, _ = watching.communicate(timeout=60)
        assert remaining.splitlines()[-1] == f"TrainJob {namespace}/watched is gone"
        assert watching.returncode == 0 and "\x1b" not in remaining
    finally:
        watching.kill()


def test_colours_are_for_terminals_and_can_be_turned_off(signalbox, kubeconfig, rest):
    rest.create(runtime())
    rest.create(train_job("painted"))
    wait_for("its end", lambda: "Complete" in true_conditions(rest.get("trainjobs", "painted")))

    def on_a_terminal(**environment):
        parent, child = pty.openpty()
        with os.fdopen(parent, "rb", buffering=0) as screen:
            subprocess.run([PROGRAM, "explain", "painted"], stdout=child, timeout=60, check=True,
                           env={**os.environ, "KUBECONFIG": str(kubeconfig), **environment})
            os.close(child)
            return screen.read(65536).decode()
    assert "\x1b[32mcomplete" in on_a_terminal()
    assert "\x1b" not in on_a_terminal(NO_COLOR="1")
