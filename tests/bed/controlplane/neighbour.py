"""A controller of another project beside Signalbox: installed from its own kustomization, run as a process on loopback."""

import base64
import contextlib
import json
import urllib.error
import urllib.request

import yaml

from .ports import free_ports
from .processes import Process, stop

# Kinds that are left out: the controller is a process and not a Pod, and no Service of this control plane has an address.
_LEFT_OUT = {"Deployment", "Service", "APIService", "ConfigMap", "Secret"}
_WEBHOOKS = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}


def call_process(holder, url, ca_file):
    """Makes the `clientConfig` of a webhook or a conversion name a process at `url` instead of a Service."""
    holder["clientConfig"] = {"url": url + holder["clientConfig"]["service"]["path"],
                              "caBundle": base64.b64encode(ca_file.read_bytes()).decode()}


class Neighbour:
    """One controller on one control plane. It can be stopped and started again. It ends with the control plane at the latest.

    program: its file. kustomization: a directory, whose objects are created, except those that only a Pod needs.
    """

    def __init__(self, plane, program, kustomization, namespace, account):
        self._plane = plane
        self._program = program
        self._kustomization = kustomization
        self._namespace = namespace
        self._account = account
        self._process = None
        self.directory = plane.directory / program.name
        self.webhook_port, self.health_port = free_ports(2)

    def arguments(self):
        """Returns the arguments of the program."""
        raise NotImplementedError

    def command(self):
        """Returns what is run."""
        return [self._program, *self.arguments()]

    def certificate_authority(self):
        """Returns the CA of the webhooks' certificate."""
        return self._plane.ca_file

    def adapt(self, obj):
        """Changes an object of the kustomization for this control plane. Returns None to leave it out."""
        return obj

    def install(self):
        """Creates its objects: first those that others need, in the kustomization's order."""
        self.directory.mkdir(exist_ok=True)
        rendered = self._plane.kubectl("kustomize", self._kustomization)
        objects = [self._pointed(obj) for obj in yaml.load_all(rendered, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
                   if obj["kind"] not in _LEFT_OUT]
        self._create([obj for obj in map(self.adapt, objects) if obj])
        self._plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", "customresourcedefinition", "--all")

    def _create(self, objects):
        self._plane.kubectl("create", "--validate=false", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def _pointed(self, obj):
        """Points an object's webhooks at this process."""
        url = f"https://127.0.0.1:{self.webhook_port}"
        if obj["kind"] in _WEBHOOKS:
            for hook in obj["webhooks"]:
                call_process(hook, url, self.certificate_authority())
        elif obj["kind"] == "CustomResourceDefinition" and "webhook" in obj["spec"].get("conversion", {}):
            call_process(obj["spec"]["conversion"]["webhook"], url, self.certificate_authority())
        return obj

    def start(self):
        """Returns the process when it is ready."""
        process = self.launch()
        self._plane.wait(f"{self._program.name} to be ready", self._ready)
        return process

    def launch(self):
        """Returns the process as soon as it runs."""
        if not self._process:
            kubeconfig = self._plane.service_account_kubeconfig(self._namespace, self._account)
            self._process = Process(self._program.name, self.command(), self._plane.directory / f"{self._program.name}.log",
                                    # TMPDIR: the program's default directory for its files.
                                    {"KUBECONFIG": str(kubeconfig), "TMPDIR": str(self.directory)})
            self._plane.adopt(self._process)
        else:
            self._process.start()
        return self._process

    def stop(self):
        stop([self._process])

    @contextlib.contextmanager
    def away(self):
        """Stops the controller inside the context and starts it again after it, as if its node failed and it moved to another one."""
        self._process.kill()
        try:
            yield
        finally:
            self.start()

    def _ready(self):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.health_port}/readyz", timeout=5).close()
        except (urllib.error.URLError, OSError):
            return False
        return True
