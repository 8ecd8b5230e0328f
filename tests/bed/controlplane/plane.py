"""One control plane: etcd, API server, controller manager, scheduler, the JobSet controller, and nodes that only pretend
to run pods. All programs listen on free ports of loopback. The state is in one directory. So several planes can run side by
side."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

from . import controllers, gates, nodes as fake_nodes, server
from .api import Api
from .releases import build
from .certificates import Authority
from .jobset import JobSet
from .kubeconfig import write_kubeconfig
from .processes import Process, ProcessEnded, start_time, stop

_ATTEMPTS = 3
_TIMEOUT = 120  # seconds; ten is usual, but the machine may be busy with compilers
# Longer than any control plane lives, because the programs under test and the JobSet controller do not renew their tokens.
_TOKEN_SECONDS = 30 * 24 * 3600


class ControlPlane:
    """start() and stop(), or a context manager.

    nodes: the number of nodes that only pretend to run pods, or the real ones of tests/bed/node. lean: only etcd and the API server.
    jobset: whether the JobSet controller runs. outlive: continue after this process has ended; the directory's pids.json has the
    processes for stop_by_id. Without it, everything ends together with the thread that called start(). directory: for its state; by default a new temporary one, which stop() removes unless keep_logs is set.
    api_server_options: more of them. issues_as_itself: tokens of service accounts name the API server's address as their issuer, so that
    other programs can look up its keys there. pod_groups: gangs of Kubernetes' own scheduler and their claims are on, if the release has
    them (gates.py).
    """

    # Called for every control plane of this process: starting(plane) before any of its programs runs, and ended(plane) after the
    # last one has ended, while its directory still exists.
    observers = []

    def __init__(self, nodes=4, lean=False, jobset=True, outlive=False, directory=None, api_server_options=(), issues_as_itself=False,
                 pod_groups=True):
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="signalbox-cluster-"))
        self.keep_logs = directory is not None
        self.kubeconfig = self.directory / "admin.kubeconfig"
        self.ca_file = self.directory / "certs" / "ca.crt"
        self.server = None  # its URL
        self.store = None  # etcd's
        self.nodes = 0 if lean else nodes
        self.api_server_options = api_server_options
        self.issues_as_itself = issues_as_itself
        self.pod_groups = gates.NAMES if pod_groups and gates.available() else ()
        self.seconds_to_start = None
        self._lean = lean
        self._jobset = jobset
        self.outlive = outlive
        self._processes = []
        self._stopped = False

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        self.keep_logs = self.keep_logs or kind is not None
        self.stop()

    def start(self):
        """Returns itself when JobSets can be created and their pods can be scheduled (lean: when the API server is ready)."""
        self.programs = build()
        for observer in self.observers:
            observer.starting(self)
        started = time.monotonic()
        try:
            for attempt in range(_ATTEMPTS):
                try:
                    self._start_once()
                    break
                except ProcessEnded as ended:
                    if not ended.port_was_taken or attempt + 1 == _ATTEMPTS:
                        raise
                    self._stop_processes()
        except BaseException as failure:
            # An interruption needs no logs.
            self.keep_logs = self.keep_logs or isinstance(failure, Exception)
            self.stop()
            raise
        self.seconds_to_start = time.monotonic() - started
        return self

    def stop(self):
        """Ends the processes that start() started, and nothing else. A second call does nothing."""
        self._stop_processes()
        if self._stopped:
            return
        self._stopped = True
        for observer in self.observers:
            observer.ended(self)
        if self.keep_logs:
            print(f"logs are in {self.directory}", flush=True)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def kubectl_path(self):
        return self.programs / "kubectl"

    def pids(self):
        return [process.pid for process in self._processes]

    def kubectl(self, *arguments, input=None, kubeconfig=None, check=True):
        """Returns the output of kubectl, as admin unless another kubeconfig is given. Raises on failure unless check is False."""
        # A cache of its own: another control plane may just have had this port and served other kinds.
        run = subprocess.run([self.kubectl_path, "--kubeconfig", kubeconfig or self.kubeconfig,
                              "--cache-dir", self.directory / "kubectl-cache", *map(str, arguments)],
                             input=input, capture_output=True, text=True)
        if check and run.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(map(str, arguments))}: {run.stderr.strip()}")
        return run.stdout

    def service_account_token(self, namespace, name):
        request = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": {"name": name},
                   "spec": {"expirationSeconds": _TOKEN_SECONDS}}
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}"
        return self.api.create(f"{account}/token", request)["status"]["token"]

    def service_account_kubeconfig(self, namespace, name, context="default"):
        """Returns a kubeconfig of that service account, with the token in a file as in a pod, for a context in namespace `context`."""
        token = self.service_account_token(namespace, name)
        token_file = self.directory / f"{namespace}-{name}.token"
        token_file.touch(mode=0o600)
        token_file.write_text(token)
        path = self.directory / f"{namespace}-{name}.kubeconfig"
        write_kubeconfig(path, self.server, self.ca_file, {"tokenFile": str(token_file)}, context)
        return path

    def user_kubeconfig(self, name, user, group=""):
        """Returns a kubeconfig of that user, with a client certificate in files named after `name`."""
        self.authority.issue(name, user, group)
        return self._with_certificate(name, self.directory / f"{name}.kubeconfig")

    def admin_kubeconfig(self, namespace):
        """Returns the administrator's kubeconfig, for a context in that namespace."""
        return self._with_certificate("admin", self.directory / f"admin-in-{namespace}.kubeconfig", namespace)

    def _with_certificate(self, name, path, namespace="default"):
        cert, key = (self.ca_file.parent / f"{name}.{suffix}" for suffix in ("crt", "key"))
        write_kubeconfig(path, self.server, self.ca_file, {"client-certificate": str(cert), "client-key": str(key)}, namespace)
        return path

    def stop_api_server(self):
        """Kills the API server as in a crash: the other programs continue, and connections to `server` are refused."""
        stop([self._api_server()], grace=0)

    def start_api_server(self):
        """Starts it again, at its port and with its data. Returns when it is ready."""
        self._api_server().start()
        self._note_pids()
        self._wait_for_api_server()

    def switch_pod_groups(self, *names):
        """Starts Kubernetes' own programs again with these of gates.NAMES, as an administrator does who sets their gates. Returns when the
        API server is ready."""
        self.pod_groups = names
        for process in self._processes:
            arguments = gates.switched(process.name, process.arguments, names)
            if arguments != process.arguments:
                stop([process])
                process.arguments = arguments
                process.start()
                self._note_pids()
                if process.name == "kube-apiserver":
                    self._wait_for_api_server()

    @contextlib.contextmanager
    def paused(self, name):
        """Suspends one of the programs inside the context."""
        pid = next(process.pid for process in self._processes if process.name == name)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextlib.contextmanager
    def full_store(self):
        """Lets etcd refuse writes inside the context, as it does once its quota is used up. It still answers reads and deletes."""
        def ask(what, **body):
            request = urllib.request.Request(f"{self.store}/v3/maintenance/{what}", json.dumps(body).encode())
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        member = ask("status")["header"]["member_id"]
        alarm = {"memberID": member, "alarm": "NOSPACE"}
        ask("alarm", action="ACTIVATE", **alarm)
        try:
            yield
        finally:
            ask("alarm", action="DEACTIVATE", **alarm)

    # For the modules of this package. Each starts one part.

    def launch(self, name, *arguments, environment=None):
        arguments = gates.switched(name, [str(word) for word in arguments], self.pod_groups)
        self.adopt(Process(name, [self.programs / name, *arguments], self.directory / f"{name}.log", environment, self.outlive))

    def adopt(self, process):
        """Makes a process end with the control plane."""
        self._processes.append(process)
        self._note_pids()

    def wait(self, what, probe):
        """Waits until probe() returns a true value. Raises if a program ends or the time is over."""
        deadline = time.monotonic() + _TIMEOUT
        while not probe():
            for process in self._processes:
                if not process.running():
                    raise ProcessEnded(process)
            if time.monotonic() > deadline:
                raise RuntimeError(f"after {_TIMEOUT} s still waiting for {what}; logs are in {self.directory}")
            time.sleep(0.05)

    def _note_pids(self):
        """Records the processes after each start, so that none is lost if this process is killed halfway."""
        if self.outlive:
            (self.directory / "pids.json").write_text(json.dumps({pid: start_time(pid) for pid in self.pids()}))

    def _api_server(self):
        return next(process for process in self._processes if process.name == "kube-apiserver")

    def _wait_for_api_server(self):
        # Before etcd answers, the API server accepts connections and sends nothing.
        self.wait("the API server to be ready", lambda: self.api.request("GET", "/readyz", timeout=1)[0] == 200)

    def _start_once(self):
        self.authority = Authority(self.ca_file.parent)
        self.service_account_key = self.authority.make_signing_key("service-account.key")
        self.server = server.start(self)
        self.user_kubeconfig("admin", "admin", "system:masters")
        self.api = Api(self.server, self.ca_file, *(self.ca_file.parent / f"admin.{suffix}" for suffix in ("crt", "key")))
        self._wait_for_api_server()
        if self._lean:
            return
        jobset = JobSet(self) if self._jobset else None
        if jobset:
            jobset.create_crd()
        controllers.start(self)
        nodes = fake_nodes if isinstance(self.nodes, int) else self.nodes
        nodes.start(self)
        if jobset:
            self.wait("JobSet's CRD to be served", jobset.crd_is_served)
            jobset.start()
            self.wait("the JobSet controller to answer", jobset.ready)
        self.wait("the default service account", lambda: controllers.ready(self))
        self.wait("the nodes to be ready", lambda: nodes.ready(self))

    def _stop_processes(self):
        stop(self._processes)
        self._processes = []
