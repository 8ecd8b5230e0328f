"""Kueue's webhook refuses what its library cannot build, also without a queue. The warnings of Signalbox's webhook say so at the same time,
and name what Kueue will count otherwise."""

import pytest

from jobs import train_job
from queues import QUEUE_LABEL, flavor, wait_for
from test_counts import DIFFERENT, LAUNCHED, MPI, job, shape

REFUSED = {
    "Intel MPI": (shape(*LAUNCHED, ml={"numNodes": 1, "mpi": {**MPI, "mpiImplementation": "Intel"}}), "vtrainjob.kb.io",
                  "it does not know mpiImplementation Intel"),
    "MPICH": (shape(*LAUNCHED, ml={"numNodes": 1, "mpi": {**MPI, "mpiImplementation": "MPICH"}}), "vtrainjob.kb.io",
              "it does not know mpiImplementation MPICH"),
    "flux without a trainer": (shape(ml={"numNodes": 1, "flux": {}}, trainer=None), "panic", "for flux it needs spec.trainer"),
    "jax without a trainer": (shape(job("node"), ml={"numNodes": 1, "jax": {}}, trainer=None), "panic",
                              "for jax it needs a job with the label of the ancestor step trainer"),
    "tune run": (shape(runtime_name="torchtune-llama3.2-1b", trainer={"command": ["tune", "run"]}), None,
                 "it changes the command [tune, run], which is immutable"),
}
ALL = {**{name: row[0] for name, row in REFUSED.items()}, **{name: row[0] for name, row in DIFFERENT.items()}}


@pytest.fixture(scope="module")
def team(queue):
    """A queue in which all jobs wait, and the runtimes of ALL."""
    with queue(flavor("one"), held=True) as made:
        for number, (each, _) in enumerate(ALL.values()):
            if isinstance(each, dict):
                made.rest.create({**each, "metadata": {"name": f"shape-{number}"}})
        yield made


def created(team, name, queued):
    """Tries to create the job. Returns (HTTP status, message, warnings about Kueue)."""
    made, spec = ALL[name]
    chosen = (made, "ClusterTrainingRuntime") if isinstance(made, str) else (f"shape-{list(ALL).index(name)}", "TrainingRuntime")
    tried = train_job("tried", *chosen, labels={QUEUE_LABEL: "team"} if queued else {}, **spec)
    tried["spec"] = {field: value for field, value in tried["spec"].items() if value is not None}

    def answer():
        found = team.answer("POST", "trainjobs", tried, dry_run=True)
        return None if "not found" in found[1] else found
    return wait_for("the runtime in Kueue's cache", answer)


@pytest.mark.parametrize("queued", [True, False], ids=["in a queue", "without a queue"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_kueue_cannot_build_is_refused_by_it_with_a_warning(team, name, queued):
    _, refusal, warning = REFUSED[name]
    status, message, warnings = created(team, name, queued)
    assert warnings == [f"Kueue cannot build it: {warning}"]
    assert refusal in message and status >= 400 if refusal else status == 201, (status, message)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_kueue_counts_otherwise_is_said_when_a_job_enters_a_queue(team, name):
    assert created(team, name, queued=True)[::2] == (201, [DIFFERENT[name][-1]])
    assert created(team, name, queued=False)[::2] == (201, [])
