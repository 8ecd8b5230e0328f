"""TrainJobs for every runtime of manifests/runtimes, with each gang policy, with initializers and without, and the Pods that JobSet
creates for them."""

import copy
import dataclasses

import yaml

from gangs import GROUPS
from jobs import train_job
from paths import ROOT
from rest import ApiError, wait_for

SHIPPED = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "manifests/runtimes").glob("*.yaml"))
           if path.stem != "kustomization"}


@dataclasses.dataclass(frozen=True)
class Case:
    runtime: str
    policy: str | None  # gang policy of its PodGroup
    initializes: bool   # the TrainJob has initializers, and torchtune chooses the recipe

    @property
    def namespace(self):
        return self.policy or "alone"

    @property
    def job(self):
        """Returns a job with the same name in each namespace, so that the Pods can be compared."""
        name = self.runtime.removesuffix("-distributed").replace(".", "-")
        return name + ("-own" if self.initializes else "")

    def __str__(self):
        return f"{self.runtime}-{self.namespace}" + ("-initializers" if self.initializes else "")


def replicated_jobs(runtime):
    return [job["name"] for job in SHIPPED[runtime]["spec"]["template"]["spec"]["replicatedJobs"]]


CASES = [Case(name, policy, initializes) for name in SHIPPED for policy in (None, *GROUPS)
         for initializes in ((False, True) if "dataset-initializer" in replicated_jobs(name) else (False,))]

# Variables of a user, of every kind of source; after it, their values in the program.
USERS = [
    {"name": "MODE", "value": "fast"},
    {"name": "EARLY", "value": "$(MODE) $(LATE) $$(MODE)"},
    {"name": "LATE", "value": ""},
    {"name": "EPOCHS", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "epochs"}}},
    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "account", "key": "HF_TOKEN"}}},
    {"name": "MISSING", "valueFrom": {"secretKeyRef": {"name": "absent", "key": "key", "optional": True}}},
    {"name": "CORES", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "JOB", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}}},
]


def users(pod, job):
    return {"MODE": "fast", "EARLY": "fast $(LATE) $(MODE)", "LATE": "", "EPOCHS": "3", "TOKEN": "s3cret", "CORES": "2",
            "POD": pod["metadata"]["name"], "JOB": job}


def submitted(case):
    """Returns a job with two nodes if the runtime allows several, and two processes on each by their CPUs."""
    one_node = "dataset-initializer" in replicated_jobs(case.runtime)
    trainer = {"image": "registry.example.com/team/train:1.0", "env": USERS, "resourcesPerNode": {"limits": {"cpu": "1500m"}}}
    if case.initializes:
        trainer |= {"command": ["tune", "run"], "args": ["model.lora_attn_modules=[q_proj,v_proj]", "epochs=1"]}
    elif not one_node:
        trainer |= {"command": ["torchrun", "train.py"] if case.runtime.startswith("torch") else ["python", "train.py"],
                    "numNodes": 2}
    kind = "TrainingRuntime" if case.policy else "ClusterTrainingRuntime"
    job = train_job(case.job, case.runtime, kind, namespace=case.namespace, trainer=trainer)
    if case.initializes:
        account = {"secretRef": {"name": "account"}}
        job["spec"]["initializer"] = {
            "dataset": {"storageUri": "hf://team/questions", "env": [{"name": "SPLIT", "value": "train"}], **account},
            "model": {"storageUri": "hf://team/base", **account}}
    if "launcher" in replicated_jobs(case.runtime):
        # The nodes would end when the launcher ends.
        job["spec"]["runtimePatches"] = [{"manager": "signalbox.test/nodes", "trainingRuntimeSpec": {"template": {"spec": {
            "replicatedJobs": [{"name": name, "template": {"spec": {"template": {"metadata": {"labels": {
                "signalbox.test/run-seconds": "never"}}}}}} for name in ("node", "launcher")]}}}}]
    return job


def submit_all(admin):
    """Creates all TrainJobs at once. Returns {case: {replicated job: its Pods in order}}."""
    for namespace in ("alone", *GROUPS):
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": namespace},
                      "data": {"epochs": "3"}})
        admin.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "account", "namespace": namespace},
                      "stringData": {"HF_TOKEN": "s3cret"}})
    for case in CASES:
        if case.policy and not case.initializes:
            local = copy.deepcopy(SHIPPED[case.runtime])
            local |= {"kind": "TrainingRuntime", "metadata": {**local["metadata"], "namespace": case.namespace}}
            local["spec"]["podGroupPolicy"] = {case.policy: {}}
            admin.create(local)
    # Volumes that a default StorageClass would provide.
    for _ in range(sum("dataset-initializer" in replicated_jobs(case.runtime) for case in CASES)):
        admin.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"generateName": "disk-"}, "spec": {
            "capacity": {"storage": "1Ti"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"}}})
    for case in CASES:
        wait_for("the API server to know the namespace", lambda: taken(admin, submitted(case)), timeout=10)
    return {case: wait_for(f"the Pods of {case}", lambda: all_pods(admin, case), timeout=90) for case in CASES}


def taken(rest, job):
    try:
        return rest.create(job)
    except ApiError as error:
        if "denied" in str(error):
            raise
        return None  # the API server does not know the new namespace yet


def all_pods(rest, case):
    found = {name: [] for name in replicated_jobs(case.runtime)}
    for pod in rest.list("pods", case.namespace, selector=f"jobset.sigs.k8s.io/jobset-name={case.job}"):
        if "nodeName" in pod["spec"]:
            found[pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"]].append(pod)
    for several in found.values():
        several.sort(key=lambda pod: int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))
    return found if {name: len(several) for name, several in found.items()} == expected_pods(case) else None


def expected_pods(case):
    if "launcher" in replicated_jobs(case.runtime):
        return {"node": 1, "launcher": 1}  # the launcher is one of the two nodes
    return {name: 2 if replicated_jobs(case.runtime) == ["node"] else 1 for name in replicated_jobs(case.runtime)}


def container(pod, name="node"):
    return next(each for each in pod["spec"]["containers"] if each["name"] == name)


def address(pod):
    return f"{pod['spec']['hostname']}.{pod['spec']['subdomain']}"
