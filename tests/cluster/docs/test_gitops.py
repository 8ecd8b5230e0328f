"""docs/gitops.md: what a restore brings back, and a job that GitOps applies again. Velero gives restored objects no owners, and Jobs no selector."""

import copy
import re

import pytest

from jobs import train_job
from paths import ROOT
from progress import delete_jobs, resume, running_pods, uid, until, until_held, until_not_created, until_runs
from rest import true_conditions, wait_for

PAGE = (ROOT / "docs" / "gitops.md").read_text()


def commands(name):
    """Returns the arguments of the page's kubectl commands that delete what a restore has brought back of the TrainJob of that name."""
    return [re.sub(r"\brestored\b", name, line).split()[1:] for line in PAGE.splitlines() if line.startswith("kubectl delete ")]


@pytest.fixture
def restore(signalbox, rest):
    """Creates objects of a backup, and only then the status of a TrainJob, while no reconciler runs. Returns them."""
    def create(*saved, status=False, owners=True):
        with signalbox.without_reconciler():
            return [one(each, status and each["kind"] == "TrainJob", owners) for each in saved]

    def one(saved, status, owners):
        made = copy.deepcopy(saved)
        for name in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", *([] if owners else ["ownerReferences"])):
            made["metadata"].pop(name, None)
        if made["kind"] == "Job":
            made["spec"].pop("selector")
            for labels in (made["metadata"]["labels"], made["spec"]["template"]["metadata"]["labels"]):
                for name in ("controller-uid", "batch.kubernetes.io/controller-uid"):
                    labels.pop(name, None)
        before = made.pop("status", None)
        stored = rest.create(made)
        if status:
            rest.patch("trainjobs", stored["metadata"]["name"], {"status": before}, subresource="status")
        return stored
    return create


@pytest.fixture
def ended(signalbox, rest):
    """A TrainJob that has ended, as a backup has it. It and its JobSet are gone."""
    rest.create(train_job("saved", "plain"))
    saved = until(rest, "saved", "Complete")
    delete_jobs(rest)
    return saved


@pytest.fixture
def suspended(signalbox, rest):
    """The JobSet and the TrainJob of a suspended job, as a backup has them. Both are gone."""
    rest.create(train_job("saved", "plain", suspend=True))
    saved = [until_held(rest, "saved"), rest.get("trainjobs", "saved")]
    delete_jobs(rest)
    return saved


def test_a_job_that_has_ended_stays_so_if_its_status_is_restored(rest, restore, ended):
    restore(ended, status=True)
    # A job that is created later comes after it.
    rest.create(train_job("later", "plain"))
    until(rest, "later", "Complete")
    assert rest.get("jobsets", "saved") is None
    assert true_conditions(rest.get("trainjobs", "saved"))["Complete"] == true_conditions(ended)["Complete"]


def test_a_job_begins_from_the_start_without_its_status(rest, restore, ended):
    again, = restore(ended)
    until(rest, "saved", "Complete")
    assert rest.get("jobsets", "saved")["metadata"]["ownerReferences"][0]["uid"] == uid(again)


def test_a_job_set_with_the_owner_of_before_goes_and_the_job_makes_its_own(rest, restore, suspended):
    former, restored = restore(*suspended, status=True)
    resume(rest, "saved")
    # The garbage collector learns of a new kind within half a minute.
    until(rest, "saved", "Complete", timeout=90)
    made = rest.get("jobsets", "saved")
    assert uid(made) != uid(former) and made["metadata"]["ownerReferences"][0]["uid"] == uid(restored)


def test_what_was_restored_without_an_owner_is_named_until_it_is_deleted(signalbox, rest, restore, kubectl):
    rest.create(train_job("saved", "plain", seconds="never"))
    until_runs(rest, "saved")
    saved = [rest.get(*each) for each in (("jobs", "saved-node-0"), ("jobsets", "saved"), ("configmaps", "saved-runtime-snapshot"),
                                          ("trainjobs", "saved"))]
    delete_jobs(rest)
    *others, restored = restore(*saved, status=True, owners=False)
    assert "saved" in until_not_created(rest, "saved", "JobsCreationFailed")["message"]
    for command in commands("saved"):
        kubectl(*command)

    def own_job_set():
        made = rest.get("jobsets", "saved")
        pods = [pod["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-uid"] for pod in running_pods(rest, "saved")]
        return made if made and pods == [uid(made)] else None
    made = wait_for("a Pod of its own alone", own_job_set)
    assert made["metadata"]["ownerReferences"][0]["uid"] == uid(restored) and uid(made) not in {uid(each) for each in others}


def test_runtimes_that_are_applied_again_have_not_drifted(signalbox, kubectl):
    kubectl("apply", "-k", ROOT / "manifests" / "runtimes")
    again = kubectl("apply", "-k", ROOT / "manifests" / "runtimes").splitlines()
    assert len(again) > 5 and {line.split()[-1] for line in again} == {"unchanged"}, again
