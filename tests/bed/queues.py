"""Queues of Kueue for tests, and the states of the jobs in them."""

import concurrent.futures
import contextlib
import http.client
import json
import socket
import threading
import uuid

import rest as client
from controlplane.kueue import LABEL
from jobs import ANCESTOR, runtime, train_job
from progress import uid
from rest import ApiError, Rest, conditions, true_conditions

KUEUE_API = "kueue.x-k8s.io/v1beta2"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
MANAGER = "kueue.x-k8s.io/manager"
HOST = "kubernetes.io/hostname"
URGENT = "urgent"  # the name of a WorkloadPriorityClass


def wait_for(what, probe, timeout=90, interval=0.1):
    """Calls rest.wait_for() with more patience: a dozen stories at a time share two cores with other tests."""
    return client.wait_for(what, probe, timeout, interval)


def flavor(name, node=None, tolerations=(), topology=None, **quota):
    """Returns a ResourceFlavor of the nodes with this name, or of all, and its quota."""
    spec = {"nodeLabels": {HOST: node} if node else {"kubernetes.io/os": "linux"}, "tolerations": list(tolerations),
            **({"topologyName": topology} if topology else {})}
    return {"name": name, "spec": spec, "quota": quota or {"cpu": "1"}}


class Queue:
    """A namespace with the LocalQueue "team". Its ClusterQueue has these flavors, in this order, and shares no quota with others.

    rest: a client for the namespace. preempts: an urgent job preempts another one. checks: AdmissionChecks that a job has to pass.
    name: the namespace's, which is the ClusterQueue's too; by default a new one.
    """

    def __init__(self, admin, kubeconfig, *flavors, preempts=True, held=False, checks=(), name=None):
        self._admin = admin
        namespace = admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            **({"name": name} if name else {"generateName": "queue-"}), "labels": LABEL}})
        self.name = namespace["metadata"]["name"]
        self.rest = Rest(kubeconfig, self.name)
        self.seen = Seen(self.rest)
        self._flavors = [self._flavor(each) for each in flavors]
        self._create("ClusterQueue", self.name, {
            "namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority" if preempts else "Never"},
            "resourceGroups": [{"coveredResources": list(flavors[0]["quota"]), "flavors": [
                {"name": name, "resources": [{"name": resource, "nominalQuota": amount} for resource, amount in each["quota"].items()]}
                for name, each in zip(self._flavors, flavors)]}],
            **({"admissionChecksStrategy": {"admissionChecks": [{"name": check} for check in checks]}} if checks else {}),
            "stopPolicy": "Hold" if held else "None"})
        self._create("LocalQueue", "team", {"clusterQueue": self.name}, namespace=self.name)
        wait_for("the service account that Pods need", lambda: self.rest.get("serviceaccounts", "default"), interval=0.02)
        if not held:
            wait_for("the queue to be active", lambda: "Active" in true_conditions(self.rest.get("localqueues", "team")))

    def close(self):
        """Deletes the namespace. Its objects go in the background, while the next test runs."""
        self.seen.close()
        self._admin.delete("namespaces", self.name)
        self._admin.delete("clusterqueues", self.name)
        for name in self._flavors:
            self._admin.delete("resourceflavors", name)

    def _flavor(self, each):
        name = f"{self.name}-{each['name']}"
        self._create("ResourceFlavor", name, each["spec"])
        return name

    def _create(self, kind, name, spec, **metadata):
        self._admin.create({"apiVersion": KUEUE_API, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec})

    def submit(self, name, runtime_name="plain-test", urgent=False, cpu="1", **settings):
        """Submits a TrainJob to this queue (jobs.train_job) whose nodes request `cpu` CPUs each."""
        job = train_job(name, runtime_name, **{"kind": "TrainingRuntime", **settings})
        job["metadata"]["labels"] |= {QUEUE_LABEL: "team", **({PRIORITY_LABEL: URGENT} if urgent else {})}
        if cpu:
            job["spec"]["trainer"].setdefault("resourcesPerNode", {"requests": {"cpu": cpu}})

        def create():
            try:
                return self.rest.create(job)
            except ApiError as error:
                if "not found" not in str(error):
                    raise
                return None
        return wait_for("the runtime in Kueue's cache", create)

    def answer(self, method, resource, obj, dry_run=False):
        """Sends a request about the object. Returns (HTTP status, message, warnings about Kueue)."""
        code, message, warnings = self.rest.answer(method, resource, obj, dry_run)
        return code, message, [line for line in warnings if "Kueue" in line]

    def workload(self, name):
        """Returns the Workload of a TrainJob, or None."""
        found = [each for each in self.rest.list("workloads") if not each["metadata"].get("deletionTimestamp")
                 and each["metadata"].get("ownerReferences", [{}])[0].get("name") == name]
        assert len(found) < 2, f"{name} has {len(found)} Workloads"
        return found[0] if found else None

    def reserved(self):
        """Returns {resource: amount} of the quota that is reserved."""
        status = self._admin.get("clusterqueues", self.name).get("status", {})
        return {each["name"]: each["total"] for of_flavor in status.get("flavorsReservation", []) for each in of_flavor["resources"]}

    def until_workload(self, name, kind):
        """Returns the Workload, once its condition `kind` is True."""
        def look():
            found = self.workload(name)
            return found if kind in true_conditions(found) else None
        return wait_for(f"the Workload of {name} to be {kind}", look, interval=0.05)

    def until_runs(self, name):
        """Returns the Pods of its trainer, once all of them run."""
        def look():
            job = self.rest.get("trainjobs", name)
            running = [pod for pod in self.pods(name) if pod["status"].get("phase") == "Running"]
            return running if job and len(running) == job["spec"]["trainer"].get("numNodes", 1) else None
        return wait_for(f"running Pods of {name}", look)

    def finish(self, name, replicated_job="node"):
        """Ends its Pods, which would run for ever."""
        def end():
            found = self.pods(name, replicated_job)
            # The bed's nodes would set a Pod that is not running yet to Running afterwards.
            if any(pod["status"]["phase"] == "Pending" for pod in found):
                return None
            for pod in found:
                self.rest.patch("pods", pod["metadata"]["name"], {"status": {"phase": "Succeeded"}}, subresource="status")
            return found
        wait_for(f"Pods of {name} that can end", end)

    def pods(self, name, replicated_job="node"):
        """Returns the Pods that are not being deleted."""
        return [pod for pod in self.rest.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name},"
                                                               f"jobset.sigs.k8s.io/replicatedjob-name={replicated_job}")
                if "deletionTimestamp" not in pod["metadata"]]

    def until_ends(self, name, kind="Complete"):
        """Returns the TrainJob, once its condition `kind` is True and its Workload reports the end, too."""
        def look():
            job = self.rest.get("trainjobs", name)
            ended = {"Complete", "Failed"} & set(true_conditions(job))
            return (ended, job) if ended else None
        ended, job = wait_for(f"{name} to be {kind}", look)
        assert ended == {kind}, true_conditions(job)
        finished = conditions(self.until_workload(name, "Finished"))["Finished"]
        assert finished["reason"] == {"Complete": "Succeeded", "Failed": "Failed"}[kind]
        assert finished["message"] == conditions(job)[kind]["message"]
        return job

    def until_held(self, name):
        """Returns the TrainJob once it waits: suspended, without Pods that have not ended, its Workload without quota."""
        def look():
            job = self.rest.get("trainjobs", name)
            return (job["spec"].get("suspend") and "Suspended" in true_conditions(job) and self.workload(name)
                    and "QuotaReserved" not in true_conditions(self.workload(name)) and not [
                        pod for pod in self.rest.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name}")
                        if pod["status"].get("phase") not in ("Succeeded", "Failed")])
        return wait_for(f"{name} to wait", look)

    def initialized_runtime(self, claims=False):
        """Returns a runtime that fetches a dataset, until finish(), before it trains; claims: onto a volume with the life of the JobSet."""
        made = runtime(kind="TrainingRuntime")
        spec = made["spec"]["template"]["spec"]
        trainer = spec["replicatedJobs"][0]
        trainer["dependsOn"] = [{"name": "dataset-initializer", "status": "Complete"}]
        container = {"name": "dataset-initializer", "image": "registry.example.com/fetch:1", "resources": {"requests": {"cpu": "1"}}}
        spec["replicatedJobs"].insert(0, {"name": "dataset-initializer", "template": {
            "metadata": {"labels": {ANCESTOR: "dataset-initializer"}},
            "spec": {"backoffLimit": 0, "template": {"metadata": {"labels": {"signalbox.test/run-seconds": "never"}},
                                                     "spec": {"containers": [container]}}}}})
        if claims:
            size = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"], "storageClassName": ""}
            spec["volumeClaimPolicies"] = [{"templates": [{"metadata": {"name": "data"}, "spec": size}]}]
            for job in spec["replicatedJobs"]:
                job["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        return self.rest.create(made)

    @contextlib.contextmanager
    def disk(self, claim):
        """Creates a volume for the first claim of this name."""
        name = f"disk-{uuid.uuid4().hex[:8]}"
        self._admin.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/disk"},
            "claimRef": {"namespace": self.name, "name": claim}}})
        yield
        self._admin.delete("persistentvolumes", name)


class Seen:
    """Records the states of a namespace's TrainJobs and JobSets from its construction on."""

    def __init__(self, rest):
        self._not_created = {}  # TrainJob: reason and message of its Created=False
        self._job_sets = {}     # name: the uids of all JobSets of that name
        self._train_jobs = set()
        self._connections = [self._watch(rest, "trainjobs", self._train_job), self._watch(rest, "jobsets", self._job_set)]

    def _watch(self, rest, resource, see):
        connection = rest.connection()
        connection.timeout = None
        connection.request("GET", rest.path(resource) + "?watch=1&timeoutSeconds=600")
        response = connection.getresponse()

        def read():
            with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
                for line in response:
                    see(json.loads(line)["object"])
        threading.Thread(target=read, daemon=True).start()
        return connection

    def not_created(self, *names):
        """Returns {TrainJob: reason and message of its Created=False}. The watch must have seen all of `names`."""
        assert set(names) <= self._train_jobs, f"the watch has seen only {self._train_jobs}"
        return {name: said for name, said in self._not_created.items() if name in names}

    def job_sets(self, *names):
        """Returns {name: the uids of all JobSets of that name}. The watch must have seen each of `names`."""
        assert set(names) <= set(self._job_sets), f"the watch has seen only {set(self._job_sets)}"
        return {name: self._job_sets[name] for name in names}

    def _train_job(self, job):
        self._train_jobs.add(job["metadata"]["name"])
        created = conditions(job).get("Created", {})
        if created.get("status") == "False":
            self._not_created[job["metadata"]["name"]] = f"{created['reason']}: {created['message']}"

    def _job_set(self, job_set):
        self._job_sets.setdefault(job_set["metadata"]["name"], set()).add(uid(job_set))

    def close(self):
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)


class SideBySide:
    """Runs slow tests at the same time: calls tell(value) for each value of that parameter with which tests of the requesting file run.
    result(value) waits until that call ends, and raises its exception. A context manager, within which the calls run."""

    def __init__(self, request, parameter, tell):
        values = dict.fromkeys(item.callspec.params[parameter] for item in request.session.items
                               if item.path == request.path and parameter in getattr(getattr(item, "callspec", None), "params", ()))
        self._tell, self._values, self._results = tell, values, {}
        self._within = contextlib.ExitStack()

    def result(self, value):
        return self._results[value].result()

    def __enter__(self):
        self._within.enter_context(client.more_patience())
        pool = self._within.enter_context(concurrent.futures.ThreadPoolExecutor(len(self._values)))
        self._results = {value: pool.submit(self._tell, value) for value in self._values}
        return self

    def __exit__(self, *_):
        self._within.close()
