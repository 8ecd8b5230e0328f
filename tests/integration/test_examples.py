"""Every file of manifests/examples is applied as it is, and becomes what it says."""

import pytest

from conftest import ROOT
from gangs import install_pod_groups, path_of_pod_group
from rest import conditions, true_conditions, wait_for

EXAMPLES = sorted((ROOT / "manifests" / "examples").glob("*.yaml"))
# What becomes of each: Pods that end after a second on the test bed's nodes, unless nobody there can start them.
SUSPENDED = {"kueue"}
WAITING = {
    "fine-tuning": "a volume claim",
    "initializers": "a volume claim",
    "checkpoints": "a volume claim",
    "resource-claims": "devices",
    "volcano": "its scheduler",
}


@pytest.fixture(scope="module")
def gangs(admin):
    install_pod_groups(admin)


def train_job_of(rest):
    job, = rest.list("trainjobs")
    return job


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_becomes_what_it_says(example, cluster, gangs, signalbox, rest):
    cluster.kubectl("apply", "--server-side", "-f", example)
    try:
        job = wait_for("it to be created", lambda: "Created" in true_conditions(train_job_of(rest)) and train_job_of(rest))
        name = job["metadata"]["name"]
        assert rest.get("jobsets", name)["spec"].get("suspend", False) == (example.stem in SUSPENDED)
        if example.stem in SUSPENDED:
            assert conditions(job)["Suspended"]["status"] == "True"
        elif example.stem in WAITING:
            wait_for("its first pod", lambda: rest.list("pods"))
        else:
            wait_for("its end", lambda: "Complete" in true_conditions(train_job_of(rest)), timeout=60)
        if example.stem == "volcano":
            assert rest.request("GET", path_of_pod_group("volcano", name))["spec"]["minMember"] == 4
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "-f", example)


def test_there_is_an_example_of_everything_that_people_ask_for():
    assert {path.stem for path in EXAMPLES} >= {"fine-tuning", "data-parallel", "mpi", "jax", "xgboost", "initializers", "deadline",
                                                "time-to-live", "resource-claims", "kueue", "volcano"}
