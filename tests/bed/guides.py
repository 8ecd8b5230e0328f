"""Guides as tests: runs the commands of a guide, and compares their output with the output that the guide shows.

A ```yaml block whose first line is "# NAME.yaml" becomes that file. The API server must accept any other one (--dry-run=server).
A ```console block has commands, each after "$ ", and their output. "..." stands for the rest of a word or line or, alone in a line,
for any lines. A command that only reads is repeated until it prints the expected output.

Guides use the namespace `default`. The test runs in another one, which stands for it."""

import dataclasses
import os
import re
import subprocess

from rest import wait_for

BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.M | re.S)
IN_A_CLUSTER = re.compile(r"kubectl (?!trainjob (check|render))")
LOOKS = re.compile(r"(kubectl (-n \S+ )?(get|describe|wait|auth|explain|api-resources|trainjob (explain|list|logs|timeline|wait))\b)")
DEFAULT = re.compile(r"\bdefault(?=/| namespace\b)|(?<=-n )default\b")
# Those that need programs that run, or that end when they are told to. tests/cluster/real follows them, the others are followed on nodes
# that only pretend to run Pods.
ON_REAL_NODES = {"first-minutes-data-scientist.md", "getting-started.md", "kubectl-trainjob.md", "lifecycle.md", "troubleshooting.md"}
FILE = re.compile(r"# (\S+\.yaml)\n")


@dataclasses.dataclass
class Step:
    line: int
    command: str = ""
    output: str = ""
    file: str = ""
    text: str = ""  # of the file or the object


def steps_of(guide):
    """Returns the steps in their order."""
    text = guide.read_text()
    found = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        if block[1] == "yaml":
            named = FILE.match(block[2])
            found.append(Step(line, file=named[1] if named else "", text=block[2]))
        elif block[1] == "console":
            found += commands_of(block[2], line)
    return found


def commands_of(text, line):
    found = []
    for number, each in enumerate(text.splitlines(), line):
        if found and found[-1].command.endswith("\\"):
            found[-1].command = found[-1].command[:-1] + each.strip()
        elif each.startswith("$ "):
            found.append(Step(number, command=each[2:]))
        else:
            found[-1].output += each + "\n"
    return found


def pattern_of(output):
    """Returns a pattern of the output that accepts any width of its columns."""
    lines = []
    for line in output.strip().splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            words = ["-+" if set(word) == {"-"} else re.escape(word).replace(r"\.\.\.", ".*") for word in line.split()]
            lines.append(r"[^\S\n]*" + r"[^\S\n]+".join(words) + r"[^\S\n]*\n")
    return re.compile("".join(lines))


def keep_pods_running(rest):
    """Changes all runtimes so that their pods run on. Without this, the test bed's nodes end a pod after a second."""
    for runtime in rest.list("clustertrainingruntimes"):
        for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
            pod = job["template"]["spec"]["template"]
            pod.setdefault("metadata", {}).setdefault("labels", {})["signalbox.test/run-seconds"] = "never"
        rest.replace("clustertrainingruntimes", runtime)


def runbook_commands(page):
    """Returns [(name of the alert, command)] of docs/operations.md."""
    blocks = re.findall(r"(?ms)^### (Signalbox\w+)\n\n```\n(.*?)\n```", page.read_text())
    return [(name, line) for name, block in blocks for line in ([block] if block.startswith("for ") else block.splitlines())]


# Commands of the runbook about our own Pods.
NEEDS_PODS = re.compile(r"\b(logs|port-forward|top|POD|pods|deployment|secret|VERB)\b")


class Reader:
    """Follows a guide in a directory and a namespace of its own, which is that of the kubeconfig."""

    def __init__(self, plane, programs, directory, kubeconfig, namespace):
        self._directory = directory
        self._namespace = namespace
        tools = directory / "bin"
        tools.mkdir()
        for program in (plane.kubectl_path, programs / "kubectl-trainjob", *programs.glob("signalbox-*")):
            (tools / program.name).symlink_to(program)
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(directory),
                             "PATH": f"{tools}:{os.environ['PATH']}"}

    def follow(self, step):
        if step.command:
            self._do(self._here(step))
        elif step.file:
            (self._directory / step.file).write_text(step.text)
        else:
            status, printed = self._run("kubectl apply --dry-run=server -f -", step.text)
            assert status == 0, (step.line, printed)

    def _here(self, step):
        if not IN_A_CLUSTER.match(step.command):
            return step
        command, output = (DEFAULT.sub(self._namespace, text) for text in (step.command, step.output))
        return dataclasses.replace(step, command=command, output=output)

    def _do(self, step):
        wanted = pattern_of(step.output)

        def as_written():
            status, printed = self._run(step.command)
            good = bool(wanted.fullmatch(printed)) if step.output.strip() else status == 0
            if status != 0:
                good = good and bool(re.search(r"(?m)^(Error|error|The )", step.output))
            return good or Unlike(step, printed)
        if LOOKS.match(step.command):
            wait_for(f"line {step.line}, {step.command}", as_written, timeout=60, interval=0.5)
        else:
            outcome = as_written()
            assert outcome, outcome

    def _run(self, command, text=None):
        run = subprocess.run(["bash", "-c", command], cwd=self._directory, env=self._environment, input=text,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        return run.returncode, run.stdout if run.stdout.endswith("\n") or not run.stdout else run.stdout + "\n"


@dataclasses.dataclass
class Unlike:
    """A false value that shows the output that was printed instead."""
    step: Step
    printed: str

    def __bool__(self):
        return False

    def __repr__(self):
        return f"line {self.step.line}\n$ {self.step.command}\n{self.printed}--- wanted\n{self.step.output}"
