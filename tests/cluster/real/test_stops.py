"""Stops that lose nothing: jobs that run the programs of docs/checkpoints.md are suspended side by side. Each has 60 seconds of grace, and needs
20 for a checkpoint in a claim of its own. There is no story about Flux, which the training image lacks."""

import contextlib
import copy
import dataclasses
import datetime
import http.client
import json
import re
import subprocess
import threading
import time
import urllib.parse

import pytest

import checkpoints
from node.training import adapted, pod_specs, train_job
from rest import true_conditions, wait_for

SECONDS = 240
GRACE = 60
SAVES_FOR = 20


@dataclasses.dataclass
class Story:
    runtime: str
    command: list
    nodes: int = 1
    trainer: dict = dataclasses.field(default_factory=dict)
    ranks: int = 1
    parts: int = 1  # of a checkpoint, each written by another rank
    codes: dict = dataclasses.field(default_factory=lambda: {"node": 143})  # exit codes by replicated job


def slowly(program):
    return ["python3", "/workspace/slowly.py", f"/workspace/{program}"]


EXEC = ["sh", "-c", "cd /workspace && exec python3 slowly.py train.py"]
STORIES = {
    "by-exec": Story("plain", EXEC),
    "by-torchrun": Story("torch-distributed", ["torchrun", *slowly("train_torch.py")[1:]], 2, {"numProcPerNode": 2}, ranks=4, codes={"node": 1}),
    "by-mpirun": Story("deepspeed-distributed", ["mpirun", *slowly("train_mpi.py")], 2, {"numProcPerNode": 2}, ranks=4, parts=4,
                       codes={"launcher": 143}),
    "by-jax": Story("jax-distributed", slowly("train_jax.py"), 2, ranks=2),
    "by-xgboost": Story("xgboost-distributed", slowly("train_xgboost.py"), 2, ranks=2),
}
OTHERS = {
    "by-shell": Story("plain", ["sh", "-c", " ".join(slowly("train.py"))]),
    "early": Story("plain", EXEC),    # resumed while it saves
    "deleted": Story("plain", EXEC),  # while it trains
}
ALL = {**STORIES, **OTHERS}
WAITED = [name for name in ALL if name != "early"]


def with_claim(admin, shipped):
    """Returns a runtime as the guide has it: for torchrun that of the guide itself, else the shipped one with a grace and the claim."""
    runtime, existing = copy.deepcopy(checkpoints.RUNTIME), admin.get("clustertrainingruntimes", shipped)
    runtime["metadata"] = {"name": f"{shipped}-saving", "labels": existing["metadata"]["labels"]}
    if shipped == "torch-distributed":
        return adapted(runtime, shipped)
    of_the_guide, runtime["spec"] = runtime["spec"], existing["spec"]
    runtime["spec"].setdefault("runPolicy", {}).setdefault("gracePeriodSeconds", GRACE)
    runtime["spec"]["template"]["spec"]["volumeClaimPolicies"] = of_the_guide["template"]["spec"]["volumeClaimPolicies"]
    for pod in pod_specs(runtime):
        for container in pod["containers"]:
            container.setdefault("volumeMounts", []).append({"name": "checkpoints", "mountPath": "/checkpoints"})
    return runtime


def job_of(name, story):
    runtime = f"{story.runtime}-saving"
    return train_job(name, runtime, story.command, story.nodes, story.trainer, runtimeRef={"kind": "TrainingRuntime", "name": runtime})


def create_volume(admin, name, folder):
    """A volume of the machine, which both nodes have. The claim of that job gets it, and this process reads it."""
    folder.mkdir(parents=True)
    folder.chmod(0o777)  # MPI's user is not root
    admin.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"checkpoints-{name}"}, "spec": {
        "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteMany"], "hostPath": {"path": str(folder)},
        "claimRef": {"namespace": admin.namespace, "name": f"checkpoints-{name}"}}})


def notes_in(folder):
    """Returns {file: [(time, what happened)]} of the ranks that ran so far."""
    found = {}
    for path in sorted(folder.glob("*.log")):
        lines = (line.partition(" ") for line in path.read_text().splitlines())
        found[path.name] = [(float(at), what) for at, _, what in lines]
    return found


def ranks_with(notes, what):
    return [name for name, lines in notes.items() if what in (each for _, each in lines)]


def last_note(notes):
    return max(at for lines in notes.values() for at, _ in lines)


class PodWatch:
    """What becomes of the Pods of these jobs, in its order: a Pod that has ended is soon gone, with its exit code."""

    def __init__(self, admin, jobs):
        self.events = []  # (type, Pod)
        query = urllib.parse.urlencode({"watch": 1, "labelSelector": f"jobset.sigs.k8s.io/jobset-name in ({','.join(jobs)})"})
        connection = admin.connection()
        connection.request("GET", f"{admin.path('pods')}?{query}", headers={"Accept": "application/json"})
        connection.sock.settimeout(None)
        self._answer = connection.getresponse()
        assert self._answer.status == 200
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):  # the API server has ended
            for line in self._answer:
                event = json.loads(line)
                self.events.append((event["type"], event["object"]))

    def of(self, job):
        return [(kind, pod) for kind, pod in self.events if pod["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"] == job]

    def exit_codes(self, job, pods):
        """Returns {replicated job: set of the exit codes} of these Pods."""
        codes = {}
        for _, pod in self.of(job):
            for status in pod["status"].get("containerStatuses", []):
                if pod["metadata"]["name"] in pods and "terminated" in status["state"]:
                    kind = pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"]
                    codes.setdefault(kind, set()).add(status["state"]["terminated"]["exitCode"])
        return codes


@dataclasses.dataclass
class Stop:
    """What was seen of one job."""
    pods: set  # that trained
    notes: dict = dataclasses.field(default_factory=dict)
    suspended: float = None  # the time of the condition
    states: set = dataclasses.field(default_factory=set)  # as `list` has shown them
    stopped: float = None  # when `wait` said so
    words: str = ""  # of `wait`
    claim: str = None  # its UID


@dataclasses.dataclass
class Stops:
    jobs: dict
    watch: PodWatch
    waiting: subprocess.Popen
    resumed_early: float
    explained: str


@pytest.fixture(scope="module")
def stops(cluster, runtimes, admin, plugin, plugin_command):
    """Starts all jobs, stops them at once, and resumes them when they have saved."""
    folder = cluster.directory / "checkpoints"
    watch = PodWatch(admin, ALL)
    for shipped in dict.fromkeys(story.runtime for story in ALL.values()):
        admin.create(with_claim(admin, shipped))
    for name, story in ALL.items():
        create_volume(admin, name, folder / name)
        admin.create(job_of(name, story))

    def late():
        return {name: ranks for name, story in ALL.items() if len(ranks := ranks_with(notes_in(folder / name), "trains")) < story.ranks}
    wait_for("all ranks to train", lambda: Late(late()), SECONDS, interval=0.5)
    jobs = {name: Stop({pod["metadata"]["name"] for pod in pods_of(admin, name)}, claim=claim_of(admin, name)) for name in ALL}

    plugin("suspend", *(name for name in ALL if name != "deleted"))
    admin.delete("trainjobs", "deleted")
    with subprocess.Popen(**plugin_command("wait", *WAITED, "--for=stopped", "--interval=200ms"), stdout=subprocess.PIPE, text=True) as waiting:
        threading.Thread(target=note_lines, args=(waiting, jobs), daemon=True).start()
        wait_for("a job to be told to stop", lambda: ranks_with(notes_in(folder / "early"), "told"), 30)
        plugin("resume", "early")
        resumed_early = time.time()
        explained = plugin("explain", "by-torchrun")

        def have_stopped():
            for name, _, rest in (line.partition(" ") for line in plugin("list").splitlines()):
                if name in jobs:
                    jobs[name].states.add(rest.strip().split("   ")[0])
            return all(job.stopped for name, job in jobs.items() if name in STORIES or name == "deleted")
        # What has not stopped by then is the matter of the tests.
        with contextlib.suppress(AssertionError):
            wait_for("the jobs to stop", have_stopped, GRACE - 5, interval=0.5)
        for name, job in jobs.items():
            job.notes = notes_in(folder / name)
            if name != "deleted" and (condition := true_conditions(admin.get("trainjobs", name)).get("Suspended")):
                job.suspended = datetime.datetime.fromisoformat(condition["lastTransitionTime"].replace("Z", "+00:00")).timestamp()
        plugin("resume", *STORIES)
        yield Stops(jobs, watch, waiting, resumed_early, explained)
        waiting.kill()
    for name in ALL:
        admin.delete("trainjobs", name)


class Late(dict):
    """True if it is empty: else it shows which ranks of a job are there."""

    def __bool__(self):
        return not len(self)


def note_lines(waiting, jobs):
    for line in waiting.stdout:
        for name, job in jobs.items():
            if re.search(rf"/{name}\b", line):
                job.stopped, job.words = time.time(), line.strip()


def pods_of(admin, name):
    return admin.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name}")


def claim_of(admin, name):
    return admin.get("persistentvolumeclaims", f"checkpoints-{name}")["metadata"]["uid"]


@pytest.mark.parametrize("name", STORIES)
def test_every_rank_hears_the_signal_and_the_checkpoint_is_complete(stops, name):
    notes, story = stops.jobs[name].notes, STORIES[name]
    assert len(notes) == len(ranks_with(notes, "told")) == story.ranks, notes
    assert len(ranks_with(notes, "saved")) == story.parts, notes
    # One rank that is told is enough for all.
    first = min(at for lines in notes.values() for at, what in lines if what == "told")
    assert [at for lines in notes.values() for at, what in lines if what == "saved" and not SAVES_FOR <= at - first < GRACE] == []


@pytest.mark.parametrize("name", STORIES)
def test_the_program_ends_by_itself_within_its_grace(stops, name):
    codes = stops.watch.exit_codes(name, stops.jobs[name].pods)
    assert {kind: codes.get(kind) for kind in STORIES[name].codes} == {kind: {code} for kind, code in STORIES[name].codes.items()}
    assert not any(137 in each for each in codes.values()), codes


@pytest.mark.parametrize("name", STORIES)
def test_suspended_comes_at_once_and_stopped_after_the_last_line_of_the_last_program(stops, name):
    job = stops.jobs[name]
    assert job.suspended + SAVES_FOR / 2 < last_note(job.notes)
    assert job.stopped > last_note(job.notes) and f"/{name} stopped after " in job.words


@pytest.mark.parametrize("name", STORIES)
def test_a_list_says_how_many_pods_have_how_long(stops, name):
    nodes = STORIES[name].nodes
    pods = f"{nodes} of {nodes} Pods within their" if nodes > 1 else "1 of 1 Pod within its"
    seen = [found for state in stops.jobs[name].states
            if (found := re.fullmatch(rf"suspended, stopping: {pods} grace \((?:1m|(\d+)s) left\)", state))]
    assert seen and all(int(found[1] or GRACE) <= GRACE for found in seen), stops.jobs[name].states


def test_explain_says_so_too(stops):
    assert re.search(r"(?m)^State +suspended for ", stops.explained), stops.explained
    assert re.search(r"(?m)^ +stopping: 2 of 2 Pods within their grace \(\w+ left\)$", stops.explained), stops.explained


def test_a_resume_waits_for_the_program_that_saves(stops):
    first, = stops.jobs["early"].pods
    notes = stops.jobs["early"].notes
    assert stops.resumed_early < last_note({name: notes[name] for name in ranks_with(notes, "told")}), "it had saved before, so nothing is shown"
    wait_for("its next Pod", lambda: [pod for kind, pod in next_of(stops, "early") if kind == "ADDED"], SECONDS)
    seen = [(kind, pod["metadata"]["name"]) for kind, pod in stops.watch.of("early")]
    assert seen.index(("DELETED", first)) < next(i for i, (_, name) in enumerate(seen) if name != first)
    words = r"(resuming|waits for its Pods), stopping: 1 of 1 Pod within its grace \(\w+ left\)"
    assert any(re.fullmatch(words, state) for state in stops.jobs["early"].states), stops.jobs["early"].states


def next_of(stops, name):
    return [(kind, pod) for kind, pod in stops.watch.of(name) if pod["metadata"]["name"] not in stops.jobs[name].pods]


@pytest.mark.parametrize("name", [*STORIES, "early"])
def test_a_resumed_job_goes_on_from_its_checkpoint_in_the_same_claim(stops, admin, attempt, name):
    logs = wait_for("its words", lambda: re.search(r"goes on at step (\d+)", attempt("logs", name)[1]), SECONDS, interval=0.5)
    assert int(logs[1]) >= 3
    assert claim_of(admin, name) == stops.jobs[name].claim


def test_a_deleted_job_has_stopped_after_the_last_line_of_its_program(stops):
    job = stops.jobs["deleted"]
    assert len(ranks_with(job.notes, "told")) == len(ranks_with(job.notes, "saved")) == 1
    assert job.words == "TrainJob default/deleted is gone" and job.stopped > last_note(job.notes)


def test_a_shell_keeps_the_signal_from_its_program_until_that_is_killed(stops):
    stops.waiting.wait(timeout=2 * GRACE)
    job = stops.jobs["by-shell"]
    assert stops.waiting.returncode == 0
    wait_for("its last line", lambda: job.stopped, 10)
    assert job.stopped - job.suspended > GRACE - 5
    assert ranks_with(job.notes, "trains") and not ranks_with(job.notes, "told") and not ranks_with(job.notes, "saved")
    assert stops.watch.exit_codes("by-shell", job.pods) == {"node": {137}}


@pytest.mark.parametrize("name, warned", [("by-shell", True), ("by-exec", False)])
def test_the_webhook_warns_of_a_shell_that_keeps_the_signal_to_itself(stops, cluster, name, warned):
    run = subprocess.run([cluster.kubectl_path, "--kubeconfig", cluster.kubeconfig, "create", "--dry-run=server", "-f", "-"],
                         input=json.dumps(job_of("tried", ALL[name])), capture_output=True, text=True, check=True)
    assert ("sh does not pass SIGTERM on to its program" in run.stderr) == warned, run.stderr
