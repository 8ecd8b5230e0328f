"""Room for gangs on the test bed's nodes: an extended resource for each story, so that stories share a cluster and not its room."""

import collections
import contextlib
import os
import pathlib
import subprocess

import rest as client
import yaml

from controlplane import ControlPlane
from jobs import ANCESTOR, runtime, train_job
from paths import ROOT
from rest import Rest, conditions, true_conditions

JOB_SET = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"


def wait_for(what, probe, timeout=90, interval=0.1):
    """Calls rest.wait_for() with more patience: a dozen stories at a time share two cores with other tests."""
    return client.wait_for(what, probe, timeout, interval)


def template_of(made, job="node"):
    """Returns the Pod template of a job of a runtime."""
    (found,) = [each for each in made["spec"]["template"]["spec"]["replicatedJobs"] if each["name"] == job]
    return found["template"]["spec"]["template"]


@contextlib.contextmanager
def plane_with(scheduler, session, nodes=4):
    """A control plane with a gang scheduler beside the default one. scheduler: its class. Logs are kept if a test of the session fails."""
    with ControlPlane(nodes) as control_plane:
        started = scheduler(control_plane)
        started.install()
        started.start()
        yield control_plane
        control_plane.keep_logs = session.testsfailed > 0


class Room:
    """A namespace, and nodes with places for its Pods: {node: number of places}. Each Pod of a gang takes `places` of one node.

    rest: a client for the namespace. policy: the podGroupPolicy of gangs with a timeout. of_pods: what their Pods have for the scheduler.
    """

    def __init__(self, admin, cluster, places, policy, **of_pods):
        self._admin = admin
        self._cluster = cluster
        self.name = admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "room-"}})["metadata"]["name"]
        self.rest = Rest(cluster.kubeconfig, self.name)
        self.resource = f"example.com/{self.name}"
        self._policy = policy
        self._of_pods = of_pods
        for node, number in places.items():
            self.resize(node, number)
        wait_for("the service account that Pods need", lambda: self.rest.get("serviceaccounts", "default"), interval=0.02)

    def resize(self, node, places):
        """Changes the number of a node's places."""
        amounts = {self.resource: str(places)}
        self._admin.patch("nodes", node, {"status": {"capacity": amounts, "allocatable": amounts}}, subresource="status")

    def close(self):
        """Deletes the namespace. Its objects go in the background."""
        self._admin.delete("namespaces", self.name)

    def runtime(self, name="gang", places=1, timeout=60, of_gang=None, **spec):
        """Returns a runtime whose nodes are a gang. of_gang: further settings of its policy."""
        policy = self._policy(timeout)
        for settings in policy.values():
            settings |= of_gang or {}
        made = runtime(name, "TrainingRuntime", podGroupPolicy=policy, **spec)
        self.furnish(template_of(made), places)
        return made

    def initialized_runtime(self):
        """Returns a runtime whose gang starts when an initializer, which takes a place, too, has ended."""
        made = self.runtime()
        first = {"name": "dataset-initializer", "template": {
            "metadata": {"labels": {ANCESTOR: "dataset-initializer"}},
            "spec": {"template": {"spec": {"containers": [{"name": "dataset-initializer", "image": "registry.example.com/fetch:1"}]}}}}}
        self.furnish(first["template"]["spec"]["template"])
        jobs = made["spec"]["template"]["spec"]["replicatedJobs"]
        jobs[0]["dependsOn"] = [{"name": "dataset-initializer", "status": "Complete"}]
        jobs.insert(0, first)
        return made

    def launched_runtime(self):
        """Returns the shipped runtime of DeepSpeed as a gang. Its launcher waits until the nodes are ready, and these never end."""
        made = yaml.safe_load((ROOT / "manifests" / "runtimes" / "deepspeed-distributed.yaml").read_text())
        made |= {"kind": "TrainingRuntime", "metadata": {"name": "gang"}}
        made["spec"]["podGroupPolicy"] = self._policy(60)
        for job in ("node", "launcher"):
            self.furnish(template_of(made, job))
        template_of(made)["metadata"] = {"labels": {"signalbox.test/run-seconds": "never"}}
        return made

    def furnish(self, template, places=1):
        """Makes the Pods of a template take places, and wait for the scheduler of gangs."""
        amounts = {self.resource: str(places)}
        template["spec"] |= self._of_pods
        template["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}

    def submit(self, name, nodes=2, runtime_name="gang", **settings):
        return self.rest.create(train_job(name, runtime_name, "TrainingRuntime", nodes=nodes, **settings))

    def begin(self, first, second):
        """Lets one of two gangs run, which never ends by itself, and submits the other."""
        self.rest.create(self.runtime())
        self.submit(first, seconds="never")
        self.until_runs(first)
        self.submit(second, seconds="never")

    def complete(self, *names, **settings):
        """Submits all gangs at once, and returns when all of them are Complete."""
        for name in names:
            self.submit(name, **settings)
        for name in names:
            self.until_ends(name)

    def pods(self, name, job="node"):
        """Returns the Pods that are not being deleted."""
        return [pod for pod in self.rest.list("pods", selector=f"{JOB_SET}={name},{REPLICATED_JOB}={job}")
                if "deletionTimestamp" not in pod["metadata"]]

    def placed(self, name, job="node"):
        """Returns the number of Pods that have a node."""
        return sum("nodeName" in pod["spec"] for pod in self.pods(name, job))

    def running(self):
        """Returns the numbers of running nodes by TrainJob."""
        return collections.Counter(pod["metadata"]["labels"][JOB_SET] for pod in self.rest.list("pods", selector=f"{REPLICATED_JOB}=node")
                                   if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"])

    def until_runs(self, name, nodes=2, job="node"):
        """Returns the Pods of a gang, once all of them run."""
        def look():
            running = [pod for pod in self.pods(name, job) if pod["status"].get("phase") == "Running"]
            return running if len(running) == nodes else None
        return wait_for(f"{nodes} running Pods of {name}", look)

    def until_refused(self, name, text, nodes=2):
        """Returns the Pods, once the scheduler has said this text of one of them. None of them has a node."""
        def look():
            found = self.pods(name)
            said = [conditions(pod).get("PodScheduled", {}).get("message", "") for pod in found]
            return found if len(found) == nodes and any(text in each for each in said) else None
        found = wait_for(f"{name} to be refused: {text}", look)
        assert not [pod["spec"]["nodeName"] for pod in found if "nodeName" in pod["spec"]]
        return found

    def gang(self, name):
        """Returns the spec of a TrainJob's PodGroup."""
        return self.rest.get("podgroups", name)["spec"]

    def finish(self, name, job="node"):
        """Ends its Pods, which would run for ever."""
        for pod in self.pods(name, job):
            self.end(pod["metadata"]["name"], "Succeeded")

    def end(self, pod, phase):
        """Ends a running Pod, as its node would."""
        self.rest.patch("pods", pod, {"status": {"phase": phase}}, subresource="status")

    def explain(self, name):
        """Returns what `kubectl trainjob explain` says."""
        return self._plugin("explain", name)

    def listed(self):
        """Returns the rows of `kubectl trainjob list -o wide` by name."""
        return {line.split()[0]: line for line in self._plugin("list", "-o", "wide").splitlines()}

    def _plugin(self, command, *arguments):
        program = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"
        return subprocess.run([program, command, "-n", self.name, *arguments], check=True, capture_output=True, text=True,
                              env={**os.environ, "KUBECONFIG": str(self._cluster.kubeconfig)}).stdout

    def until_ends(self, name, kind="Complete"):
        """Returns the TrainJob, once its condition `kind` is True."""
        def look():
            job = self.rest.get("trainjobs", name)
            ended = {"Complete", "Failed"} & set(true_conditions(job))
            return (ended, job) if ended else None
        ended, job = wait_for(f"{name} to be {kind}", look)
        assert ended == {kind}, true_conditions(job)
        return job
