"""What the commands of kubectl trainjob print on a terminal, from a real control plane. For scripts/pictures."""

import copy
import datetime
import os
import pathlib
import sys
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bed"))

from controlplane import ControlPlane  # noqa: E402
from deployment import Signalbox  # noqa: E402
from jobs import runtime, train_job  # noqa: E402
from progress import resume, running_pods, until, until_not_created  # noqa: E402
from rest import Rest, wait_for  # noqa: E402
from terminal import picture_of, run_on_terminal  # noqa: E402


def report(rest, name, percent, remaining, **metrics):
    """Stores progress as the server of reports does."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    rest.patch("trainjobs", name, subresource="status", change={"status": {"trainerStatus": {
        "progressPercentage": percent, "estimatedRemainingSeconds": remaining, "lastUpdatedTime": now,
        "metrics": [{"name": key, "value": value} for key, value in metrics.items()]}}})


def job(name, runtime_name="torch", gpus=8, **wishes):
    made = train_job(name, runtime_name, **wishes)
    made["spec"]["trainer"]["resourcesPerNode"] = {"limits": {"nvidia.com/gpu": gpus}}
    return made


def submit(rest):
    """Creates TrainJobs in the states that users meet, and waits until they are in them."""
    rest.create(runtime("torch", ml_policy={"numNodes": 1, "torch": {}}))
    broken = runtime("broken", ml_policy={"numNodes": 1, "torch": {}})
    broken["spec"]["template"]["spec"]["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["no-such-job"]}
    rest.create(broken)
    rest.create(job("finetune-7b", nodes=2, seconds="never", suspend=True, activeDeadlineSeconds=7200))
    rest.create(job("resnet-50", seconds=2))
    rest.create(job("tokenizer", outcome="failed", seconds=1))
    rest.create(job("sweep-3", nodes=2, suspend=True))
    rest.create(job("ablation", "broken"))
    until(rest, "resnet-50", "Complete")
    until(rest, "tokenizer", "Failed")
    until(rest, "sweep-3", "Suspended")
    until_not_created(rest, "ablation", "JobsCreationFailed")
    time.sleep(8)  # so that the timeline has more than one stage
    resume(rest, "finetune-7b")
    wait_for("two Pods", lambda: len(running_pods(rest, "finetune-7b")) == 2)
    report(rest, "finetune-7b", 42, 3120, loss="1.93", current_step="8400")
    # More GPUs than a node of the test bed has.
    rest.create(job("pretrain-70b", nodes=4, gpus=16, seconds="never"))
    wait_for("the scheduler's verdict", lambda: [event for event in rest.list("events") if event["reason"] == "FailedScheduling"
                                                 and "pretrain-70b" in event["regarding"]["name"]])
    time.sleep(20)


def files_of(directory):
    """Writes manifests for the commands that read files."""
    torch = runtime("torch", ml_policy={"numNodes": 1, "torch": {}})
    good = job("finetune-7b", nodes=2)
    wrong = job("finetune-13b", "touch")
    gpu = copy.deepcopy(good)
    gpu["metadata"]["name"], gpu["spec"]["trainer"]["resourcesPerNode"] = "finetune-3b", {"limits": {"gpu": 8}}
    for name, objects in (("runtimes.yaml", [torch]), ("jobs.yaml", [good, wrong, gpu])):
        (directory / name).write_text("---\n".join(yaml.safe_dump(each, sort_keys=False) for each in objects))


def draw(out, name, title, commands, program, environment, directory):
    steps = []
    os.chdir(directory)
    for words in commands:
        steps.append((" ".join(["kubectl", "trainjob", *words]), run_on_terminal([program, *words], environment)))
    (out / f"trainjob-{name}.svg").write_text(picture_of(steps, title))


def live(out):
    binaries = pathlib.Path(os.environ.get("SIGNALBOX_BIN_DIR", ROOT / "build" / "release" / "bin")).resolve()
    with ControlPlane() as cluster, Signalbox(cluster, binaries):
        submit(Rest(cluster.kubeconfig))
        directory = cluster.directory / "pictures"
        directory.mkdir()
        files_of(directory)
        environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "KUBECONFIG": str(cluster.kubeconfig), "LANG": "C.UTF-8"}
        for name, title, commands in (
                ("list", "kubectl trainjob list", [["list"]]),
                ("explain", "kubectl trainjob explain", [["explain", "pretrain-70b"]]),
                ("timeline", "kubectl trainjob timeline", [["timeline", "pretrain-70b"], ["timeline", "finetune-7b"]]),
                ("check", "kubectl trainjob check", [["check", "-f", "runtimes.yaml", "-f", "jobs.yaml"]])):
            draw(out, name, title, commands, binaries / "kubectl-trainjob", environment, directory)
