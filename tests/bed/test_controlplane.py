"""The test bed itself: properties that tests rely on."""

import collections
import datetime
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import types

import pytest

HERE = pathlib.Path(__file__).resolve().parent
from controlplane import ControlPlane
from controlplane import binaries
from controlplane import gates
from controlplane import processes
from controlplane import releases
from controlplane.ports import free_ports
from controlplane.processes import start_time
from node import programs
from rest import ApiError, Rest, wait_for

@pytest.fixture(scope="module")
def plane(request):
    with ControlPlane(nodes=2) as control_plane:
        yield control_plane
        control_plane.keep_logs = request.session.testsfailed > 0


@pytest.fixture(scope="module")
def rest(plane):
    return Rest(plane.kubeconfig)


def job_set(name, labels=None):
    container = {"name": "main", "image": "registry.example.com/x:1"}
    pod = {"metadata": {"labels": labels or {}}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {"spec": {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": pod}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicatedJobs": [{"name": "node", "template": job}]}}


def ended(rest, name):
    return rest.get("jobsets", name).get("status", {}).get("terminalState")


def pods(rest, name):
    return rest.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name}")


def run_seconds(pod):
    terminated = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    start, finish = (datetime.datetime.fromisoformat(terminated[at]) for at in ("startedAt", "finishedAt"))
    return (finish - start).total_seconds()


@pytest.fixture(scope="module", autouse=True)
def job_sets(rest):
    """All JobSets at once, so that their times overlap."""
    for name, labels in (("short", {}), ("longer", {"signalbox.test/run-seconds": "3"}), ("bad", {"signalbox.test/outcome": "failed"}),
                         ("endless", {"signalbox.test/run-seconds": "never"})):
        rest.create(job_set(name, labels))


def test_pods_of_a_job_set_run_on_nodes_and_it_completes(rest):
    wait_for("Completed", lambda: ended(rest, "short") == "Completed")
    assert {p["spec"]["nodeName"] for p in pods(rest, "short")} <= {"node-1", "node-2"}
    assert {p["status"]["phase"] for p in pods(rest, "short")} == {"Succeeded"}


def test_a_label_says_for_how_long_pods_run(rest):
    wait_for("Completed", lambda: ended(rest, "longer") == "Completed")
    # Times are rounded to seconds.
    assert all(run_seconds(pod) >= 2 for pod in pods(rest, "longer"))


def test_a_label_makes_pods_fail(rest):
    wait_for("Failed", lambda: ended(rest, "bad") == "Failed")
    exits = [p["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] for p in pods(rest, "bad")]
    assert exits and set(exits) == {1}


def test_a_label_makes_pods_run_until_they_are_deleted(rest):
    wait_for("a shorter one to complete", lambda: ended(rest, "longer") == "Completed")
    wait_for("both to run", lambda: [p["status"]["phase"] for p in pods(rest, "endless")] == ["Running"] * 2)
    assert ended(rest, "endless") is None
    rest.delete("jobsets", "endless")
    wait_for("its pods to be deleted", lambda: not pods(rest, "endless"))


def test_nodes_have_room_and_are_kept_alive(rest):
    for node in rest.list("nodes"):
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
        assert not node["spec"].get("taints")
    wait_for("a lease per node", lambda: len(rest.list("leases", "kube-node-lease")) == 2)


def test_the_admission_chain_calls_the_job_set_webhook(rest):
    unnamed = job_set("no-dns-label")
    unnamed["spec"]["replicatedJobs"][0]["name"] = "n" * 80
    with pytest.raises(ApiError, match="denied the request"):
        rest.create(unnamed)


def test_rbac_refuses_a_service_account_without_roles(plane):
    account = plane.service_account_kubeconfig("default", "default")
    with pytest.raises(ApiError) as refused:
        Rest(account).list("pods")
    assert refused.value.code == 403
    assert 'User "system:serviceaccount:default:default" cannot list resource "pods"' in str(refused.value)


def test_the_scheduler_places_a_gang_once_all_its_pods_are_there(rest):
    groups = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
    rest.request("POST", groups, {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "gang"},
                                  "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}})
    for name in ("gang-0", "gang-1"):
        assert not [pod for pod in rest.list("pods") if pod["metadata"]["name"].startswith("gang-") and pod["spec"].get("nodeName")]
        rest.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"signalbox.test/run-seconds": "never"}},
                     "spec": {"schedulingGroup": {"podGroupName": "gang"}, "restartPolicy": "Never",
                              "containers": [{"name": "c", "image": "registry.example.com/c:1"}]}})
    wait_for("both to have nodes", lambda: all(rest.get("pods", name)["spec"].get("nodeName") for name in ("gang-0", "gang-1")))
    group = rest.request("GET", f"{groups}/gang")
    assert {each["type"]: each["status"] for each in group["status"]["conditions"]}["PodGroupInitiallyScheduled"] == "True"


def test_gangs_of_the_scheduler_can_be_switched_off_and_on(lean):
    def served():
        return lean.api.request("GET", "/apis/scheduling.k8s.io/v1beta1")[0] == 200
    assert served()
    for names in ((), gates.NAMES):
        lean.switch_pod_groups(*names)
        assert served() == bool(names)


def test_server_and_kubectl_say_which_release_they_are(plane):
    version = json.loads(plane.kubectl("version", "-o", "json"))
    assert version["serverVersion"]["gitVersion"] == version["clientVersion"]["gitVersion"]
    assert version["serverVersion"]["gitVersion"] in (HERE / "go.mod").read_text()


def test_everything_ends_with_a_test_that_is_killed(tmp_path):
    program = ("import sys, time; from controlplane import ControlPlane\n"
               "plane = ControlPlane(lean=True, directory=sys.argv[1]).start()\n"
               "print(*plane.pids(), flush=True); time.sleep(600)")
    with subprocess.Popen([sys.executable, "-B", "-c", program, tmp_path], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": str(HERE)}) as test:
        pids = [int(pid) for pid in test.stdout.readline().split()]
        assert len(pids) == 2
        test.send_signal(signal.SIGKILL)
    wait_for("them to end", lambda: [start_time(pid) for pid in pids] == [None, None])


@pytest.fixture(scope="module")
def taken_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        yield s.getsockname()[1]


@pytest.fixture(scope="module")
def lean(taken_port):
    """A second, lean plane, for which a port was chosen that another process has taken since."""
    choices = iter([[taken_port, *free_ports(2)], free_ports(3)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("controlplane.server.free_ports", lambda count: next(choices))
        second = ControlPlane(lean=True).start()
    try:
        assert next(choices, None) is None
        yield second
    finally:
        second.stop()


def test_a_process_ends_whose_start_is_interrupted(tmp_path, monkeypatch):
    class Interrupted(BaseException):
        pass

    def interrupt(*_):
        raise Interrupted
    started = []

    def start_under_fire(*arguments, **options):
        started.append(subprocess.Popen(*arguments, **options))
        os.kill(os.getpid(), signal.SIGTERM)
        return started[-1]
    monkeypatch.setattr(processes, "subprocess", types.SimpleNamespace(Popen=start_under_fire, DEVNULL=subprocess.DEVNULL))
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with pytest.raises(Interrupted):
            processes.Process("sleep", ["sleep", "600"], tmp_path / "log")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert started[0].poll() == -signal.SIGTERM


def test_a_port_that_was_taken_meanwhile_is_replaced(lean):
    assert Rest(lean.kubeconfig).list("namespaces")


def test_two_run_side_by_side(rest, lean):
    assert len(rest.list("nodes")) == 2 and Rest(lean.kubeconfig).list("nodes") == []


def test_the_api_server_can_be_stopped_and_comes_back_as_it_was(lean):
    client = Rest(lean.kubeconfig)
    before = client.get("namespaces", "default")["metadata"]["uid"]
    url = lean.server
    lean.stop_api_server()
    with pytest.raises(OSError):
        client.list("namespaces")
    lean.start_api_server()
    assert client.get("namespaces", "default")["metadata"]["uid"] == before
    assert lean.server == url


def test_a_program_that_cannot_start_is_named_and_its_log_is_kept(taken_port, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("controlplane.server.free_ports", lambda count: [taken_port, *free_ports(count - 1)])
    with pytest.raises(RuntimeError, match="etcd ended by itself(.|\n)*address already in use"):
        ControlPlane(lean=True, directory=tmp_path).start()
    assert (tmp_path / "etcd.log").exists()
    assert f"logs are in {tmp_path}" in capsys.readouterr().out


def test_stopping_leaves_nothing_behind(lean):
    """The last test of this plane: it is gone afterwards."""
    pids = lean.pids()
    assert len(pids) == 2
    lean.stop()
    assert [start_time(pid) for pid in pids] == [None, None]
    assert not lean.directory.exists()


def test_another_release_takes_the_place_of_its_programs_only(tmp_path, monkeypatch):
    monkeypatch.setenv("SIGNALBOX_CACHE", str(tmp_path / "cache"))
    for folder, names in (("usual", ("etcd", "jobset", "complete")), ("other", ("jobset",))):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_text(folder)
    made = releases._beside(tmp_path / "usual", {"jobset": tmp_path / "other" / "jobset"})
    assert {path.name: path.read_text() for path in made.iterdir()} == {"etcd": "usual", "jobset": "other", "complete": ""}


def test_a_release_is_a_whole_version(monkeypatch):
    monkeypatch.setattr(releases.binaries, "build", lambda: HERE)
    monkeypatch.setenv("SIGNALBOX_JOBSET", "latest")
    with pytest.raises(RuntimeError, match="SIGNALBOX_JOBSET=latest is no version such as v1.2.3"):
        releases.build()


# Modules whose versions may differ between JobSet, Kueue and Helm, and why.
APART = {
    "github.com/google/cel-go": "Kueue requires a later one than the Kubernetes modules",
    "github.com/antlr4-go/antlr/v4": "it parses expressions for cel-go",
}

# The same of a node and its containerd.
OF_CONTAINERD = {
    **{f"k8s.io/{name}": "containerd's release does not build with later ones"
       for name in ("apimachinery", "client-go", "cri-api", "cri-streaming", "streaming")},
    "github.com/Microsoft/go-winio": "it is compiled for Windows alone",
}


@pytest.mark.parametrize("modules, apart", [
    pytest.param((binaries.MODULE, programs.MODULE), {}, id="the control plane and a node"),
    pytest.param((programs.MODULE, programs.RUNTIME_MODULE), OF_CONTAINERD, id="a node and containerd"),
    pytest.param((binaries.JOBSET_MODULE, programs.DRIVER_MODULE), {}, id="JobSet and the example driver"),
    pytest.param((binaries.JOBSET_MODULE, binaries.KUEUE_MODULE, binaries.HELM_MODULE), APART, id="JobSet, Kueue and Helm")])
def test_programs_that_share_much_require_the_same_versions(modules, apart):
    """Go compiles a package once for them if its module, and the modules of all that it imports, have the same versions. A replaced
    module is not compiled once, even if its versions agree."""
    versions = collections.defaultdict(dict)
    for module in modules:
        requirements = json.loads(binaries.go("mod", "edit", "-json", module=module))
        assert not requirements.get("Replace"), module
        for required in requirements["Require"]:
            versions[required["Path"]][str(module.relative_to(HERE) / "go.mod")] = required["Version"]
    different = {path: files for path, files in versions.items() if len(set(files.values())) > 1}
    assert different.keys() == apart.keys(), different
