"""Deletions: without the webhook, and the report of one that is blocked."""

import pytest

from jobs import runtime, train_job
from progress import events, fail_pod, pods, until_gone, until_runs
from rest import ApiError, wait_for
from test_suspended_changes import a_disk, storing
from together import new_namespace


def test_a_deletion_of_every_kind_ends_while_no_webhook_answers(signalbox, rest, admin):
    """The last step of most of them removes a finalizer, by an update that the API server would have reviewed."""
    rest.create(runtime())
    for name, kind in (("of-the-team", "TrainingRuntime"), ("of-all", "ClusterTrainingRuntime")):
        rest.create(runtime(name, kind))
    names = ["foreground", "background", "orphan", "pruned", "expired"]
    with new_namespace(admin) as other:
        for name, where in [(name, None) for name in names] + [("of-the-namespace", other)]:
            rest.create(train_job(name, seconds="never", namespace=where, ttlSecondsAfterFinished=0))
        for name in names:
            until_runs(rest, name)
        wait_for("its JobSet", lambda: rest.get("jobsets", "of-the-namespace", other))
        with signalbox.without_webhook():
            with pytest.raises(ApiError, match="failed calling webhook"):
                rest.create(train_job("new"))
            with pytest.raises(ApiError, match="failed calling webhook"):
                rest.patch("trainjobs", "background", {"metadata": {"finalizers": ["example.com/hold"]}})
            fail_pod(rest, *pods(rest, "expired"), 1)
            for name in ("foreground", "background", "orphan"):
                rest.delete("trainjobs", name, propagation=name.capitalize())
            # As Argo CD prunes: all that a repository no longer has, at once and in the foreground, whoever uses it.
            for kind, name in (("clustertrainingruntimes", "of-all"), ("trainingruntimes", "of-the-team"), ("trainjobs", "pruned")):
                rest.delete(kind, name, propagation="Foreground")
            rest.delete("trainjobs", "of-the-namespace", other, propagation="Foreground")
            admin.delete("namespaces", other)
            for name in names:
                until_gone(rest, name)
            wait_for("the runtimes to go", lambda: not rest.get("trainingruntimes", "of-the-team") and not rest.get(
                "clustertrainingruntimes", "of-all"))
            wait_for("the namespace to go", lambda: admin.get("namespaces", other) is None)
    wait_for("the other JobSets to go", lambda: [each["metadata"]["name"] for each in rest.list("jobsets")] == ["orphan"])
    assert pods(rest, "orphan") and "ownerReferences" not in rest.get("jobsets", "orphan")["metadata"]


@pytest.mark.long
def test_the_warning_of_a_train_job_names_the_volume_claim_that_blocks_its_deletion(signalbox, rest, kubectl):
    rest.create(storing())
    with a_disk(rest, "kept"):
        rest.create(train_job("kept", "storing", seconds="never"))
        until_runs(rest, "kept")
        held = rest.get("persistentvolumeclaims", "data-kept")["metadata"]["finalizers"] + ["example.com/backup"]
        rest.patch("persistentvolumeclaims", "data-kept", {"metadata": {"finalizers": held}})
        rest.delete("trainjobs", "kept", propagation="Foreground")
        (warning,) = wait_for("the warning", lambda: events(rest, "kept", "DeletionBlocked"), timeout=90)
        assert warning["type"] == "Warning" and "JobSet " + rest.namespace + "/kept" in warning["note"]
        command = warning["note"].partition("kubectl ")[2].split()
        shown = [line.split() for line in kubectl(*command).splitlines()]
        assert [(kind, name, finalizers) for kind, name, _, finalizers in shown] == [
            ("KIND", "NAME", "FINALIZERS"), ("PersistentVolumeClaim", "data-kept", "[example.com/backup]")]
        rest.patch("persistentvolumeclaims", "data-kept", {"metadata": {"finalizers": None}})
        until_gone(rest, "kept")
