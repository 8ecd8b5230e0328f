"""The frameworks' own launchers (torchrun, torchtune, JAX, XGBoost's tracker, mpirun) accept the environment and commands of the shipped
runtimes' Pods. Only in the long run: scripts/setup fetches the frameworks for this alone."""

import contextlib
import json
import os
import signal
import socket
import subprocess

import pytest

import slurm
from acceptance import CASES, Case, address, container
from controlplane.binaries import cache_directory
from controlplane.ports import free_ports
from kubelet import Kubelet
from jobs import runtime, train_job
from paths import ROOT
from rest import wait_for
from sshd import Sshd

PROGRAMS = ROOT / "tests" / "bed" / "frameworks"
# scripts/setup installs them there. PyTorch is the system's.
FRAMEWORKS = cache_directory() / "tools" / "frameworks"
FRAMEWORKS_PYTHON = FRAMEWORKS / "bin" / "python"

pytestmark = pytest.mark.long


def environments(accepted, admin, case, job="node"):
    """Returns {rank: environment}, with loopback in place of the first node, whose name only a cluster's DNS resolves, and with a free
    port."""
    first = address(accepted[case][job][0])
    (port,) = free_ports(1)
    kubelet = Kubelet(admin, case.namespace)
    return [{key: value.replace(first, "127.0.0.1").replace("29500", str(port))
             for key, value in kubelet.environment(pod, container(pod)).items()} for pod in accepted[case][job]]


def run_on_all_nodes(command, environments, folder):
    """Returns the output of each."""
    own = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    running = [subprocess.Popen(command, env={**environment, **own}, cwd=folder, stdout=subprocess.PIPE,
                                stderr=open(folder / f"errors-{rank}", "w", encoding="utf-8"), text=True)
               for rank, environment in enumerate(environments)]
    try:
        printed = [process.communicate(timeout=120)[0].strip().splitlines() for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0] * len(running), (folder / "errors-0").read_text()[-3000:]
    return printed


def test_torchrun_starts_the_processes_of_all_nodes(accepted, admin, tmp_path):
    case = Case("torch-distributed", None, False)
    assert container(accepted[case]["node"][0])["command"] == ["torchrun", "train.py"]
    # Debian 12's PyTorch 1.13 rejects its own defaults of the two options under its Python.
    command = ["torchrun", "--redirects", "1", "--tee", "1", PROGRAMS / "train_torch.py"]
    printed = run_on_all_nodes(command, environments(accepted, admin, case), tmp_path)
    said = sorted(line.split(":", 1)[1] for lines in printed for line in lines)
    # rank, count, rank on its node, node, master
    assert said == ["0 4 0 0 127.0.0.1", "1 4 1 0 127.0.0.1", "2 4 0 1 127.0.0.1", "3 4 1 1 127.0.0.1"]


def test_torchrun_on_one_node_needs_no_dns_with_the_address_of_the_loopback(signalbox, rest, tmp_path):
    command = ["torchrun", "--redirects", "1", "--tee", "1", PROGRAMS / "train_alone.py"]

    def environment_with(policy, name):
        rest.create(runtime(f"alone-{name}", ml_policy={"torch": {"numProcPerNode": 2, **policy}}))
        rest.create(train_job(name, f"alone-{name}", nodes=1, seconds="never"))
        pod = wait_for("a Pod", lambda: next(iter(rest.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name}")), None))
        with pytest.raises(socket.gaierror):
            socket.getaddrinfo(address(pod), 29500)
        (port,) = free_ports(1)
        found = Kubelet(rest, rest.namespace).environment(pod, container(pod))
        return {key: value.replace("29500", str(port)) for key, value in found.items()}
    alone = environment_with({"singleNodeAddress": "Loopback"}, "loopback")
    (printed,) = run_on_all_nodes(command, [alone], tmp_path)
    assert sorted(line.split(":", 1)[1] for line in printed) == [f"{rank} 2 127.0.0.1 {alone['PET_MASTER_PORT']}" for rank in (0, 1)]

    # By default it waits for DNS.
    named = {**environment_with({}, "named"), **{key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}}
    assert named.keys() - os.environ.keys() == alone.keys() - os.environ.keys()
    with open(tmp_path / "waits", "w", encoding="utf-8") as said:
        waits = subprocess.Popen(command, env=named, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=said)
    try:
        wait_for("torchrun to ask for the name", lambda: f"({named['PET_MASTER_ADDR']}, {named['PET_MASTER_PORT']}) cannot be retrieved"
                 in (tmp_path / "waits").read_text(), timeout=90)
        assert waits.poll() is None
    finally:
        waits.kill()
        waits.wait()


def test_torchrun_goes_on_without_a_lost_node_and_takes_in_a_new_one(signalbox, rest, tmp_path):
    rest.create(runtime("elastic-launchers", ml_policy={"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 4}}}))
    rest.create(train_job("elastic", "elastic-launchers", nodes=4, seconds="never"))
    pod = wait_for("a Pod", lambda: next(iter(rest.list("pods", selector="jobset.sigs.k8s.io/jobset-name=elastic")), None))
    (port,) = free_ports(1)
    environment = {key: value.replace(address(pod).replace(pod["spec"]["hostname"], "elastic-node-0-0"), "127.0.0.1").replace(
        "29500", str(port)) for key, value in Kubelet(rest, rest.namespace).environment(pod, container(pod)).items()}
    environment |= {"PET_RDZV_CONF": "last_call_timeout=2", **{key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}}
    sizes = tmp_path / "sizes"

    def agent():
        return subprocess.Popen(["torchrun", "--redirects", "1", "--tee", "1", PROGRAMS / "train_elastic.py"], env=environment,
                                cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def until(want):
        wait_for(f"groups of {want}", lambda: sizes.exists() and sizes.read_text().split() == want, timeout=90)

    agents = [agent() for _ in range(4)]
    try:
        until(["4"])
        os.killpg(agents[2].pid, signal.SIGKILL)
        until(["4", "3"])
        agents.append(agent())
        until(["4", "3", "4"])
        (tmp_path / "stop").touch()
        assert [each.wait(60) for each in agents] == [0, 0, -signal.SIGKILL, 0, 0]
    finally:
        for each in agents:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()


def test_jax_processes_find_their_coordinator(accepted, admin, tmp_path):
    found = environments(accepted, admin, Case("jax-distributed", None, False))
    printed = run_on_all_nodes([FRAMEWORKS_PYTHON, PROGRAMS / "train_jax.py"],
                               [{**environment, "JAX_PLATFORMS": "cpu"} for environment in found], tmp_path)
    assert printed == [["0 2"], ["1 2"]]


def free_port_of_slurm():
    """Returns a port that JAX would choose by the number of a job, or raises an OSError."""
    for port in range(61440, 65536):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("all ports from 61440 on are taken")


def test_jax_finds_its_processes_by_the_variables_of_srun(accepted, tmp_path):
    pods = accepted[Case("jax-distributed", None, False)]["node"]
    hosts = ["127.0.0.1", *(address(pod) for pod in pods[1:])]  # only a cluster's DNS resolves the first one's name
    found = [{"JAX_PLATFORMS": "cpu", **slurm.variables(
        "job", free_port_of_slurm() - 61440, hosts, int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]), 2)}
             for pod in pods]
    for read in slurm.READ_BY.values():
        assert read <= found[0].keys() | slurm.OF_A_PROCESS
    printed = run_on_all_nodes(["bash", "-c", slurm.LAUNCHER, "launcher", FRAMEWORKS_PYTHON, PROGRAMS / "train_slurm.py"], found, tmp_path)
    assert [sorted(lines) for lines in printed] == [["0 4 0", "1 4 1"], ["2 4 0", "3 4 1"]]
    assert slurm.number_of("0a1b2c3d-0000-4000-8000-000000000000") == 0xa1b2c3
    failed = subprocess.run(["bash", "-c", slurm.LAUNCHER, "launcher", "bash", "-c", "test $SLURM_PROCID = 0 && exec sleep 600; exit 7"],
                            env={**found[0], "PATH": os.environ["PATH"]}, timeout=60)
    assert failed.returncode == 7


def test_xgboost_workers_join_their_tracker(accepted, admin, tmp_path):
    found = environments(accepted, admin, Case("xgboost-distributed", None, False))
    printed = run_on_all_nodes([FRAMEWORKS_PYTHON, PROGRAMS / "train_xgboost.py"], found, tmp_path)
    assert [lines[-1] for lines in printed] == ["0 2 2", "1 2 2"]


@pytest.mark.parametrize("runtime", ["deepspeed-distributed", "mlx-distributed"])
def test_open_mpi_starts_a_process_on_each_host(accepted, admin, tmp_path, runtime):
    case = Case(runtime, None, False)
    (launcher,), nodes = accepted[case]["launcher"], accepted[case]["node"]
    kubelet = Kubelet(admin, case.namespace)
    files = kubelet.files(launcher, container(launcher))
    (tmp_path / "hostfile").write_text(files.pop("/etc/mpi/hostfile")[1])
    environment = kubelet.environment(launcher, container(launcher))
    environment["OMPI_MCA_orte_default_hostfile"] = str(tmp_path / "hostfile")
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    keys = {path.removeprefix("/home/mpiuser/.ssh/"): text.encode() for path, (_, text) in files.items()}
    assert [kubelet.files(node, container(node)) for node in nodes] == [files]
    with Sshd(tmp_path / "nodes", keys) as sshd:
        printed = sshd.run("mpirun.openmpi", "sh", "-c", "echo $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE",
                           environment=environment)
        assert sorted(printed.splitlines()) == ["0 of 2", "1 of 2"]
        reached = {word for call in sshd.calls() for word in call.split() if word.endswith(f".{case.job}")}
        assert reached == {address(pod) for pod in (launcher, *nodes)}


@pytest.fixture(scope="module")
def tuned(accepted, admin):
    """Returns torchtune's parsed settings: {case: ...}. PyTorch takes seconds to load, so it runs once for all."""
    cases = [case for case in CASES if case.runtime.startswith("torchtune-")]
    asked = []
    for case in cases:
        (node,) = accepted[case]["node"]
        kubelet = Kubelet(admin, case.namespace)
        asked.append({"command": kubelet.command_line(node, container(node)),
                      "environment": kubelet.environment(node, container(node))})
    (packages,) = FRAMEWORKS.glob("lib/python3.*/site-packages")
    done = subprocess.run(["/usr/bin/python3", PROGRAMS / "read_tune.py", packages], input=json.dumps(asked),
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(zip(cases, json.loads(done.stdout)))


@pytest.mark.parametrize("case", [case for case in CASES if case.runtime.startswith("torchtune-")], ids=str)
def test_torchtune_knows_recipe_configuration_and_settings(tuned, case):
    recipe, suffix = ("lora_finetune_distributed", "_lora") if case.initializes else ("full_finetune_distributed", "_full")
    _, family, size = case.runtime.split("-")
    assert tuned[case] == {
        "nodes": "1", "rank": 0, "processes": "auto",
        "endpoint": "127.0.0.1:29500" if case.initializes else "localhost:29500",
        "recipe": recipe, "config": f"{family.replace('.', '_')}/{size.upper()}{suffix}", "config belongs to recipe": True,
        "torchrun": True, "may use torchrun": True, "unknown settings": []}
