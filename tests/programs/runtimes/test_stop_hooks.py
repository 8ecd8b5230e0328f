"""The preStop hooks of the shipped MPI runtimes, with real launchers: each rank hears of a stop, and has the time to save.

Each test has process IDs of its own, as a Pod has: the hooks look for launchers by name. A stand-in for ssh starts what belongs on
another host beside the rest.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml

RUNTIMES = pathlib.Path(__file__).resolve().parents[3] / "manifests" / "runtimes"
PYTHON = "/usr/bin/python3"
RANK = """
import os, signal, time
def say(text):  # in one write, which the output of another rank cannot part
    os.write(1, ("rank " + name + text + "\\n").encode())
name = next(os.environ[each] for each in ("OMPI_COMM_WORLD_RANK", "PMI_RANK") if each in os.environ)
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
say(" runs")
while not told:
    time.sleep(0.05)
time.sleep(2)
say(" saved after " + str(len(told)))
"""
SSH = """#!/bin/sh
while :; do
    case $1 in
    -o) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
shift
sh -c "$*"    # without exec, so that this process keeps its name
"""
HERE = os.uname().nodename
OPEN_MPI = ["mpirun.openmpi", "--mca", "plm_rsh_agent", "ssh", "--mca", "oob_tcp_if_include", "lo", "-n", "2"]
MPICH = ["mpiexec.hydra", "-launcher", "ssh", "-iface", "lo", "-n", "2"]
LAUNCHERS = {
    "Open MPI on one host": [*OPEN_MPI, "--host", f"{HERE}:2"],
    "Open MPI on the launcher and a node": [*OPEN_MPI, "--host", f"{HERE}:1,node:1"],
    "Open MPI on nodes alone": [*OPEN_MPI, "--host", "one:1,other:1"],
    "MPICH on one host": MPICH,
    "MPICH on nodes": [*MPICH, "-hosts", "one,other"],
}


def hooks():
    """Yields the script of each container of the MPI runtimes."""
    for name in ("deepspeed-distributed", "mlx-distributed"):
        spec = yaml.safe_load((RUNTIMES / f"{name}.yaml").read_text())["spec"]
        for job in spec["template"]["spec"]["replicatedJobs"]:
            (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
            shell, option, script = container["lifecycle"]["preStop"]["exec"]["command"]
            assert (shell, option) == ("sh", "-c")
            yield script


def stopped(tmp_path, command, ranks=2, path=None):
    """Runs the hook beside a command whose ranks run.

    Returns (exit code of the hook, the lines of ranks until it ended, exit code of the command or None)."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(SSH)
    (programs / "ssh").chmod(0o755)
    asked = {"hook": next(hooks()), "command": command, "ranks": ranks, "path": path, "log": str(tmp_path / "log")}
    environment = {**os.environ, "PATH": f"{programs}:/usr/bin:/bin", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    done = subprocess.run(["unshare", *as_root, "--pid", "--fork", "--kill-child", "--mount-proc", PYTHON, __file__, json.dumps(asked)],
                          env=environment, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    return answer["hook"], answer["lines"], answer["command"]


def play(asked):
    """Does so as process 1, which ends whatever it has started."""
    log = pathlib.Path(asked["log"])
    with log.open("w") as printed:
        program = subprocess.Popen(asked["command"], stdout=printed, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 30
    while log.read_text().count(" runs\n") < asked["ranks"]:
        if time.monotonic() > deadline or (asked["ranks"] and program.poll() is not None):
            sys.exit(f"the ranks do not run: {log.read_text()}")
        time.sleep(0.05)
    hook = subprocess.run(["/bin/sh", "-c", asked["hook"]], env={"PATH": asked["path"] or os.environ["PATH"]}, timeout=40)
    lines = sorted(line for line in log.read_text().splitlines() if line.startswith("rank "))
    print(json.dumps({"hook": hook.returncode, "lines": lines, "command": program.poll()}))


RUN = [f"rank {number} runs" for number in range(2)]
SAVED = [f"rank {number} saved after 1" for number in range(2)]


def test_the_hook_is_the_same_in_all_containers_that_have_ranks():
    assert len(set(hooks())) == 1 and len(list(hooks())) == 4


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_each_rank_gets_one_signal_and_the_launcher_ends_when_all_have_saved(tmp_path, launcher):
    assert stopped(tmp_path, [*LAUNCHERS[launcher], PYTHON, "-c", RANK]) == (0, sorted(RUN + SAVED), 0)


def test_several_launchers_behind_a_shell_are_waited_for(tmp_path):
    one = [*OPEN_MPI[:-1], "1", PYTHON, "-c", RANK]
    both = ["sh", "-c", '"$@" & "$@"; wait', "sh", *one]
    assert stopped(tmp_path, both)[:2] == (0, sorted([RUN[0], SAVED[0]] * 2))


def test_a_launcher_that_has_ended_and_that_nobody_has_waited_for_holds_no_stop(tmp_path):
    program = f"import subprocess, time; subprocess.Popen({[*OPEN_MPI, '--host', f'{HERE}:2', PYTHON, '-c', RANK]}); time.sleep(600)"
    assert stopped(tmp_path, [PYTHON, "-c", program]) == (0, sorted(RUN + SAVED), None)


def test_without_a_launcher_there_is_nothing_to_wait_for(tmp_path):
    assert stopped(tmp_path, ["sleep", "600"], ranks=0) == (0, [], None)


def test_an_image_without_pgrep_stops_as_before(tmp_path):
    little = tmp_path / "little"
    little.mkdir()
    for name in ("cat", "sleep"):
        (little / name).symlink_to(shutil.which(name))
    found = stopped(tmp_path, [*LAUNCHERS["Open MPI on one host"], PYTHON, "-c", RANK], path=str(little))
    assert found == (0, RUN, None)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as process 1 it would not end
    play(json.loads(sys.argv[1]))
