"""The demo's last stories: programs that really run, on two nodes with a kubelet and containerd each."""

import re
import subprocess

from node.training import train_job
from stories import finish, heading
from timeline import DIM, StoryFailed, Timeline


def asked(scene, timeline, *words):
    """Prints a command of `kubectl trainjob` with its output, and returns that."""
    timeline.note(f"kubectl trainjob {' '.join(words)}", DIM)
    output = subprocess.run([scene.binaries / "kubectl-trainjob", *words, "--kubeconfig", scene.control_plane.kubeconfig],
                            check=True, capture_output=True, text=True).stdout
    print("".join(f"            {line}\n" if line else "\n" for line in output.splitlines()), flush=True)
    return output


def trained_by_torchrun(scene, number):
    job = train_job("train", "torch-distributed", ["torchrun", "/workspace/torch_train.py"], nodes=2)
    heading(number, "PyTorch on two real nodes", job)
    timeline = Timeline(scene.rest, "train")
    scene.rest.create(job)
    timeline.until("Complete", lambda t: t.is_true("Complete"), timeout=180)
    if {pod["spec"]["nodeName"] for pod in timeline.pods} != {"node-1", "node-2"}:
        raise StoryFailed("train: it did not run on both nodes")
    losses = [float(loss) for loss in re.findall(r"step \d+ loss ([\d.]+)", asked(scene, timeline, "logs", "train"))]
    if len(losses) < 2 or losses[-1] > losses[0] / 2:
        raise StoryFailed(f"train: the loss did not fall: {losses}")
    asked(scene, timeline, "list")
    asked(scene, timeline, "explain", "train")
    asked(scene, timeline, "timeline", "train")
    finish(timeline, f"two nodes trained one model, and its loss fell from {losses[0]:.2f} to {losses[-1]:.2f}")


def killed_for_its_memory(scene, number):
    job = train_job("hungry", "plain", ["python3", "/workspace/hog.py"], trainer={"resourcesPerNode": {"limits": {"memory": "200Mi"}}})
    heading(number, "A program that wants more memory than its limit", job)
    timeline = Timeline(scene.rest, "hungry")
    scene.rest.create(job)
    timeline.until("Failed", lambda t: t.is_true("Failed"), timeout=120)
    asked(scene, timeline, "logs", "hungry")
    if "OOMKilled" not in asked(scene, timeline, "explain", "hungry"):
        raise StoryFailed("hungry: explain does not name its memory")
    finish(timeline, "the kernel killed it at its limit, and explain says so")


REAL_STORIES = (trained_by_torchrun, killed_for_its_memory)
