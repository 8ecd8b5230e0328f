"""One control plane: etcd, API server, controller manager, scheduler, the JobSet controller, and nodes that only pretend
to run pods. Everything listens on free ports of loopback and keeps its state in one directory, so that several can run
side by side."""

import json
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


from . import jobset
from .binaries import build
from .certificates import Authority, make_service_account_key
from .kubeconfig import write_kubeconfig
from .processes import Process, free_ports, stop

CONFIG = pathlib.Path(__file__).resolve().parents[1] / "config"


class ControlPlane:
    """start() and stop(), or a context manager.

    nodes: how many nodes pods can run on. lean: only etcd and the API server. outlive: go on after this process has
    ended (then keep pids(), and end it by stop_by_id). directory: for its state; by default a new temporary one, which
    stop() removes unless keep_logs is set.
    """

    def __init__(self, nodes=4, lean=False, outlive=False, directory=None):
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="signalbox-cluster-"))
        self.keep_logs = directory is not None
        self.kubeconfig = self.directory / "admin.kubeconfig"
        self.server = None
        self._nodes = 0 if lean else nodes
        self._lean = lean
        self._outlive = outlive
        self._processes = []
        self._binaries = None

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        self.keep_logs = self.keep_logs or kind is not None
        self.stop()

    def start(self):
        self._binaries = build()
        try:
            self._make_certificates()
            self._start_api_server()
            if not self._lean:
                self._start_controllers()
        except BaseException:
            self.keep_logs = True
            self.stop()
            raise
        return self

    def stop(self):
        # The API server last but one and etcd last: the others would only log that it is gone.
        stop(self._processes[2:])
        stop(self._processes[:2])
        self._processes = []
        if self.keep_logs:
            print(f"logs are in {self.directory}", flush=True)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def kubectl_path(self):
        return self._binaries / "kubectl"

    def pids(self):
        return [process.pid for process in self._processes]

    def kubectl(self, *arguments, input=None, kubeconfig=None, check=True):
        """What kubectl prints. Fails with what it says on stderr."""
        run = subprocess.run([self.kubectl_path, "--kubeconfig", kubeconfig or self.kubeconfig, *arguments],
                             input=input, capture_output=True, text=True)
        if check and run.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(map(str, arguments))}: {run.stderr.strip()}")
        return run.stdout

    def service_account_kubeconfig(self, namespace, name):
        """A kubeconfig as that service account, whose token lies in a file as in a pod."""
        token = self.kubectl("create", "token", "-n", namespace, name, "--duration=8h").strip()
        token_file = self.directory / f"{namespace}-{name}.token"
        token_file.write_text(token)
        path = self.directory / f"{namespace}-{name}.kubeconfig"
        write_kubeconfig(path, self.server, self._authority.cert, {"tokenFile": str(token_file)})
        return path

    def _make_certificates(self):
        certs = self.directory / "certs"
        self._authority = Authority(certs)
        self._serving = self._authority.issue("server", "kube-apiserver",
                                              hosts=["127.0.0.1", "localhost", "kubernetes.default.svc"])
        self._service_account_key = certs / "service-account.key"
        make_service_account_key(self._service_account_key)

    def _client(self, name, user, group=""):
        """A kubeconfig with a client certificate."""
        cert, key = self._authority.issue(name, user, group)
        path = self.directory / f"{name}.kubeconfig"
        write_kubeconfig(path, self.server, self._authority.cert,
                         {"client-certificate": str(cert), "client-key": str(key)})
        return path

    def _run(self, name, *arguments, environment=None):
        process = Process(name, [self._binaries / name, *arguments], self.directory / f"{name}.log", environment,
                          self._outlive)
        self._processes.append(process)
        return process

    def _start_api_server(self):
        # A port that was free may be taken by somebody else before our program binds it: then all is tried again.
        for attempt in range(5):
            client, peer, secure = free_ports(3)
            self.server = f"https://127.0.0.1:{secure}"
            self._run("etcd", "--name", "default", "--data-dir", self.directory / f"etcd-{attempt}", "--unsafe-no-fsync",
                      "--listen-client-urls", f"http://127.0.0.1:{client}",
                      "--advertise-client-urls", f"http://127.0.0.1:{client}",
                      "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                      "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                      "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--log-level", "warn")
            cert, key = self._serving
            self._run("kube-apiserver", "--etcd-servers", f"http://127.0.0.1:{client}",
                      "--bind-address", "127.0.0.1", "--secure-port", secure, "--tls-cert-file", cert,
                      "--tls-private-key-file", key, "--client-ca-file", self._authority.cert,
                      "--authorization-mode", "Node,RBAC", "--service-cluster-ip-range", "10.96.0.0/16",
                      "--service-account-issuer", "https://kubernetes.default.svc",
                      "--service-account-key-file", self._service_account_key,
                      "--service-account-signing-key-file", self._service_account_key,
                      # The loopback address is no endpoint that the Service "kubernetes" may have.
                      "--endpoint-reconciler-type", "none", "--allow-privileged=true", "--profiling=false")
            write_kubeconfig(self.kubeconfig, self.server, self._authority.cert, self._admin_user())
            if self._wait_for_api_server():
                return
            failed, self._processes = self._processes, []
            stop(failed)
        raise RuntimeError(f"the API server did not start; logs are in {self.directory}")

    def _admin_user(self):
        cert, key = self._authority.issue("admin", "admin", "system:masters")
        return {"client-certificate": str(cert), "client-key": str(key)}

    def _wait_for_api_server(self, timeout=90):
        tls = ssl.create_default_context(cafile=self._authority.cert)
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and all(p.running() for p in self._processes):
            try:
                with urllib.request.urlopen(f"{self.server}/readyz", context=tls, timeout=5) as answer:
                    if answer.status == 200:
                        return True
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.1)
        return False

    def _start_controllers(self):
        manager_port, scheduler_port = free_ports(2)
        self._run("kube-controller-manager", "--kubeconfig",
                  self._client("controller-manager", "system:kube-controller-manager"),
                  # Under RBAC its own user may do little; each controller uses its own service account.
                  "--use-service-account-credentials=true", "--leader-elect=false", "--bind-address", "127.0.0.1",
                  "--secure-port", manager_port, "--service-account-private-key-file", self._service_account_key,
                  "--root-ca-file", self._authority.cert, "--concurrent-job-syncs=10")
        self._run("kube-scheduler", "--kubeconfig", self._client("scheduler", "system:kube-scheduler"),
                  "--leader-elect=false", "--bind-address", "127.0.0.1", "--secure-port", scheduler_port)
        jobset.start(self)
        self._start_nodes()
        self._wait_until_usable()

    def _start_nodes(self):
        stages = self._binaries / "kwok-stages"
        configs = [stages / "node/fast/node-initialize.yaml",
                   stages / "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
                   stages / "pod/fast/pod-ready.yaml", stages / "pod/fast/pod-delete.yaml", CONFIG / "pod-complete.yaml"]
        options = [word for config in configs for word in ("--config", config)]
        self._run("kwok", "--kubeconfig", self._client("nodes", "test-nodes", "system:masters"), "--manage-all-nodes",
                  "--node-ip", "127.0.0.1", "--node-lease-duration-seconds", "40", *options)
        nodes = [_node(f"node-{number + 1}") for number in range(self._nodes)]
        self.kubectl("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))

    def _wait_until_usable(self, timeout=90):
        """Pods can be created (the default service account exists), nodes are ready, JobSet's webhook answers."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            for process in self._processes:
                if not process.running():
                    raise RuntimeError(f"{process.name} ended:\n{process.tail()}")
            if self._usable():
                return
            time.sleep(0.2)
        raise RuntimeError(f"the control plane is not usable after {timeout} s; logs are in {self.directory}")

    def _usable(self):
        ready = self.kubectl("get", "nodes", "-o",
                             'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{" "}{end}')
        account = self.kubectl("get", "serviceaccount", "default", "--ignore-not-found", "-o", "name").strip()
        return ready.split() == ["True"] * self._nodes and account and jobset.answers(self)


def _node(name):
    room = {"cpu": "64", "memory": "512Gi", "pods": "500", "nvidia.com/gpu": "8"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {"allocatable": room, "capacity": room},
    }
