"""The exact text of kubectl's standard error for objects that are denied."""

import json
import subprocess

import pytest

from jobs import runtime, train_job

POD_SPEC = "template.spec.template.spec"
JOBS = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs"
TEMPLATE = "spec.template.spec.replicatedJobs[0].template.spec"


@pytest.fixture(scope="module")
def runtimes(installed, admin):
    for name, policy in (("words", {"numNodes": 1}), ("words-torch", {"torch": {}}), ("words-xgboost", {"xgboost": {}})):
        admin.create(runtime(name, ml_policy=policy))


def job(runtime_name="words", name="job", kind="ClusterTrainingRuntime", trainer=None, **spec):
    built = train_job(name, runtime_name, kind=kind, **spec)
    built["spec"]["trainer"] |= trainer or {}
    return built


def patched(*jobs, manager="example.com/team"):
    return job(runtimePatches=[{"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": list(jobs)}}}}])


def blueprint(replicas=1, container="node", deadline=None, policy=None):
    built = runtime("blueprint", ml_policy=policy)
    node = built["spec"]["template"]["spec"]["replicatedJobs"][0]
    node["replicas"] = replicas
    node["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = container
    if deadline:
        node["template"]["spec"]["activeDeadlineSeconds"] = deadline
    return built


ROWS = [
    ("no runtime", job("absent"),
     'spec.runtimeRef: Invalid value: "absent": ClusterTrainingRuntime not found: it must be created before the TrainJob'),
    ("no runtime in the namespace", job("words", kind="TrainingRuntime"),
     'spec.runtimeRef: Invalid value: "words": TrainingRuntime not found in namespace "default": it must be created before the '
     "TrainJob; did you mean the ClusterTrainingRuntime of that name? Then set spec.runtimeRef.kind"),
    ("long name", job(name="j" * 49),
     f'metadata.name: Invalid value: "{"j" * 49}": must be at most 48 characters long: the Pods of job "node" must have valid names'),
    ("unknown job", patched({"name": "worker"}),
     f'{JOBS}[0].name: Invalid value: "worker": the runtime has no such job: there are "node"'),
    ("unknown container and its variables",
     patched({"name": "node", "template": {"spec": {"template": {"spec": {
         "initContainers": [{"name": "setup"}], "containers": [{"name": "node", "env": [{"name": "A"}]}]}}}}}),
     f'{JOBS}[0].{POD_SPEC}.initContainers[0].name: Invalid value: "setup": the runtime\'s job has no such entry in its '
     "initContainers: it has none",
     f'{JOBS}[0].{POD_SPEC}.containers[0].env: Invalid value: "node": the environment of this container cannot be patched; use '
     "spec.trainer.env"),
    ("manager without a domain", patched(manager="me"),
     'spec.runtimePatches[0].manager: Invalid value: "me": must be a domain-prefixed path, such as "acme.io/team"'),
    ("reserved variables", job("words-torch", trainer={"env": [{"name": "PET_NNODES"}, {"name": "PET_MASTER_PORT"}]}),
     'spec.trainer.env: Invalid value: "PET_MASTER_PORT, PET_NNODES": must not be set: the Torch runtime sets these variables'),
    ("one reserved variable", job("words-xgboost", trainer={"env": [{"name": "A"}, {"name": "DMLC_TASK_ID"}]}),
     "spec.trainer.env[1]: Forbidden: DMLC_TASK_ID is reserved for the XGBoost runtime"),
    ("a trainer twice and without its container", blueprint(replicas=2, container="main"),
     "spec.template.spec.replicatedJobs[0].replicas: Invalid value: 2: must be 1 for a job with the label "
     "trainer.kubeflow.org/trainjob-ancestor-step: trainer",
     f'{TEMPLATE}.template.spec.containers: Invalid value: ["main"]: must have a container "node" in a job with the label '
     "trainer.kubeflow.org/trainjob-ancestor-step: trainer"),
    ("a deadline of a Job", blueprint(deadline=60),
     f"{TEMPLATE}.activeDeadlineSeconds: Forbidden: it would not stop while the TrainJob is suspended; set "
     "spec.activeDeadlineSeconds of the TrainJob instead"),
]


@pytest.mark.parametrize("obj, errors", [(obj, errors) for _, obj, *errors in ROWS], ids=[row[0] for row in ROWS])
def test_kubectl_says_what_is_wrong_where_and_what_to_do(cluster, runtimes, obj, errors):
    run = subprocess.run([cluster.kubectl_path, "--kubeconfig", cluster.kubeconfig, "apply", "-f", "-"], input=json.dumps(obj),
                         capture_output=True, text=True)
    assert run.returncode == 1 and run.stdout == ""
    listed = errors[0] if len(errors) == 1 else "\n" + "\n".join(f"* {error}" for error in errors)
    assert run.stderr.strip() == f'The {obj["kind"]} "{obj["metadata"]["name"]}" is invalid: {listed}'
