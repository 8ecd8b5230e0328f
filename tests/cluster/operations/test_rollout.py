"""Two replicas of the webhook behind a Service, while TrainJobs are created without a pause: certificates that rotate,
Secrets that vanish, replicas that are restarted, and not one call that fails.

The Service is of type ExternalName and leads to a balancer on loopback, since there is no kube-proxy on the test bed; so
the API server calls the name of the Service, as in production."""

import base64
import json
import os
import pathlib
import subprocess
import threading
import time

import pytest
import yaml

from balancer import Backend, Balancer
from deployment import NAMESPACE, ROOT, Program
from jobs import runtime, train_job
from rest import ApiError, Rest, true_conditions, wait_for

BINARY = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-webhook"
SECRET, SERVICE = "signalbox-webhook-cert", "signalbox-webhook"
CONFIGURATIONS = [("validatingwebhookconfiguration", "validator.trainer.kubeflow.org"),
                  ("mutatingwebhookconfiguration", "defaulter.trainer.kubeflow.org")]


class Replicas:
    """Two processes of the webhook behind one balancer."""

    def __init__(self, cluster, balancer, options):
        self.cluster, self.balancer, self.options = cluster, balancer, options
        self.programs = {}
        self.started = 0

    def start(self, name):
        self.started += 1
        program = Program(BINARY, self.cluster.directory / f"{name}-{self.started}.log", [
            "--kubeconfig", self.cluster.service_account_kubeconfig(NAMESPACE, "signalbox-webhook"),
            "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--shutdown-delay=3s", *self.options])
        self.programs[name] = program
        self.balancer.add(name, Backend(program.port_of("admission"), program.port_of("admin")))
        return program

    def restart(self, name):
        """As a Deployment does: asks the old one to end, and starts the new one."""
        old = self.programs[name]
        old.ask_to_end()
        wait_for("new connections to go elsewhere", lambda: name not in self.balancer.ready(), interval=0.02)
        assert old.wait(30) and old.exit_status() == 0, old.text()[-2000:]
        self.start(name)
        wait_for("it to be ready", lambda: name in self.balancer.ready(), timeout=60)

    def kill(self):
        for program in self.programs.values():
            program.kill()


class Load:
    """Creates TrainJobs for as long as the block runs; what went wrong."""

    def __init__(self, kubeconfig, threads=3):
        self.kubeconfig = kubeconfig
        self.failures, self.done = [], 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(i,)) for i in range(threads)]

    def work(self, number):
        rest, count = Rest(self.kubeconfig), 0
        while not self.over.is_set():
            count += 1
            try:
                rest.create(train_job(f"load-{number}-{count}"), dry_run=True)
                self.done += 1
            except (ApiError, OSError) as error:
                self.failures.append(str(error))
            self.over.wait(0.02)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        wait_for("the first calls", lambda: self.done > 10)
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def go_on(self, calls=50, failures_before=()):
        """Until so many more were made, none of which failed."""
        until = self.done + calls
        wait_for("more calls", lambda: self.done >= until or self.failures != list(failures_before))
        assert self.failures == list(failures_before)


@pytest.fixture(scope="module")
def balancer(cluster):
    """Everything installed but the programs, and a Service that leads to the balancer."""
    cluster.kubectl("apply", "--server-side", "-k", str(ROOT / "manifests" / "overlays" / "local-processes"))
    cluster.kubectl("apply", "--server-side", "-f", str(ROOT / "manifests" / "components" / "self-signed" / "rbac.yaml"))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "-l", "app.kubernetes.io/part-of=signalbox")
    with Balancer() as balancer:
        cluster.kubectl("apply", "-f", "-", input=json.dumps({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE, "namespace": NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": "localhost"}}))
        for kind, name in CONFIGURATIONS:
            configuration = json.loads(cluster.kubectl("get", kind, name, "-o", "json"))
            for webhook in configuration["webhooks"]:
                webhook["clientConfig"]["service"]["port"] = balancer.port
            cluster.kubectl("replace", "-f", "-", input=json.dumps(configuration))
        yield balancer


def run(cluster, balancer, options):
    replicas = Replicas(cluster, balancer, options)
    try:
        for name in ("left", "right"):
            replicas.start(name)
        wait_for("both replicas", lambda: balancer.ready() == {"left", "right"}, timeout=60)
        rest = Rest(cluster.kubeconfig)
        if rest.get("clustertrainingruntimes", "plain-test") is None:
            wait_for("the API server to know them", lambda: created(rest, runtime()))
        yield replicas
    finally:
        for name in replicas.programs:
            balancer.remove(name)
        replicas.kill()


def created(rest, obj):
    try:
        return rest.create(obj)
    except ApiError:
        return None


@pytest.fixture
def self_signed(cluster, balancer):
    yield from run(cluster, balancer, ["--self-signed", f"--cert-secret={NAMESPACE}/{SECRET}",
                                       f"--service={NAMESPACE}/{SERVICE}", "--cert-lifetime=60s",
                                       "--log-level=debug"])  # so that no key is told, however much it talks


@pytest.fixture
def reconcilers(cluster):
    """The one that leads, and another."""
    account = cluster.service_account_kubeconfig(NAMESPACE, "signalbox-reconciler")
    both = [Program(BINARY.with_name("signalbox-reconciler"), cluster.directory / f"reconciler-{name}.log",
                    ["--kubeconfig", account, "--admin-listen", "127.0.0.1:0"]) for name in ("first", "second")]
    for program in both:
        program.wait_until_ready()
    wait_for("one to lead", lambda: any(program.metric("signalbox_leader") == 1 for program in both))
    yield sorted(both, key=lambda program: -program.metric("signalbox_leader"))
    for program in both:
        program.kill()


def stored(rest):
    secret = rest.get("secrets", SECRET, NAMESPACE)
    return base64.b64decode(secret["data"]["tls.crt"]) if secret else b""


def shown_by(port):
    talk = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}"], input=b"", capture_output=True)
    return talk.stdout[talk.stdout.find(b"-----BEGIN"):talk.stdout.find(b"-----END CERT")]


def all_show(replicas, certificate):
    first = certificate[:certificate.find(b"-----END CERT")]
    return all(shown_by(program.port_of("admission")) == first for program in replicas.programs.values())


def test_no_call_fails_while_certificates_rotate_and_replicas_restart(cluster, self_signed, rest):
    with Load(cluster.kubeconfig) as load:
        seen = stored(rest)
        for name in ("left", "right", "left"):
            renewed = wait_for("a rotation", lambda: stored(rest) not in (b"", seen) and stored(rest), timeout=90)
            wait_for("both to show it", lambda: all_show(self_signed, renewed), timeout=60)
            seen = renewed
            load.go_on()
            self_signed.restart(name)
            load.go_on()
    assert load.failures == []
    print(f"{load.done} creates, three rotations and restarts, none failed")


def test_no_call_fails_when_the_secret_is_deleted_or_emptied(cluster, self_signed, rest):
    with Load(cluster.kubeconfig) as load:
        for harm in (["delete", "secret", SECRET], ["patch", "secret", SECRET, "-p", '{"data": {"tls.crt": "", "ca.crt": ""}}']):
            before = stored(rest)
            cluster.kubectl(*harm, "-n", NAMESPACE)
            renewed = wait_for("a new one", lambda: stored(rest) not in (b"", before) and stored(rest), timeout=60)
            wait_for("both to show it", lambda: all_show(self_signed, renewed), timeout=60)
            load.go_on()
    assert load.failures == []


def test_no_call_fails_when_an_older_secret_is_put_back(cluster, self_signed, rest):
    with Load(cluster.kubeconfig) as load:
        older = rest.get("secrets", SECRET, NAMESPACE)["data"]
        before = stored(rest)
        cluster.kubectl("delete", "secret", SECRET, "-n", NAMESPACE)
        renewed = wait_for("a new one", lambda: stored(rest) not in (b"", before) and stored(rest), timeout=60)
        wait_for("both to show it", lambda: all_show(self_signed, renewed), timeout=60)
        cluster.kubectl("patch", "secret", SECRET, "-n", NAMESPACE, "-p", json.dumps({"data": older}))
        wait_for("both to show what is stored then",
                 lambda: stored(rest) != renewed and all_show(self_signed, stored(rest)), timeout=60)
        load.go_on()
    assert load.failures == []


def test_no_call_fails_in_a_rolling_restart(cluster, self_signed):
    with Load(cluster.kubeconfig) as load:
        for name in ("left", "right", "left", "right"):
            self_signed.restart(name)
            load.go_on()
    assert load.failures == []
    for program in self_signed.programs.values():
        assert "PRIVATE KEY" not in program.text()


def test_the_loss_of_a_node_costs_no_more_than_the_calls_on_their_way_to_it(cluster, self_signed, reconcilers, rest):
    leader, standby = reconcilers
    balancer = self_signed.balancer
    with Load(cluster.kubeconfig) as load:
        lost_before = balancer.lost
        self_signed.programs["left"].kill()
        leader.kill()
        lost = time.monotonic()
        wait_for("the endpoints to follow", lambda: balancer.ready() == {"right"}, interval=0.02)
        # What a client sees that its call failed for is an error of the server, which it may try again.
        time.sleep(1)  # for the answers that are on their way
        failed = list(load.failures)
        assert all("failed calling webhook" in each for each in failed)
        # No more than were on their way: those that it had when it was lost, one for each thread, and as many for each
        # connection that was given to it afterwards.
        connections = balancer.lost - lost_before
        assert len(failed) <= len(load.threads) * (1 + connections), failed
        load.go_on(failures_before=failed)
        rest.create(train_job("bereft"))
        wait_for("the other reconciler to lead", lambda: standby.metric("signalbox_leader") == 1, interval=0.05)
        assert time.monotonic() - lost < 20
        wait_for("the job to end", lambda: "Complete" in true_conditions(rest.get("trainjobs", "bereft")))
        self_signed.start("left")
        wait_for("the replica that came for it", lambda: balancer.ready() == {"left", "right"}, timeout=60)
        load.go_on(failures_before=failed)
    print(f"{load.done} creates, {len(failed)} failed while the endpoints did not know of the loss, "
          f"which gave it {connections} more connections")


def test_the_role_allows_the_named_objects_only(cluster, balancer, rest):
    role = [doc for doc in yaml.safe_load_all((ROOT / "manifests/components/self-signed/rbac.yaml").read_text())
            if doc["kind"].endswith("Role")]
    assert all(rule["resourceNames"] for doc in role for rule in doc["rules"])
    mine = Rest(cluster.service_account_kubeconfig(NAMESPACE, "signalbox-webhook"))
    for path in (f"/api/v1/namespaces/{NAMESPACE}/secrets", f"/api/v1/namespaces/{NAMESPACE}/secrets/another",
                 f"/api/v1/namespaces/default/secrets/{SECRET}",
                 "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"):
        with pytest.raises(ApiError) as refused:
            mine.request("GET", path)
        assert refused.value.code == 403
    with pytest.raises(ApiError) as refused:
        mine.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "another", "namespace": NAMESPACE}})
    assert refused.value.code == 403
