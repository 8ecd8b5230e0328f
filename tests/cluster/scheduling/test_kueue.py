"""What Kueue does with a TrainJob, played by this script on the real control plane: it holds the job back, counts its pods,
admits it onto a flavor of nodes, evicts it, admits it again onto another flavor, and sees it finish."""

import pytest

from jobs import ANCESTOR, runtime, train_job
from rest import ApiError, conditions, true_conditions, wait_for

MANAGER = "kueue.x-k8s.io/manager"
GATE = "signalbox.test/topology"
RESOURCES = {"limits": {"cpu": "2", "nvidia.com/gpu": "4"}}


def blueprint():
    """Two replicated jobs of several pods each, the trainer's second."""
    made = runtime("queued", ml_policy={"numNodes": 1, "torch": {}})
    jobs = made["spec"]["template"]["spec"]["replicatedJobs"]
    container = {"name": "warm", "image": "registry.example.com/warm:1", "resources": {"requests": {"cpu": "500m"}}}
    jobs.insert(0, {"name": "warm-up", "replicas": 2, "template": {"spec": {
        "parallelism": 2, "completions": 4, "template": {"spec": {"containers": [container]}}}}})
    return made


def pod_sets_of(replicated_jobs):
    """As Kueue counts them: a name, how many pods, and what each container takes."""
    sets = []
    for job in replicated_jobs:
        spec = job["template"]["spec"]
        pods = min(spec.get("parallelism", 1), spec.get("completions", spec.get("parallelism", 1)))
        resources = {c["name"]: c.get("resources", {}) for c in spec["template"]["spec"]["containers"]}
        sets.append((job["name"], job.get("replicas", 1) * pods, resources))
    return sets


class Kueue:
    """Of one TrainJob."""

    def __init__(self, rest, name):
        self._rest, self._name = rest, name

    def hold(self, job):
        """What its webhook does to a job with a queue, as it is created."""
        job["metadata"].setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = "team"
        job["spec"]["suspend"] = True
        job["spec"].setdefault("runtimePatches", []).append({"manager": MANAGER})
        return job

    def pod_sets(self):
        """From the live runtime and the TrainJob alone."""
        job = self.job()
        live = self._rest.get("clustertrainingruntimes", job["spec"]["runtimeRef"]["name"])
        replicated = live["spec"]["template"]["spec"]["replicatedJobs"]
        for entry in replicated:
            if entry["template"].get("metadata", {}).get("labels", {}).get(ANCESTOR) == "trainer":
                trainer = job["spec"]["trainer"]
                spec = entry["template"]["spec"]
                spec["parallelism"] = spec["completions"] = trainer["numNodes"]
                spec["template"]["spec"]["containers"][0]["resources"] = trainer["resourcesPerNode"]
        return pod_sets_of(replicated)

    def admit(self, flavor):
        """Fills its patch, and then resumes the job: two requests, as Kueue 0.19.2 has it."""
        pod = {"metadata": {"labels": {"signalbox.test/flavor": flavor, f"signalbox.test/only-{flavor}": "yes"},
                            "annotations": {f"signalbox.test/note-{flavor}": "yes"}},
               "spec": {"nodeSelector": {"kubernetes.io/hostname": flavor},
                        "tolerations": [{"key": "flavor", "operator": "Equal", "value": flavor, "effect": "NoSchedule"}],
                        "schedulingGates": [{"name": GATE}]}}
        jobs = [{"name": name, "template": {"spec": {"template": pod}}} for name, _, _ in self.pod_sets()]
        self._patch({"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}, suspend=True)
        self._update(lambda spec: spec.update(suspend=False))

    def evict(self):
        """Suspends the job; once nothing of it is active any more, empties the patch."""
        self._update(lambda spec: spec.update(suspend=True))
        wait_for("no active pods", lambda: "Suspended" in true_conditions(self.job()) and all(
            entry["active"] == 0 for entry in self.jobs_status()))
        self._patch({}, suspend=True)

    def pods_ready(self):
        wanted = sum(entry.get("replicas", 1) for entry in self.job_set()["spec"]["replicatedJobs"])
        return sum(entry["ready"] + entry["succeeded"] for entry in self.jobs_status()) == wanted

    def finished(self):
        return {"Complete", "Failed"} & set(true_conditions(self.job()))

    def _patch(self, content, suspend):
        def change(spec):
            kept = [patch for patch in spec["runtimePatches"] if patch["manager"] != MANAGER]
            spec.update(suspend=suspend, runtimePatches=[*kept, {"manager": MANAGER, **content}])
        self._update(change)

    def _update(self, change):
        """As it was read, or not at all: it tries again."""
        def write():
            job = self.job()
            change(job["spec"])
            try:
                return self._rest.replace("trainjobs", job)
            except ApiError as error:
                if error.code != 409:
                    raise
                return None
        wait_for("a TrainJob that stays as it is for a moment", write)

    def job(self):
        return self._rest.get("trainjobs", self._name)

    def jobs_status(self):
        return self.job().get("status", {}).get("jobsStatus", [])

    def job_set(self):
        return self._rest.get("jobsets", self._name)


@pytest.fixture
def kueue(signalbox, rest):
    rest.create(blueprint())
    script = Kueue(rest, "queued")
    job = train_job("queued", "queued", nodes=3, seconds=5)
    job["spec"]["trainer"]["resourcesPerNode"] = RESOURCES
    rest.create(script.hold(job))
    wait_for("counts of the suspended job", lambda: script.jobs_status() and all(
        entry["active"] == 0 and entry["suspended"] > 0 for entry in script.jobs_status()))
    return script


def pods(rest):
    return [pod for pod in rest.list("pods", selector="jobset.sigs.k8s.io/jobset-name=queued")
            if "deletionTimestamp" not in pod["metadata"]]


def open_gates(rest):
    """As Kueue's topology ungater. Returns whether there is nothing left to open."""
    held = [pod for pod in pods(rest) if pod["spec"].get("schedulingGates")]
    for pod in held:
        rest.patch("pods", pod["metadata"]["name"], {"spec": {"schedulingGates": None}})
    return not held


def flavored(pod, flavor):
    """Whether the pod has all of this flavor."""
    meta, spec = pod["metadata"], pod["spec"]
    return (meta["labels"].get("signalbox.test/flavor") == flavor and meta["annotations"].get(f"signalbox.test/note-{flavor}")
            and spec["nodeSelector"] == {"kubernetes.io/hostname": flavor}
            and flavor in [toleration.get("value") for toleration in spec["tolerations"]])


def until_runs(kueue, rest, flavor, count):
    wait_for(f"{count} pods of {flavor}", lambda: len(pods(rest)) == count and all(flavored(p, flavor) for p in pods(rest)))
    wait_for("open gates", lambda: open_gates(rest) and len(pods(rest)) == count)
    wait_for("PodsReady", kueue.pods_ready)
    assert all(pod["spec"]["nodeName"] == flavor for pod in pods(rest))


def is_rid_of(job_set, flavor):
    """Whether it is there, suspended, and speaks of that flavor no more."""
    return job_set and job_set["spec"]["suspend"] and flavor not in str(job_set["spec"])


def test_a_job_is_held_admitted_evicted_admitted_elsewhere_and_finished(kueue, rest):
    # What Kueue reserves quota for is what is built.
    assert kueue.pod_sets() == pod_sets_of(kueue.job_set()["spec"]["replicatedJobs"])
    assert [count for _, count, _ in kueue.pod_sets()] == [4, 3]
    count = 7

    kueue.admit("node-1")
    until_runs(kueue, rest, "node-1", count)

    kueue.evict()
    wait_for("the pods to go", lambda: not pods(rest))
    wait_for("a suspended JobSet without that flavor", lambda: is_rid_of(kueue.job_set(), "node-1"))
    assert not kueue.finished()

    kueue.admit("node-2")
    until_runs(kueue, rest, "node-2", count)
    for pod in pods(rest):
        assert "node-1" not in str(pod["metadata"]["labels"]) + str(pod["metadata"]["annotations"]) + str(pod["spec"])
    wait_for("the end", kueue.finished)
    assert {"Complete", "Created"} == set(true_conditions(kueue.job()))
    assert conditions(kueue.job())["Suspended"]["reason"] == "Resumed"


def test_a_job_for_another_cluster_is_not_touched(signalbox, rest):
    rest.create(blueprint())
    held = Kueue(rest, "remote").hold(train_job("remote", "queued", managedBy="kueue.x-k8s.io/multikueue"))
    rest.create(held)
    version = rest.get("trainjobs", "remote")["metadata"]["resourceVersion"]
    signalbox.restart_reconciler()
    signalbox.wait_until_idle()
    assert rest.get("trainjobs", "remote")["metadata"]["resourceVersion"] == version
    assert rest.get("jobsets", "remote") is None
