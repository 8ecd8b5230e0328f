"""The offline commands in a shell, and every command of docs/offline-tools.md."""

import os
import pathlib
import re
import subprocess

import pytest

from paths import ROOT

BINARIES = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])
COMMANDS = ["check", "render"]
GUIDE = (ROOT / "docs" / "offline-tools.md").read_text()
RUNTIME = ROOT / "manifests" / "runtimes" / "plain.yaml"
JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job}
spec: {runtimeRef: {name: plain}}
"""


def run(*arguments, input="", cwd=None):
    return subprocess.run([BINARIES / "kubectl-trainjob", *map(str, arguments)], input=input, capture_output=True, text=True, timeout=60, cwd=cwd)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_the_options_and_the_program_the_command(command):
    said = run(command, "--help")
    assert said.returncode == 0 and said.stderr == ""
    for option in ("-f, --filename FILE", "-n, --namespace NAMESPACE", "-o, --output", "--feature-gates"):
        assert option in said.stdout
    assert f"kubectl trainjob {command} [options]" in said.stdout
    assert f"kubectl trainjob {command} [options]" in run("--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("arguments, words", [
    ([], "-f"),
    (["-f", "/no/such/file"], "/no/such/file does not exist"),
    (["-f"], "-f needs a value: FILE"),
    (["--colour"], "--colour"),
    (["-o", "xml", "-f", RUNTIME], "must be one of"),
    (["--feature-gates=Nonsense=true", "-f", RUNTIME], "Nonsense"),
    (["-f", "BROKEN"], "broken.yaml: line 2, column 1: duplicate key"),
    (["-f", "EMPTY"], "among the documents"),
])
def test_bad_usage_and_unreadable_input_end_with_2_and_one_line(tmp_path, command, arguments, words):
    (tmp_path / "broken.yaml").write_text("kind: X\nkind: Y\n")
    (tmp_path / "empty.yaml").write_text("")
    files = {"BROKEN": tmp_path / "broken.yaml", "EMPTY": tmp_path / "empty.yaml"}
    said = run(command, *(files.get(argument, argument) for argument in arguments))
    assert (said.returncode, said.stdout) == (2, "")
    (line,) = said.stderr.splitlines()
    assert line.startswith(f"kubectl trainjob {command}: ") and words in line, line


@pytest.mark.parametrize("command", COMMANDS)
def test_documents_come_from_several_files_and_from_standard_input(command):
    good = run(command, "-f", RUNTIME, "-f", "-", input=JOB)
    assert good.returncode == 0, good.stderr
    missing = run(command, "-f", "-", input="---\n" + JOB)
    assert missing.returncode == 1
    assert "stdin:5: TrainJob default/job " in missing.stdout + missing.stderr


def test_a_call_without_a_command_says_so():
    said = run()
    assert said.returncode == 2 and "a command is missing" in said.stderr
    assert all(f"{command} [options]" in run("--help").stdout for command in ("check", "explain NAMESPACE/NAME", "render"))


def test_rendered_twice_is_the_same_and_in_its_namespace():
    first, second = (run("render", "-n", "team", "-f", RUNTIME, "-f", "-", input=JOB) for _ in range(2))
    assert first.stdout == second.stdout
    assert re.findall(r"(?m)^kind: (.*)$", first.stdout) == ["ConfigMap", "JobSet"]
    assert re.findall(r"(?m)^  namespace: (.*)$", first.stdout) == ["team", "team"]
    assert first.stdout.count("\n---\n") == 1


def test_output_that_cannot_be_written_is_no_success():
    command = f"'{BINARIES}/kubectl-trainjob' render -f '{RUNTIME}' -f - > /dev/full"
    said = subprocess.run(["bash", "-c", command], input=JOB, capture_output=True, text=True, check=False)
    assert said.returncode == 1 and "cannot be written" in said.stderr


def examples():
    """Returns (command, its output) of the guide, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", GUIDE, re.DOTALL):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


def test_the_guides_commands_print_what_it_says(tmp_path, kubectl):
    (tmp_path / "manifests").symlink_to(ROOT / "manifests")
    (command, job), *rest = examples()
    assert command == "cat job.yaml"
    (tmp_path / "job.yaml").write_text(job)
    environment = {**os.environ, "PATH": f"{BINARIES}:{os.environ['PATH']}:{kubectl.parent}"}
    for command, printed in rest:
        said = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path,
                              env=environment, check=False).stdout
        # "..." stands for any lines.
        pattern = re.escape(printed).replace(re.escape("...\n"), "(?:.*\n)*")
        assert re.fullmatch(pattern, said), f"{command}\n{said}"
    assert len(rest) > 5
