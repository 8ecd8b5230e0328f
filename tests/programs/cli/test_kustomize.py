"""`-k` of `check` and `render`: what kubectl's kustomize builds of a directory, and what is said if it cannot."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from paths import ROOT

PROGRAM = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"
COMMANDS = ["check", "render"]
RUNTIMES = ROOT / "manifests" / "runtimes"
JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: job
spec:
  runtimeRef:
    name: plain
  trainer:
    numNodes: 2
"""


@pytest.fixture
def overlay(tmp_path):
    """A kustomization that renames the job of its base and adds the runtime that the job names."""
    (base := tmp_path / "base").mkdir()
    (base / "kustomization.yaml").write_text("resources: [job.yaml, plain.yaml]")
    (base / "job.yaml").write_text(JOB)
    shutil.copy(RUNTIMES / "plain.yaml", base)
    (overlay := tmp_path / "overlay").mkdir()
    (overlay / "kustomization.yaml").write_text("resources: [../base]\nnamespace: team\npatches: [{path: nodes.yaml}]")
    (overlay / "nodes.yaml").write_text(JOB.replace("numNodes: 2", "numNodes: 5"))
    return overlay


def run(*arguments, tools, input="", cwd=None):
    """Runs the program with these tools, and nothing else, on its PATH."""
    return subprocess.run([PROGRAM, *map(str, arguments)], input=input, capture_output=True, text=True, timeout=60, cwd=cwd, check=False,
                          env={**os.environ, "PATH": str(tools)})


def fake_kubectl(directory, script):
    (tools := directory / "tools").mkdir()
    (tools / "kubectl").write_text(f"#!/bin/sh\n{script}\n")
    (tools / "kubectl").chmod(0o755)
    return tools


@pytest.mark.parametrize("command", COMMANDS)
def test_a_kustomization_is_read_as_if_its_build_came_on_standard_input(command, kubectl, overlay):
    built = subprocess.run([kubectl, "kustomize", overlay], capture_output=True, text=True, check=True).stdout
    piped = run(command, "-f", "-", input=built, tools=kubectl.parent)
    read = run(command, "-k", overlay, tools=kubectl.parent)
    assert (read.returncode, read.stderr) == (0, "")
    assert read.stdout == piped.stdout.replace("stdin:", f"kustomize {overlay}:")


def test_check_reports_the_objects_that_are_built_with_their_lines_in_the_build(kubectl, overlay):
    assert "TrainJob team/job is allowed" in run("check", "-k", overlay, tools=kubectl.parent).stdout
    (overlay / "nodes.yaml").write_text(JOB.replace("numNodes: 2", "numNodes: many"))
    said = run("check", "-k", ".", tools=kubectl.parent, cwd=overlay)
    built = subprocess.run([kubectl, "kustomize", overlay], capture_output=True, text=True, check=True).stdout.splitlines()
    line = next(number for number, text in enumerate(built, start=1) if "numNodes: many" in text)
    assert said.returncode == 1
    assert f"kustomize .:{line}: TrainJob team/job is refused: spec.trainer.numNodes: " in said.stdout


def test_render_prints_the_objects_of_a_job_as_the_overlay_patches_it(kubectl, overlay):
    said = run("render", "-k", overlay, "-o", "json", tools=kubectl.parent)
    (job_set,) = (each for each in json.loads(said.stdout)["items"] if each["kind"] == "JobSet")
    assert job_set["metadata"]["namespace"] == "team"
    assert job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 5


def test_kustomizations_and_files_are_read_together_and_several_of_each(kubectl, tmp_path):
    for name in ("one", "two"):
        (folder := tmp_path / name).mkdir()
        (folder / "kustomization.yaml").write_text("resources: [job.yaml]")
        (folder / "job.yaml").write_text(JOB.replace("name: job", f"name: {name}"))
    said = run("check", "-k", "one", "-k", "two", "-f", RUNTIMES / "plain.yaml", "-f", "-", "-o", "summary", tools=kubectl.parent, cwd=tmp_path,
               input=JOB.replace("name: job", "name: three").replace("name: plain", "name: planes"))
    assert said.returncode == 1
    assert said.stdout.splitlines()[1:] == [
        'stdin:1: TrainJob default/three is refused: 1 error, 0 warnings; spec.runtimeRef: Invalid value: "planes": ClusterTrainingRuntime not '
        'found: it must be created before the TrainJob',
        "kustomize one:1: TrainJob default/one is allowed: 0 errors, 0 warnings",
        "kustomize two:1: TrainJob default/two is allowed: 0 errors, 0 warnings",
        "4 objects: 3 allowed, 0 of them with warnings, 1 refused; 1 error, 0 warnings",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_kustomize_refuses_is_shown_and_ends_with_2(command, kubectl, tmp_path):
    said = run(command, "-k", tmp_path / "none", tools=kubectl.parent)
    assert (said.returncode, said.stdout) == (2, "")
    *reason, last = said.stderr.splitlines()
    assert any(str(tmp_path / "none") in line for line in reason), "kubectl's own words"
    assert last == f"kubectl trainjob {command}: -k {tmp_path}/none: kubectl kustomize ended with status 1"


@pytest.mark.parametrize("script, status, words", [
    ("kill -9 $$", 2, "-k here: kubectl kustomize ended with status 137"),
    ("exec /bin/head -c 17000000 /dev/zero", 2, "-k here: kubectl prints more than 16777216 bytes"),
    ("echo 'a: ['", 2, "kustomize here: line 2, column 1: "),
    ("echo 'a: 1'", 2, "kustomize here:1: not a Kubernetes object"),
    ("exit 0", 2, "neither a TrainJob nor a runtime among the documents"),
])
def test_a_build_that_fails_or_is_no_build_ends_with_2_and_one_line(tmp_path, script, status, words):
    said = run("check", "-k", "here", tools=fake_kubectl(tmp_path, script))
    assert (said.returncode, said.stdout) == (status, "")
    (line,) = said.stderr.splitlines()
    assert line.startswith("kubectl trainjob check: ") and words in line


def test_without_kubectl_the_other_way_is_named(tmp_path):
    said = run("check", "-k", "here", tools=tmp_path)
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == "kubectl trainjob check: -k here: kubectl was not found: without it, pipe the output of kustomize to -f -\n"


def test_a_directory_whose_name_begins_with_a_dash_is_no_option_of_kubectl(tmp_path):
    tools = fake_kubectl(tmp_path, 'printf "%s\\n" "$@" >&2; exit 3')
    said = run("check", "-k", "--enable-helm", tools=tools)
    assert said.stderr.splitlines()[:-1] == ["kustomize", "--", "--enable-helm"]
