"""TrainJobs and runtimes for tests and the demo."""

import copy

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"


def runtime(name="plain-test", kind="ClusterTrainingRuntime", ml_policy=None, namespace=None, **spec):
    """Returns a runtime whose pods end by themselves after a second on the test bed's nodes."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    container = {"name": "node", "image": "registry.example.com/base:1"}
    job = {
        "name": "node",
        "template": {
            "metadata": {"labels": {ANCESTOR: "trainer"}},
            # One attempt, so that the test of a failing pod need not wait for retries.
            "spec": {"backoffLimit": 0, "template": {"spec": {"containers": [container]}}},
        },
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": {"mlPolicy": ml_policy or {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [job]}}, **spec},
    }


def train_job(name, runtime_name="plain-test", kind="ClusterTrainingRuntime", seconds=None, outcome=None, nodes=1,
              namespace=None, labels=None, **spec):
    """Returns a TrainJob. `seconds` ("never" for no end) and `outcome` ("failed") are labels for the test bed's nodes, which only
    pretend to run containers: how long its pods run and how they end."""
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "labels": labels or {}, **({"namespace": namespace} if namespace else {})},
        "spec": {
            "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": kind, "name": runtime_name},
            "trainer": {
                "image": "registry.example.com/team/train:1.0",
                "command": ["python", "train.py"],
                "numNodes": nodes,
            },
            **copy.deepcopy(spec),
        },
    }
    pod_labels = {}
    if seconds is not None:
        pod_labels["signalbox.test/run-seconds"] = str(seconds)
    if outcome is not None:
        pod_labels["signalbox.test/outcome"] = outcome
    if pod_labels:
        job["spec"].setdefault("runtimePatches", []).append(_pod_label_patch(pod_labels))
    return job


def _pod_label_patch(labels):
    job = {"name": "node", "template": {"spec": {"template": {"metadata": {"labels": labels}}}}}
    return {"manager": "signalbox.test/nodes",
            "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
