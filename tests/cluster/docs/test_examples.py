"""Every file of manifests/examples is applied unchanged, and reaches the state that it describes."""

import pytest

from paths import ROOT
from gangs import install_pod_groups, path_of_pod_group
from progress import has_begun
from rest import Rest, conditions, true_conditions, wait_for

EXAMPLES = sorted((ROOT / "manifests" / "examples").glob("*.yaml"))
# Jobs complete, because Pods end after a second on the test bed's nodes, except suspended ones and those that wait for something that
# the test bed lacks.
SUSPENDED = {"kueue"}
WAITING = {
    "fine-tuning": "a volume claim",
    "initializers": "a volume claim",
    "checkpoints": "a volume claim",
    "resource-claims": "devices",
    "volcano": "its scheduler",
}


@pytest.fixture(scope="module")
def applied(cluster, admin, installed):
    """Returns a client for the namespace of each example. All examples are applied at once."""
    install_pod_groups(admin)
    clients = {}
    for example in EXAMPLES:
        name = f"example-{example.stem}"
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        wait_for("its service account", lambda: admin.get("serviceaccounts", "default", name), interval=0.02)
        clients[example] = Rest(cluster.admin_kubeconfig(name))
        cluster.kubectl("apply", "--server-side", "-n", name, "-f", example)
    yield clients
    for client in clients.values():
        admin.delete("namespaces", client.namespace)


def train_job_of(rest):
    job, = rest.list("trainjobs")
    return job


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_reaches_the_state_that_it_describes(example, applied):
    rest = applied[example]
    job = wait_for("it to be created", lambda: (found := train_job_of(rest)) and has_begun(found) and found)
    name = job["metadata"]["name"]
    assert rest.get("jobsets", name)["spec"].get("suspend", False) == (example.stem in SUSPENDED)
    if example.stem in SUSPENDED:
        assert conditions(job)["Suspended"]["status"] == "True"
    elif example.stem in WAITING:
        wait_for("its first pod", lambda: rest.list("pods"))
    else:
        wait_for("its end", lambda: "Complete" in true_conditions(train_job_of(rest)), timeout=60)
    if example.stem == "volcano":
        assert rest.request("GET", path_of_pod_group("volcano", name, rest.namespace))["spec"]["minMember"] == 4


# The purpose of an example -------------------------------------------------------------------------------------------------

def text_of(name):
    return (ROOT / "manifests" / "examples" / f"{name}.yaml").read_text()


def end_of(rest, name, condition):
    return wait_for("its end", lambda: conditions(rest.get("trainjobs", name)).get(condition), timeout=60)


def test_a_job_is_deleted_when_the_ttl_of_its_runtime_is_over(signalbox, kubectl, rest):
    a_day = "ttlSecondsAfterFinished: 86400"
    assert a_day in text_of("time-to-live")
    # What the runtime says when the job begins counts.
    kubectl("apply", "-f", "-", input=text_of("time-to-live").replace(a_day, "ttlSecondsAfterFinished: 5"))
    end_of(rest, "time-to-live", "Complete")
    wait_for("the TrainJob and its JobSet to go", lambda: not rest.list("trainjobs") and not rest.list("jobsets"))
    wait_for("the event", lambda: [event for event in rest.list("events")
                                   if event["regarding"]["name"] == "time-to-live" and event["reason"] == "TTLExpired"])


VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: of-the-team}
spec:
  storageClassName: ""
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /nowhere}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: checkpoints}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
"""


def test_a_job_with_checkpoints_mounts_the_claim_and_completes(signalbox, kubectl, rest):
    kubectl("apply", "-f", "-", input=VOLUME)
    try:
        kubectl("apply", "-f", "-", input=text_of("checkpoints"))
        end_of(rest, "checkpoints", "Complete")
        pod, = rest.list("pods")
        assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
        (container,), volumes = pod["spec"]["containers"], pod["spec"]["volumes"]
        assert [(volume["name"], volume["persistentVolumeClaim"]["claimName"]) for volume in volumes
                if "persistentVolumeClaim" in volume] == [("checkpoints", "checkpoints")]
        assert {"name": "checkpoints", "mountPath": "/checkpoints"} in container["volumeMounts"]
    finally:
        rest.delete("persistentvolumes", "of-the-team")


def test_every_frequently_used_feature_has_an_example():
    assert {path.stem for path in EXAMPLES} >= {"fine-tuning", "data-parallel", "mpi", "jax", "xgboost", "initializers", "deadline",
                                                "time-to-live", "resource-claims", "kueue", "volcano"}
    # test_users_guide.py shows what becomes of a job with a deadline.
    assert "activeDeadlineSeconds: 3600" in text_of("deadline")
