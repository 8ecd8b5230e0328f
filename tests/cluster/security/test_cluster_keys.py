"""The keys of MPI and Flux jobs on the real control plane: they are made once, never logged, and accepted by the programs that use them:
OpenSSH, the launchers of Open MPI and MPICH, ZeroMQ."""

import base64
import os
import re
import subprocess

import pytest
import zmq

from jobs import ANCESTOR, runtime, train_job
from progress import until
from rest import conditions, wait_for
from sshd import Sshd

SECRETS = {"mpi": "{}-mpi-ssh-auth", "flux": "{}-flux-curve"}


def mpi_runtime(name="mpi", implementation="OpenMPI"):
    """Returns a runtime with a launcher apart from its nodes."""
    blueprint = runtime(name, ml_policy={"numNodes": 1, "mpi": {"mpiImplementation": implementation}})
    jobs = blueprint["spec"]["template"]["spec"]["replicatedJobs"]
    (node,) = jobs
    container = {"name": "node", "image": "registry.example.com/mpi:1"}
    launcher = {"name": "launcher", "template": {
        "metadata": {"labels": {ANCESTOR: "trainer"}},
        "spec": {"backoffLimit": 0, "template": {"spec": {"containers": [container]}}}}}
    del node["template"]["metadata"]
    jobs.append(launcher)
    return blueprint


def create(rest, framework, name, **options):
    if not rest.get("clustertrainingruntimes", framework):
        rest.create(mpi_runtime() if framework == "mpi" else runtime("flux", ml_policy={"numNodes": 1, "flux": {}}))
    return rest.create(train_job(name, framework, **options))


def secret_of(rest, framework, name):
    return wait_for(f"the Secret of {name}", lambda: rest.get("secrets", SECRETS[framework].format(name)))


def files(secret):
    return {key: base64.b64decode(text) for key, text in secret["data"].items()}


def parts_of(secret):
    """Returns texts that no log may contain: pieces of the stored values, and long words of the decoded ones."""
    parts = {text[at:at + 16] for text in secret["data"].values() for at in range(0, len(text) - 16, 4)}
    for text in files(secret).values():
        for line in text.decode().splitlines():
            # Without "BEGIN EC PRIVATE KEY", names and the like, which are no secrets.
            parts |= {word[:20] for word in re.findall(r'[^\s"]{30,}', line)}
    assert len(parts) > 20
    return parts


@pytest.mark.parametrize("framework", SECRETS)
def test_keys_are_made_once_outlive_suspension_and_the_reconciler_and_are_not_logged(signalbox, rest, framework):
    job = create(rest, framework, "steady", seconds="never", nodes=2)
    secret = secret_of(rest, framework, "steady")
    wait_for("the JobSet", lambda: rest.get("jobsets", "steady"))
    # A kubelet with a Pod of a former job of that name would hand an immutable one on.
    assert not secret.get("immutable")
    (owner,) = secret["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (job["metadata"]["uid"], True)

    rest.patch("trainjobs", "steady", {"spec": {"suspend": True}})
    until(rest, "steady", "Suspended")
    signalbox.restart_reconciler()
    rest.patch("trainjobs", "steady", {"spec": {"suspend": False}})
    wait_for("the JobSet to run", lambda: rest.get("jobsets", "steady")["spec"]["suspend"] is False)
    signalbox.wait_until_idle()
    assert rest.get("secrets", secret["metadata"]["name"]) == secret

    create(rest, framework, "other", seconds="never")
    other = files(secret_of(rest, framework, "other"))
    assert all(text != other[key] for key, text in files(secret).items())
    log = signalbox.reconciler.log.read_text()
    assert [part for part in parts_of(secret) if part in log] == []


@pytest.mark.parametrize("framework", SECRETS)
def test_no_job_set_is_made_with_keys_that_were_changed(signalbox, rest, framework):
    create(rest, framework, "changed", seconds="never", nodes=2, suspend=True)
    # The status says Suspended before there is a JobSet.
    wait_for("the JobSet", lambda: rest.get("jobsets", "changed"))
    secret = secret_of(rest, framework, "changed")
    rest.patch("secrets", secret["metadata"]["name"], {"data": {name: "b3RoZXIK" for name in secret["data"]}})
    rest.delete("jobsets", "changed")
    wait_for("the refusal", lambda: "was changed since it was made" in (conditions(rest.get("trainjobs", "changed")).get("Created", {}).get("message", "")))
    assert rest.get("jobsets", "changed") is None


@pytest.mark.together
def test_the_host_file_is_restored_and_metadata_of_others_stays(signalbox, rest):
    def host_file():
        return rest.get("configmaps", "edited-mpi-hostfile")
    create(rest, "mpi", "edited", seconds="never", nodes=2, suspend=True)
    before = wait_for("the host file", host_file)["data"]
    until(rest, "edited", "Suspended")
    rest.patch("configmaps", "edited-mpi-hostfile", {"metadata": {"labels": {"example.com/foreign": "yes"}},
                                                     "data": {"hostfile": "other-host", "more": "text"}})
    rest.patch("trainjobs", "edited", {"spec": {"suspend": False}})
    wait_for("the host file to be restored", lambda: host_file()["data"] == before)
    assert host_file()["metadata"]["labels"] == {"example.com/foreign": "yes"}


@pytest.mark.together
@pytest.mark.parametrize("framework", SECRETS)
def test_a_secret_of_another_owner_is_neither_used_nor_changed(signalbox, rest, framework):
    name = SECRETS[framework].format("robbed")
    foreign = rest.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"key": "known"}})
    create(rest, framework, "robbed")
    def refused():
        created = conditions(rest.get("trainjobs", "robbed")).get("Created", {})
        return created if created.get("status") == "False" else None
    condition = wait_for("the condition of the TrainJob", refused)
    assert condition["reason"] == "JobsCreationFailed"
    assert name in condition["message"]
    assert rest.get("jobsets", "robbed") is None
    assert rest.get("secrets", name) == foreign

    rest.delete("secrets", name)
    until(rest, "robbed", "Complete")


# Launchers ---------------------------------------------------------------------------------------------------------------

def launcher_of(rest, name):
    """Returns the launcher's environment, its host file, and the keys."""
    job_set = wait_for("the JobSet", lambda: rest.get("jobsets", name))
    pod = next(job for job in job_set["spec"]["replicatedJobs"] if job["name"] == "launcher")["template"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    environment = {variable["name"]: variable["value"] for variable in container["env"]}
    host_file = rest.get("configmaps", f"{name}-mpi-hostfile")["data"]["hostfile"]
    volume = next(volume["secret"] for volume in pod["spec"]["volumes"] if "secret" in volume)
    secret = files(rest.get("secrets", volume["secretName"]))
    return environment, host_file, {item["path"]: secret[item["key"]] for item in volume["items"]}


@pytest.mark.together
def test_openssh_accepts_the_key_pair(signalbox, rest, tmp_path):
    create(rest, "mpi", "keyed")
    _, _, keys = launcher_of(rest, "keyed")
    with Sshd(tmp_path / "ours", keys) as sshd:
        derived = subprocess.run(["ssh-keygen", "-y", "-P", "", "-f", sshd.private_key], check=True, capture_output=True)
        assert derived.stdout == keys["id_rsa.pub"] == keys["authorized_keys"]
        assert sshd.run("ssh", "any-host", "echo", "let", "in") == "let in\n"

    create(rest, "mpi", "other")
    _, _, others = launcher_of(rest, "other")
    with Sshd(tmp_path / "foreign", {**keys, "id_rsa": others["id_rsa"]}) as sshd, pytest.raises(AssertionError):
        sshd.run("ssh", "any-host", "true")


# implementation, program, its rank variable, the options of its ssh before the host
LAUNCHERS = [
    ("OpenMPI", ["mpirun.openmpi"], "OMPI_COMM_WORLD_RANK"),
    ("MPICH", ["mpiexec.hydra", "-n", "6"], "PMI_RANK"),
]


@pytest.mark.together
@pytest.mark.parametrize("implementation,program,rank", LAUNCHERS, ids=[row[0] for row in LAUNCHERS])
def test_a_real_launcher_starts_processes_on_the_hosts_of_its_file(signalbox, rest, tmp_path, implementation, program, rank):
    name = implementation.lower()
    rest.create(mpi_runtime(name, implementation))
    job = train_job(name, name, nodes=3)
    job["spec"]["trainer"]["numProcPerNode"] = 2
    rest.create(job)
    environment, host_file, keys = launcher_of(rest, name)
    (tmp_path / "hostfile").write_text(host_file)
    here = {key: value.replace("/etc/mpi/hostfile", str(tmp_path / "hostfile")) for key, value in environment.items()}
    if os.geteuid() == 0:
        here |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    with Sshd(tmp_path / "nodes", keys) as sshd:
        printed = sshd.run(*program, "sh", "-c", f"echo rank ${rank}", environment=here)
        # Two processes on each of three hosts. Each host was reached over ssh once, with the expected options.
        assert sorted(printed.splitlines()) == [f"rank {number}" for number in range(6)]
        assert len(sshd.calls()) == 3
        assert {re.search(r"\S+-node-0-\d\.\S+", call).group() for call in sshd.calls()} == {
            f"{name}-node-0-{index}.{name}" for index in range(3)}
        assert all("-o ConnectionAttempts=10" in call for call in sshd.calls())


# Flux --------------------------------------------------------------------------------------------------------------------

def parsed(certificate):
    """Returns {section: {key: value}}, by the rules of Flux's own reader."""
    sections, current = {}, None
    for line in certificate.decode().splitlines():
        assert len(line) < 256
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace():
            assert re.fullmatch(r"[a-z-]+", line)
            current = sections.setdefault(line, {})
        else:
            key, value = re.fullmatch(r'\s+([a-z-]+) = "([^"]*)"', line).groups()
            current[key] = value
    return sections


def exchange(context, server_key, client_key, trusted):
    """Returns what a CURVE server receives from a client that trusts the server's key `trusted`; None if nothing within a second."""
    with context.socket(zmq.PULL) as server, context.socket(zmq.PUSH) as client:
        server.curve_server = True
        server.curve_secretkey = server_key["secret-key"].encode()
        server.curve_publickey = server_key["public-key"].encode()
        port = server.bind_to_random_port("tcp://127.0.0.1")
        client.linger = 0
        client.curve_serverkey = trusted.encode()
        client.curve_secretkey = client_key["secret-key"].encode()
        client.curve_publickey = client_key["public-key"].encode()
        client.connect(f"tcp://127.0.0.1:{port}")
        client.send(b"hello")
        return server.recv() if server.poll(1000 if trusted != server_key["public-key"] else 10000) else None


@pytest.mark.together
def test_zeromq_accepts_the_curve_certificate(signalbox, rest):
    create(rest, "flux", "brokers")
    create(rest, "flux", "others")
    ours, others = (parsed(files(secret_of(rest, "flux", name))["curve.cert"]) for name in ("brokers", "others"))
    assert ours["metadata"] == {"name": "brokers"}
    assert [len(ours["curve"][key]) for key in ("public-key", "secret-key")] == [40, 40]
    assert zmq.curve_public(ours["curve"]["secret-key"].encode()).decode() == ours["curve"]["public-key"]

    with zmq.Context() as context:
        # All Flux brokers have the same certificate.
        assert exchange(context, ours["curve"], ours["curve"], ours["curve"]["public-key"]) == b"hello"
        assert exchange(context, ours["curve"], ours["curve"], others["curve"]["public-key"]) is None
