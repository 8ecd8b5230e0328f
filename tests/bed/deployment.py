"""Installs Signalbox into a control plane and runs both programs as in production: under their own service accounts, with the
RBAC of manifests/, and with the webhook behind the API server's admission chain.

The programs are processes on this machine, as the test bed has no container runtime: the webhook configurations call a URL
instead of a Service.
"""

import base64
import contextlib
import json
import os
import pathlib
import re
import subprocess
import time
import urllib.error
import urllib.request

from controlplane.processes import Process
from paths import ROOT
from rest import Rest, wait_for

NAMESPACE = "kubeflow-system"
DRAIN_SECONDS = 30  # both programs promise to end within 25 s of SIGTERM


def write_overlay(directory, components=(), namespaces=(), base="overlays/local-processes"):
    """Writes a kustomization of `base` with these components of manifests/, limited to these namespaces if there are any, each made
    as manifests/overlays/namespaced describes it. Returns its directory, below `directory`."""
    manifests = ROOT / "manifests"
    has_progress = "progress" in components
    overlay = pathlib.Path(directory) / "overlay"
    overlay.mkdir(parents=True)
    for name in namespaces:
        text = (manifests / "overlays" / "namespaced" / "team-a" / "kustomization.yaml").read_text()
        (overlay / name).mkdir()
        if has_progress:
            text = text.replace("components/namespaced/roles\n",
                                "components/namespaced/roles\n  - ../../../components/progress/roles\n")
        (overlay / name / "kustomization.yaml").write_text(
            text.replace("team-a", name).replace("../../../", os.path.relpath(manifests, overlay / name) + "/"))

    def at(*parts):
        return os.path.relpath(manifests.joinpath(*parts), overlay)
    limits = ["namespaced", *(["progress/namespaced"] if has_progress else [])] if namespaces else []
    parts = [at("components", each) for each in [*components, *limits]]
    (overlay / "kustomization.yaml").write_text(json.dumps({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [at(base)], "components": [*parts, *namespaces],
        "labels": [{"pairs": {"app.kubernetes.io/part-of": "signalbox"}, "includeSelectors": False}]}))
    return overlay


def remove_webhooks(cluster):
    """Deletes the webhook configurations, so that the API server does not call the webhook any more."""
    cluster.kubectl("delete", "validatingwebhookconfigurations,mutatingwebhookconfigurations", "-l", "app.kubernetes.io/part-of=signalbox")


class Signalbox:
    """Both programs against one control plane. Use as a context manager; leaving it checks that they end cleanly.
    namespaces: all of them, or a list that both are limited to."""

    def __init__(self, cluster, binaries, log_level="info", namespaces=()):
        self._cluster = cluster
        self._namespaces = namespaces
        self._limits = [f"--namespaces={name}" for name in namespaces]
        self.binaries = pathlib.Path(binaries)
        self._directory = pathlib.Path(cluster.directory) / "signalbox"
        self._log_level = log_level
        self._shipped = {}
        self._default_arguments = None
        self.webhook = None
        self.reconciler = None

    def __enter__(self):
        try:
            self.install()
            self.start_webhook()
            self.configure_webhooks()
            self.start_reconciler()
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, kind, *_):
        problems = self.stop()
        if kind is None and problems:
            raise AssertionError("; ".join(problems))

    def stop(self):
        """Ends both programs. Returns the problems of their ends."""
        return [problem for program in self._programs() for problem in program.stop()]

    def install(self):
        """Installs CRDs, service accounts, RBAC, webhook configurations (not yet reachable) and JobSet's and the runtimes' CRDs."""
        self._directory.mkdir(parents=True, exist_ok=True)
        overlay = ROOT / "manifests" / "overlays" / "local-processes"
        if self._namespaces:
            overlay = write_overlay(self._directory, namespaces=self._namespaces)
        self._cluster.kubectl("apply", "--server-side", "-k", str(overlay))
        self._cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "-l",
                              "app.kubernetes.io/part-of=signalbox")

    def install_runtimes(self, *options):
        self._cluster.kubectl("apply", "--server-side", "-k", str(ROOT / "manifests" / "runtimes"), *options)
        self._shipped = {runtime["metadata"]["name"]: runtime["spec"]
                         for runtime in Rest(self._cluster.kubeconfig).list("clustertrainingruntimes")}

    def start_webhook(self, *options):
        certificates = self._directory / "certs"
        if not certificates.exists():
            subprocess.run([str(ROOT / "certs" / "make-development-certificates"), "--out", str(certificates),
                            "--ip", "127.0.0.1"], check=True, capture_output=True)
        self.certificates = certificates
        self.webhook = Program(self.binaries / "signalbox-webhook", self._directory / "webhook.log", [
            "--kubeconfig", self.webhook_kubeconfig(),
            "--listen", "127.0.0.1:0",
            "--tls-cert", certificates / "tls.crt", "--tls-key", certificates / "tls.key",
            "--shutdown-delay=0s",  # there is no balancer
            "--admin-listen", "127.0.0.1:0", "--log-level", self._log_level, *self._limits, *options])
        self.webhook.wait_until_ready()

    def webhook_kubeconfig(self):
        return self._cluster.service_account_kubeconfig(NAMESPACE, "signalbox-webhook")

    def configure_webhooks(self):
        """Points the installed configurations at this process."""
        bundle = base64.b64encode((self.certificates / "ca.crt").read_bytes()).decode()
        port = self.webhook.port_of("admission")
        for kind in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration"):
            listed = json.loads(self._cluster.kubectl("get", kind, "-l", "app.kubernetes.io/part-of=signalbox", "-o", "json"))
            for configuration in listed["items"]:
                for webhook in configuration["webhooks"]:
                    path = webhook["clientConfig"]["service"]["path"] if "service" in webhook["clientConfig"] \
                        else "/" + webhook["clientConfig"]["url"].split("/", 3)[3]
                    webhook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle}
                configuration["metadata"].pop("managedFields", None)
                self._cluster.kubectl("replace", "-f", "-", input=json.dumps(configuration))

    def start_reconciler(self, *options):
        self.reconciler = Program(self.binaries / "signalbox-reconciler", self._directory / "reconciler.log", [
            "--kubeconfig", self._cluster.service_account_kubeconfig(NAMESPACE, "signalbox-reconciler"),
            "--admin-listen", "127.0.0.1:0", "--log-level", self._log_level, *self._limits, *options])
        if not options:
            self._default_arguments = self.reconciler.arguments
        self.reconciler.wait_until_ready()

    def stop_reconciler(self):
        problems = self.reconciler.stop()
        self.reconciler = None
        if problems:
            raise AssertionError("; ".join(problems))

    def restart_reconciler(self, *options):
        if self.reconciler:
            self.stop_reconciler()
        self.start_reconciler(*options)

    @contextlib.contextmanager
    def reconfigured(self, *options):
        """Runs the reconciler with these additional options inside the context, and without them after it."""
        self.restart_reconciler(*options)
        try:
            yield
        finally:
            self.restart_reconciler()

    @contextlib.contextmanager
    def reviewed(self, *options):
        """Runs the webhook with these additional options inside the context, and without them after it."""
        self.restart_webhook(*options)
        try:
            yield
        finally:
            self.restart_webhook()

    def restart_webhook(self, *options):
        problems = self.webhook.stop()
        self.start_webhook(*options)
        self.configure_webhooks()
        if problems:
            raise AssertionError("; ".join(problems))

    @contextlib.contextmanager
    def without_reconciler(self):
        """Stops the reconciler inside the context. After it, one with the default options runs."""
        self.stop_reconciler()
        try:
            yield
        finally:
            self.start_reconciler()

    @contextlib.contextmanager
    def without_webhook(self):
        """Stops the webhook inside the context, while the API server is still to call it. After it, one with the default options runs."""
        problems = self.webhook.stop()
        try:
            yield
        finally:
            self.start_webhook()
            self.configure_webhooks()
        if problems:
            raise AssertionError("; ".join(problems))

    def restore(self):
        """After the context, a reconciler with the default options runs, and the runtimes are the shipped ones, unchanged."""
        if self.reconciler is None or not self.reconciler.running() or self.reconciler.arguments != self._default_arguments:
            self.restart_reconciler()
        rest = Rest(self._cluster.kubeconfig)
        for runtime in rest.list("clustertrainingruntimes"):
            name = runtime["metadata"]["name"]
            if name not in self._shipped:
                rest.delete("clustertrainingruntimes", name)
            elif runtime["spec"] != self._shipped[name]:
                rest.replace("clustertrainingruntimes", {**runtime, "spec": self._shipped[name]})

    def wait_until_idle(self):
        """Waits until the reconciler leads, has reconciled all jobs, and has been quiet for a second."""
        wait_for("the lease", lambda: self.reconciler.metric("signalbox_leader") == 1)
        def quiet():
            before = self.reconciler.metric("signalbox_reconciles_total")
            time.sleep(1)
            return before and before == self.reconciler.metric("signalbox_reconciles_total")
        wait_for("the reconciler to be idle", quiet, timeout=120)

    def writes(self):
        """Returns the number of POSTs, PATCHes and DELETEs of this reconciler process. They include its events, and the creation of
        its lease; a lease is renewed by PUTs."""
        return sum(self.reconciler.metric("signalbox_api_requests_total", f'verb="{verb}"')
                   for verb in ("POST", "PATCH", "DELETE"))

    def _programs(self):
        return [program for program in (self.reconciler, self.webhook) if program]

    def _kill(self):
        for program in self._programs():
            program.kill()


class Program(Process):
    """A process of Signalbox, its log file, which it shares with its predecessors of that name, and its admin port."""

    logs = set()  # of all programs

    def __init__(self, binary, log, arguments, environment=None):
        self.arguments = [str(argument) for argument in arguments]
        self._offset = pathlib.Path(log).stat().st_size if pathlib.Path(log).exists() else 0
        self.logs.add(pathlib.Path(log))
        super().__init__(pathlib.Path(binary).name, [binary, *self.arguments], log,
                         environment={"ASAN_OPTIONS": "detect_leaks=1:quarantine_size_mb=16", **(environment or {})}, append=True)

    def text(self):
        """Returns the log of this process."""
        with open(self.log, "rb") as file:
            file.seek(self._offset)
            return file.read().decode(errors="replace")

    def port_of(self, what):
        """Returns the port of `what` in the log line "listening"."""
        def look():
            for line in self.text().splitlines():
                if '"listening"' in line:
                    fields = json.loads(line)
                    if fields.get("what") == what:
                        return int(re.search(r":(\d+)$", fields["address"]).group(1))
            if not self.running():
                raise AssertionError(f"{self.name} ended with {self.exit_status()}: {self.text()[-2000:]}")
            return None
        return wait_for(f"{self.name} to listen for {what}", look, interval=0.02)

    def admin(self, path):
        """Returns status and text of an admin endpoint."""
        url = f"http://127.0.0.1:{self.port_of('admin')}{path}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def wait_until_ready(self):
        wait_for(f"{self.name} to be ready", lambda: self.admin("/readyz")[0] == 200, interval=0.05)

    def metric(self, name, having=""):
        """Returns the sum of the series of that name whose labels contain `having`."""
        series = [line for line in self.admin("/metrics")[1].splitlines() if line.startswith((name + "{", name + " "))]
        return sum((float(line.rsplit(" ", 1)[1]) for line in series if having in line), 0.0)

    def leads(self):
        return self.metric("signalbox_leader") == 1

    def state(self):
        """Describes the process, for the message of a failed wait."""
        if not self.running():
            return f"{self.name} ended with {self.exit_status()}"
        try:
            lines = self.admin("/metrics")[1].splitlines()
        except OSError as error:
            return f"{self.name} runs, but has no metrics: {error}"
        return f"{self.name} runs: " + ", ".join(line for line in lines if line.startswith("signalbox_") and "_bucket" not in line)

    def stop(self):
        """Ends it by SIGTERM. Returns the problems of its end."""
        self.ask_to_end()
        if not self.wait(DRAIN_SECONDS):
            self.kill()
            return [f"{self.name} did not end within {DRAIN_SECONDS} s of SIGTERM; log: {self.log}"]
        code = self.exit_status()
        return [] if code == 0 else [f"{self.name} ended with {code}: {self.text()[-3000:]}"]
