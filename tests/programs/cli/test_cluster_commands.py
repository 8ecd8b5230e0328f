"""Commands of `kubectl trainjob` that work on a cluster, on a scripted API server."""

import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
import threading
import time
import xml.etree.ElementTree

import pytest

from fake_team import EVENTS, JOBS, PODS, Team, condition, ended, pod, running, train_job

PROGRAM = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"
PROGRESS = {"progressPercentage": 40, "estimatedRemainingSeconds": 600, "lastUpdatedTime": "2099-01-15T10:00:00Z"}
FORBIDDEN = 'trainjobs.trainer.kubeflow.org is forbidden: User "jane" cannot list resource "trainjobs" in API group ' \
            '"trainer.kubeflow.org" in the namespace "team"'


def environment(**variables):
    return {**os.environ, "HOME": "/nonexistent", "KUBECONFIG": "/nonexistent/config", **variables}


def command(server, *arguments):
    return [PROGRAM, arguments[0], "--server", f"http://127.0.0.1:{server.port}", "-n", "team", *arguments[1:]]


def run(server, *arguments, **variables):
    return subprocess.run(command(server, *arguments), capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
                          env=environment(**variables))


def out(server, *arguments):
    done = run(server, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


class Screen:
    """Runs a command on a terminal of 60 columns and 6 lines until the context ends, and collects what it writes."""

    def __init__(self, server, *arguments, **variables):
        self._parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 60, 0, 0))
        self._process = subprocess.Popen(command(server, *arguments), stdin=child, stdout=child, stderr=child,
                                         env=environment(TERM="xterm", LANG="C.UTF-8", LC_ALL="", **variables))
        os.close(child)
        self._written = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            while piece := os.read(self._parent, 65536):
                self._written += piece
        except OSError:
            pass  # the command has ended

    def text(self):
        return self._written.decode()

    def until(self, pattern):
        end = time.monotonic() + 30
        while not re.search(pattern, self.text()):
            assert time.monotonic() < end, self.text()
            threading.Event().wait(0.02)
        return self.text()

    def ended(self):
        return self._process.wait(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._parent)


def help_of(*words):
    return subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout


def test_help_names_each_command_whose_help_has_examples_that_name_it():
    text = help_of()
    names = re.findall(r"(?m)^       kubectl trainjob (\S+)", text)
    assert len(names) > 1
    for name in names:
        assert re.search(rf"(?m)^  {name} +\S", text), name
        said = help_of(name)
        examples = said.split("Examples:\n")[1].split("\n\n")[0]
        assert f"  kubectl trainjob {name} " in examples + " " and max(map(len, said.splitlines())) <= 100, said


def test_a_list_says_what_each_job_does_with_one_request_for_a_page_of_each_kind():
    jobs = [running("night", progress=PROGRESS, trainer={"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}),
            running("starts", ready=False, trainer={"numNodes": 4}), train_job("unbuilt", condition("Created", "False", "JobsBuildFailed")),
            train_job("waits", condition("Suspended"), labels={"kueue.x-k8s.io/queue-name": "gpus"}, suspend=True), ended("old")]
    with Team(*jobs) as team:
        ready = {"conditions": [condition("Ready")]}
        team.objects[PODS] = [pod(f"starts-node-0-{number}", number, train_job="starts", **(ready if number else {})) for number in range(4)]
        team.objects[PODS].append(pod("night-node-0-0", 0, conditions=ready["conditions"]))
        team.objects[PODS].append(pod("night-node-0-1", 1, conditions=ready["conditions"]))
        lines = out(team, "list").splitlines()
        asked = [line.split("?")[0] for line in team.asked]
        assert "labelSelector=jobset.sigs.k8s.io/jobset-name in (night,starts)" in team.asked[-1]
    assert lines[0].split() == ["NAME", "STATE", "PROGRESS", "ETA", "NODES", "GPUS", "AGE", "DEADLINE", "TTL", "QUEUE"]
    cells = {row[0]: row for row in (re.split(r" {3,}", line) for line in lines[1:])}
    assert {name: row[1] for name, row in cells.items()} == {
        "night": "running", "starts": "running", "unbuilt": "cannot be created", "waits": "queued", "old": "complete"}
    assert cells["night"][2] == "40%" and cells["night"][4:6] == ["2/2", "16"] and cells["starts"][4] == "3/4"
    assert cells["waits"][-1] == "gpus" and cells["old"][8] != "-"
    assert {path: asked.count(path) for path in asked} == {
        "GET /apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes": 1,
        "GET /apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainingruntimes": 1,
        f"GET {JOBS}": 3, "GET /apis/batch/v1/namespaces/team/jobs": 1, f"GET {PODS}": 3}


def test_a_list_tells_failing_programs_lost_nodes_and_what_cannot_start_from_what_runs():
    crash_loop = pod("a", 0, train_job="fails", state={"waiting": {"reason": "CrashLoopBackOff"}}, restarts=3,
                     last={"terminated": {"exitCode": 1, "reason": "Error"}})
    no_image = pod("b", 0, train_job="unknown", phase="Pending", state={"waiting": {"reason": "ErrImagePull"}})
    silent = pod("c", 0, train_job="lost", node="n2", conditions=[condition("Ready", "False")])
    no_volume = pod("d", 0, train_job="bare", node="n2", phase="Pending", state={"waiting": {"reason": "ContainerCreating"}},
                    conditions=[condition("PodReadyToStartContainers", "False")])
    jobs = [running("fails"), running("unknown", ready=False), running("lost"), running("far", ready=False), running("bare", ready=False)]
    with Team(*jobs) as team:
        team.objects[PODS] = [crash_loop, no_image, silent, no_volume]
        team.objects["/apis/batch/v1/namespaces/team/jobs"] = [
            {"metadata": {"name": "fails-node-0", "namespace": "team", "labels": {"jobset.sigs.k8s.io/jobset-name": "fails"}}, "spec": {"backoffLimit": 6}}]
        rows = {row["name"]: (row["state"], row.get("detail")) for row in json.loads(out(team, "list", "-o", "json"))["items"]}
        assert rows == {"fails": ("fails and is retried", "3 of 6, exit code 1"), "unknown": ("cannot start", "its image cannot be pulled"),
                        "lost": ("lost a node", "n2"), "far": ("waits for its Pods", None),
                        "bare": ("cannot start", "its volumes or its network are not ready")}
        assert not [line for line in team.asked if "/nodes/" in line]
        # The node itself knows better than the Pod.
        team.objects["/api/v1/nodes"] = [{"metadata": {"name": "n2"}, "status": {"conditions": [condition("Ready")]}}]
        assert re.search("lost +running", out(team, "list", "-o", "wide")) and "GET /api/v1/nodes/n2" in team.asked
        team.refusals = {("GET", "/api/v1/nodes/n2"): (403, "no")}
        assert re.search("lost +lost a node, n2", out(team, "list", "-o", "wide"))
        team.refusals = {("GET", PODS): (403, "no")}
        said = run(team, "list")
        assert said.returncode == 0 and "note: pods could not be read (no): whether programs fail or still run" in said.stderr


def test_a_list_is_printed_for_programs_in_each_format():
    with Team(running("night"), ended("old", "Failed")) as team:
        document = json.loads(out(team, "list", "-o", "json"))
        assert [(row["name"], row["state"], row["nodes"]) for row in document["items"]] == [
            ("night", "running", {"ready": 1, "wanted": 1}), ("old", "failed", {"wanted": 1})]
        assert out(team, "list", "-o", "name") == "trainjob.trainer.kubeflow.org/night\ntrainjob.trainer.kubeflow.org/old\n"
        assert "\n  name: night\n" in out(team, "list", "-o", "yaml")
        assert "first failed job: node-0" in out(team, "list", "-o", "wide") and "RUNTIME" in out(team, "list", "-o", "wide")
        assert "night" in out(team, "list", "--runtime", "torch")
        assert json.loads(out(team, "list", "--runtime=other", "-o", "json")) == {"items": []}
        assert run(team, "list", "--runtime=other").stderr == "No TrainJobs found in the namespace team\n"
        out(team, "list", "-l", "a=b")
        assert f"GET {JOBS}?limit=500&labelSelector=a=b" in team.asked


def test_a_terminal_shows_a_list_that_changes_in_place_within_its_size():
    with Team(running("a"), *(running(f"job-{i}") for i in range(9))) as team:
        def watch(request, url, body, plain=team.answer):
            if "watch=" not in url.query:
                return plain(request, url, body)
            team.watch(request, [ended("a"), *team.objects[JOBS][1:]])
        team.answer = watch
        with Screen(team, "list", "--watch", "--interval=100ms") as screen:
            text = screen.until(r"\x1b\[32mcomplete[^J]*\x1b\[J")
        assert text.startswith("\x1b[2J\x1b[?2026h") and text.count("\x1b[2J") == 1 and text.count("\x1b[H") > 1
        # Each frame is one update with the cursor hidden, and clears only what is behind its own text.
        *frames, _ = text.split("\x1b[?2026l")
        assert all(re.fullmatch(r"(\x1b\[2J)?\x1b\[\?2026h\x1b\[\?25l\x1b\[H(?:[^\x1b]|\x1b\[\d*m|\x1b\[K)*\x1b\[J\x1b\[\?25h", frame) for frame in frames)
        assert all(frame.count("\r\n") == 5 and "and 7 more lines" in frame for frame in frames)
        assert all(len(re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", line).strip()) <= 60 for frame in frames for line in frame.split("\r\n"))
        with Screen(team, "list", NO_COLOR="1") as screen:
            assert screen.ended() == 0 and "\x1b" not in screen.until("a +running")


def test_a_pipe_gets_a_line_for_each_change():
    with Team(running("night"), running("day")) as team:
        def watch(request, url, body, plain=team.answer):
            if "watch=" not in url.query:
                return plain(request, url, body)
            team.watch(request, [ended("night")])
        team.answer = watch
        watching = subprocess.Popen(command(team, "list", "--watch", "--interval=100ms"), stdout=subprocess.PIPE, text=True, env=environment())
        try:
            lines = [re.split(r" {3,}", watching.stdout.readline().strip())[:2] for _ in range(5)]
        finally:
            watching.kill()
            watching.wait()
            watching.stdout.close()
        assert lines == [["NAME", "STATE"], ["night", "running"], ["day", "running"], ["night", "complete"], ["day", "gone"]]


def test_suspend_and_resume_change_named_ones_and_all_but_no_queued_ones():
    with Team(running("a"), running("b"), ended("c"), running("q", labels={"kueue.x-k8s.io/queue-name": "gpus"})) as team:
        name = "trainjob.trainer.kubeflow.org/"
        assert out(team, "suspend", "a", "team/b") == f"{name}a suspended\n{name}b suspended\n"
        assert f"PATCH {JOBS}/a?fieldManager=kubectl-trainjob" in team.asked
        assert team.bodies[0] == {"metadata": {"uid": "uid-a"}, "spec": {"suspend": True}}
        done = run(team, "resume", "--all")
        assert done.stdout == f"{name}a resumed\n{name}b resumed\n{name}c has ended, and stays as it is\n" and done.returncode == 1
        assert done.stderr.startswith("kubectl trainjob resume: team/q is in the queue gpus: Kueue decides when it runs")
        assert run(team, "suspend").returncode == 2
        missing = run(team, "suspend", "nowhere")
        assert missing.returncode == 1 and "there is no TrainJob team/nowhere" in missing.stderr


@pytest.mark.parametrize("goal, becomes, status, line", [
    ("complete", ended("night"), 0, "complete after 1h"),
    ("complete", ended("night", "Failed"), 3, "failed after 1h (FailedJobs): first failed job: node-0"),
    ("failed", ended("night", "Failed"), 0, "failed after 1h"),
    ("running", running("night"), 0, "running after "),
    ("running", ended("night"), 3, "complete after 1h"),
    ("complete", None, 4, "TrainJob team/night is gone"),
    ("stopped", ended("night", "Failed"), 0, " (FailedJobs): first failed job: node-0"),
    ("stopped", None, 0, "TrainJob team/night is gone"),
])
def test_the_status_of_wait_tells_the_outcome(goal, becomes, status, line):
    with Team(running("night", ready=False)) as team:
        waiting = subprocess.Popen(command(team, "wait", "night", f"--for={goal}", "--interval=100ms"), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment())
        while len(team.asked) < 2:
            threading.Event().wait(0.02)
        team.objects[JOBS][:] = [becomes] if becomes else []
        printed, errors = waiting.communicate(timeout=60)
        assert (waiting.returncode, errors) == (status, "") and line in printed


def stopping(name, ends="2099-01-15T11:00:00Z"):
    seen = pod(name, 0, node="n1")
    seen["metadata"].update(deletionTimestamp=ends, deletionGracePeriodSeconds=30)
    return seen


def test_a_suspended_job_is_waited_for_until_its_last_program_has_ended():
    with Team(train_job("night", condition("Created"), condition("Suspended", time="2099-01-15T10:00:00Z"), suspend=True)) as team:
        team.objects[PODS] = [stopping("night-node-0-0-x")]
        assert re.search(r"night +suspended, stopping: 1 of 1 Pod within its grace \(.+ left\)", out(team, "list"))
        timed_out = run(team, "wait", "night", "--for=suspended", "--timeout=200ms", "--interval=100ms")
        assert (timed_out.returncode, timed_out.stdout) == (5, "")
        assert re.search(r"these still wait: team/night \(suspended, stopping: 1 of 1 Pod within its grace \(.+ left\); night-node-0-0-x on n1\)",
                         timed_out.stderr)
        waiting = subprocess.Popen(command(team, "wait", "night", "--for=suspended", "--interval=100ms"), stdout=subprocess.PIPE, text=True, env=environment())
        seen = len(team.asked)
        while len(team.asked) < seen + 6:
            threading.Event().wait(0.02)
        assert waiting.poll() is None
        team.objects[PODS] = []
        assert "suspended after" in waiting.communicate(timeout=60)[0] and waiting.returncode == 0
        # Without Pods their Jobs tell.
        team.refusals = {("GET", PODS): (403, "no")}
        team.objects["/apis/batch/v1/namespaces/team/jobs"] = [
            {"metadata": {"name": "night-node-0", "namespace": "team", "labels": {"jobset.sigs.k8s.io/jobset-name": "night"}}, "status": {"terminating": 1}}]
        done = run(team, "wait", "night", "--for=suspended", "--timeout=200ms", "--interval=100ms")
        assert done.returncode == 5 and "team/night (suspended, stopping: 1 of 1 Pod still runs)" in done.stderr and done.stderr.count("note: pods could not be read") == 1


def still_waits(team, name="night"):
    """Whether `wait --for=stopped` goes on. Returns what it says of the job."""
    waited = run(team, "wait", name, "--for=stopped", "--timeout=200ms", "--interval=100ms")
    assert (waited.returncode, waited.stdout) == (5, ""), waited
    return re.search(rf"these still wait: team/{name} \((.+)\)\n", waited.stderr)[1]


def test_a_job_that_has_ended_has_stopped_once_its_last_program_has():
    with Team(ended("night", "Failed")) as team:
        team.objects[PODS] = [stopping("night-node-0-0-x")]
        assert still_waits(team).startswith("failed, stopping: 1 of 1 Pod within its grace (")
        team.objects[PODS] = [pod("night-node-0-0-x", 0, phase="Failed")]
        assert "night stopped after " in out(team, "wait", "night", "--for=stopped")
        # A job that runs has not stopped, even if none of its programs has begun.
        team.objects[JOBS], team.objects[PODS] = [running("night", ready=False)], []
        assert still_waits(team) == "waits for its Pods"


def test_a_job_that_is_gone_has_stopped_once_it_has_left_no_pod():
    with Team() as team:
        team.objects[PODS] = [stopping("night-node-0-0-x")]
        assert still_waits(team).startswith("being deleted, stopping: 1 of 1 Pod within its grace (")
        # Another one has the name by now. Its own Pod goes on.
        later = running("night")
        later["metadata"].update(uid="uid-later", creationTimestamp="2026-01-15T12:00:00Z")

        def asked(more, seen=None):
            seen = len(team.asked) if seen is None else seen
            while len(team.asked) < seen + more:
                threading.Event().wait(0.02)
        before = len(team.asked)
        with subprocess.Popen(command(team, "wait", "night", "--for=stopped", "--interval=100ms"), stdout=subprocess.PIPE, text=True,
                              env=environment()) as waiting:
            asked(3, before)  # the job, its Pods, its Jobs
            team.objects[JOBS] = [later]
            asked(6)
            assert waiting.poll() is None
            its_own = pod("night-node-0-0-y", 0)
            its_own["metadata"]["creationTimestamp"] = "2026-01-15T12:00:00Z"
            team.objects[PODS] = [its_own]
            assert waiting.communicate(timeout=60)[0] == "TrainJob team/night is gone\n" and waiting.returncode == 0
        assert out(team, "wait", "nobody", "--for=stopped") == "TrainJob team/nobody is gone\n"


def test_only_pods_tell_that_a_job_has_stopped():
    with Team(ended("night")) as team:
        team.refusals = {("GET", PODS): (403, "no")}
        for team.objects[JOBS] in [[ended("night")], []]:
            refused = run(team, "wait", "night", "--for=stopped")
            assert (refused.returncode, refused.stdout) == (1, "") and "wait: pods could not be read (no), and nothing else" in refused.stderr


def test_a_job_that_another_controller_manages_is_not_waited_for_to_stop():
    far = {"managedBy": "kueue.x-k8s.io/multikueue"}
    with Team() as team:
        for job in [running("night", **far), ended("night", **far), train_job("night", condition("Suspended"), suspend=True, **far)]:
            team.objects[JOBS] = [job]
            refused = run(team, "wait", "night", "--for=stopped")
            assert (refused.returncode, refused.stdout) == (1, "") and "team/night is managed by another controller" in refused.stderr
        team.objects[JOBS] = [ended("night", **far)]
        assert "night managed by another controller after 1h" in out(team, "wait", "night")


def test_a_job_in_a_queue_that_never_ran_is_suspended():
    with Team(train_job("night", condition("Suspended"), labels={"kueue.x-k8s.io/queue-name": "gpus"}, suspend=True)) as team:
        assert "night queued after " in out(team, "wait", "night", "--for=suspended", "--timeout=5s", "--interval=100ms")


def test_wait_says_once_what_keeps_a_job_from_its_end():
    with Team(running("night", ready=False)) as team:
        team.objects[PODS] = [pod("a", 0, phase="Pending", state={"waiting": {"reason": "ErrImagePull"}})]
        waiting = subprocess.Popen(command(team, "wait", "night", "--interval=100ms"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment())
        assert waiting.stderr.readline() == ("kubectl trainjob wait: team/night cannot start, its image cannot be pulled; "
                                             "`kubectl trainjob explain team/night` says why\n")
        seen = len(team.asked)
        while f"GET {PODS}" not in [line.split("?")[0] for line in team.asked[seen:]]:
            threading.Event().wait(0.02)
        team.objects[JOBS] = [ended("night")]
        printed, errors = waiting.communicate(timeout=60)
        assert (waiting.returncode, errors) == (0, "") and "night complete after" in printed


def test_wait_ends_with_its_own_status_after_its_timeout_and_says_what_goes_on():
    with Team(running("night", ready=False)) as team:
        team.objects[PODS] = [pod("a", 0, phase="Pending", state={"waiting": {"reason": "ErrImagePull"}})]
        done = run(team, "wait", "night", "--timeout=200ms", "--interval=100ms")
        assert (done.returncode, done.stdout) == (5, "") and done.stderr.endswith("team/night (cannot start, its image cannot be pulled)\n")
        assert [line.split("?")[0] for line in team.asked].count(f"GET {PODS}") == 1, "as long as it waits, statuses are enough"
        team.objects[PODS] = []
        team.objects[JOBS] = [running("night", ready=False)]
        done = run(team, "wait", "night", "--for=running", "--timeout=200ms", "--interval=100ms")
        assert done.returncode == 5 and "these still wait: team/night (waits for its Pods)\n" in done.stderr


def test_a_timeline_is_drawn_as_text_and_as_a_picture(tmp_path):
    seen = pod("night-node-0-0-x", 0)
    seen["status"].update(phase="Succeeded", conditions=[condition("PodScheduled", time="2026-01-15T10:20:00Z")])
    seen["status"]["containerStatuses"][0]["state"] = {"terminated": {"startedAt": "2026-01-15T10:30:00Z", "finishedAt": "2026-01-15T11:00:00Z"}}
    with Team(ended("night")) as team:
        team.objects[PODS] = [seen]
        about = {"kind": "Pod", "name": "night-node-0-0-x"}
        team.objects[EVENTS] = [
            {"reason": "Pulling", "message": 'Pulling image "x"', "involvedObject": about, "lastTimestamp": "2026-01-15T10:20:00Z"},
            {"reason": "Pulled", "message": 'Successfully pulled image "x"', "involvedObject": about, "lastTimestamp": "2026-01-15T10:25:00Z"}]
        text = out(team, "timeline", "night", "--svg", str(tmp_path / "night.svg"))
    stages = [line.split()[:-1] for line in text.splitlines() if "#" in line]
    assert text.startswith("TrainJob team/night, complete, submitted 2026-01-15T10:00:00Z, took 1h\n")
    assert stages[:4] == [["scheduling", "20m"], ["image", "pulls", "5m"], ["start", "5m"], ["running", "30m"]]
    assert "^ 33% of the time was lost here" in text
    picture = xml.etree.ElementTree.parse(tmp_path / "night.svg").getroot()
    assert picture.tag == "{http://www.w3.org/2000/svg}svg" and len(picture.findall(".//{*}title")) == 8
    with Team(ended("night")) as team:
        done = run(team, "timeline", "night", "--svg", "/nonexistent/x.svg")
        assert done.returncode == 1 and "/nonexistent/x.svg cannot be written" in done.stderr


def test_logs_of_all_pods_come_in_the_order_of_their_time():
    with Team(running("night")) as team:
        team.objects[PODS] = [pod("a", 0), pod("b", 1)]
        team.logs = {"a": "2026-01-15T10:00:01Z one\n2026-01-15T10:00:03Z \n2026-01-15T10:00:05Z no end", "b": "2026-01-15T10:00:02Z two\n"}
        assert out(team, "logs", "night") == "node-0-0 | one\nnode-0-1 | two\nnode-0-0 | \nnode-0-0 | no end\n"
        assert out(team, "logs", "night", "--node=1") == "two\n"
        assert out(team, "logs", "night", "--node=1", "--prefix", "--tail=1") == "node-0-1 | two\n"
        missing = run(team, "logs", "night", "--node=7")
        assert missing.returncode == 1 and "TrainJob team/night has no node 7 yet; " in missing.stderr


def test_words_of_a_node_are_no_output():
    with Team(running("night")) as team:
        team.objects[PODS] = [pod("a", 0), pod("b", 1, state="waiting", phase="Pending")]
        team.logs = {"a": "unable to retrieve container logs for containerd://d0b7"}
        done = run(team, "logs", "night")
        assert (done.returncode, done.stdout) == (1, "")
        assert "logs: a: its node does not have the output: unable to retrieve container logs for containerd://d0b7\n" in done.stderr
        assert "logs: b: no node has taken it yet; `kubectl trainjob explain team/night` says why\n" in done.stderr


def test_pods_of_an_earlier_job_of_the_name_are_left_out():
    with Team(running("night")) as team:
        team.objects[PODS] = [pod("a", 0), pod("b", 0)]
        team.objects[PODS][1]["metadata"]["creationTimestamp"] = "2026-01-15T09:59:59Z"
        team.logs = {"a": "2026-01-15T10:00:01Z one\n", "b": "2026-01-15T10:00:02Z two\n"}
        assert out(team, "logs", "night") == "one\n"


def test_the_output_of_a_silent_node_is_left_out_after_ten_seconds():
    with Team(running("night")) as team:
        def answer(request, url, body, plain=team.answer):
            if "/pods/b/log" in url.path or "/pods/c/log" in url.path:
                team.ended.wait()
            else:
                plain(request, url, body)
        team.answer = answer
        team.objects[PODS] = [pod("a", 0, node="n1"), pod("b", 1, node="n2"), pod("c", 2, node="n2")]
        team.logs = {"a": "2026-01-15T10:00:01Z one\n"}
        begin = time.monotonic()
        done = run(team, "logs", "night")
        assert (done.returncode, done.stdout) == (1, "node-0-0 | one\n") and time.monotonic() - begin < 15
        assert done.stderr == "".join(f"kubectl trainjob logs: {name}: its node n2 does not answer, and its output is left out\n" for name in "bc")


def test_the_output_before_a_restart_is_printed_on_demand():
    with Team(running("night")) as team:
        team.objects[PODS] = [pod("a", 0, restarts=2), pod("b", 1)]
        team.logs = {"a": "2026-01-15T10:00:01Z Traceback\n"}
        assert out(team, "logs", "night", "--previous") == "node-0-0 | Traceback\n"
        assert f"GET {PODS}/a/log?timestamps=true&container=node&previous=true" in team.asked
        assert not [line for line in team.asked if "/pods/b/log" in line]
        team.objects[PODS] = [pod("b", 1)]
        said = run(team, "logs", "night", "--previous")
        assert said.returncode == 1 and "no container of TrainJob team/night was restarted in its Pod: leave out --previous" in said.stderr
        assert run(team, "logs", "night", "--previous", "--follow").returncode == 2


def test_followed_logs_end_with_the_job():
    with Team(running("night")) as team:
        team.objects[PODS] = [pod("a", 0), pod("b", 1, state="waiting")]
        team.logs = {"a": "2026-01-15T10:00:01Z one\n", "b": "2026-01-15T10:00:02Z two\n"}
        following = subprocess.Popen(command(team, "logs", "night", "--follow"), stdout=subprocess.PIPE, text=True, env=environment())
        assert following.stdout.readline() == "node-0-0 | one\n"
        team.objects[PODS] = [pod("a", 0, state="terminated"), pod("b", 1, state="terminated")]
        team.objects[JOBS] = [ended("night")]
        rest, _ = following.communicate(timeout=60)
        assert (following.returncode, rest) == (0, "node-0-1 | two\n")


def test_followed_logs_say_once_what_a_pod_lacks_for_its_start():
    with Team(running("night", ready=False)) as team:
        team.objects[PODS] = [pod("a", 0, phase="Pending", state={"waiting": {"reason": "ErrImagePull"}})]
        following = subprocess.Popen(command(team, "logs", "night", "--follow"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        assert following.stderr.readline() == ("kubectl trainjob logs: a: cannot start, its image cannot be pulled; "
                                               "`kubectl trainjob explain team/night` says why\n")
        team.objects[PODS] = [pod("a", 0, state="terminated")]
        team.logs = {"a": "2026-01-15T10:00:01Z one\n"}
        team.objects[JOBS] = [ended("night")]
        assert following.communicate(timeout=60) == ("one\n", "") and following.returncode == 0


def test_output_without_line_ends_is_shown_in_parts_and_progress_bars_as_they_come():
    with Team(running("night")) as team:
        team.objects[PODS] = [pod("a", 0), pod("b", 1)]
        team.logs = {"a": "2026-01-15T10:00:01Z " + "x" * 200_000 + "\n", "b": "2026-01-15T10:00:02Z  1 %\r 50 %\r100 %\r\n"}
        lines = out(team, "logs", "night").splitlines()
        assert [line for line in lines if line.startswith("node-0-1")] == ["node-0-1 |  1 %", "node-0-1 |  50 %", "node-0-1 | 100 %"]
        first = [line.removeprefix("node-0-0 | ") for line in lines if line.startswith("node-0-0")]
        assert "".join(first) == "x" * 200_000 and max(map(len, first)) <= 64 * 1024


def test_the_output_of_hundreds_of_pods_is_complete():
    with Team(running("night")) as team:
        team.objects[PODS] = [pod(f"p{number}", number) for number in range(300)]
        team.logs = {f"p{number}": f"2026-01-15T10:00:01Z of {number}\n" for number in range(300)}
        wanted = {f"node-0-{number} | of {number}" for number in range(300)}
        done = run(team, "logs", "night")
        assert done.returncode == 0 and "printed in groups of 100" in done.stderr
        assert set(done.stdout.splitlines()) == wanted
        team.objects[PODS] = [pod(f"p{number}", number, state="terminated") for number in range(300)]
        team.objects[JOBS] = [ended("night")]
        assert set(out(team, "logs", "night", "--follow").splitlines()) == wanted


def test_more_containers_than_connections_are_refused_with_the_remedy():
    with Team(running("night")) as team:
        team.objects[PODS] = [pod(f"p{number}", number) for number in range(20)]
        words = " ".join(f"'{word}'" for word in command(team, "logs", "night", "--follow"))
        done = subprocess.run(["bash", "-c", f"ulimit -n 50; exec {words}"], capture_output=True, text=True, timeout=60, check=False, env=environment())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("kubectl trainjob logs: to follow 20 containers takes 52 open files, and this program may have 50: raise the limit by "
                           "`ulimit -n`, or choose one node with --node\n")


def test_delete_takes_only_jobs_that_ended_long_enough_ago():
    with Team(running("night"), ended("old"), ended("new", time="2099-01-15T10:00:00Z"), ended("older", "Failed")) as team:
        assert [line.split(",")[0] for line in out(team, "delete", "--ended", "--older-than=7d", "--dry-run").splitlines()] == [
            "trainjob.trainer.kubeflow.org/old in team", "trainjob.trainer.kubeflow.org/older in team"]
        assert not [line for line in team.asked if line.startswith("DELETE")]
        assert out(team, "delete", "--ended", "--older-than=7d").count(", deleted\n") == 2
        assert team.bodies[0]["preconditions"] == {"uid": "uid-old"}
        assert [job["metadata"]["name"] for job in team.objects[JOBS]] == ["night", "new"]
        assert run(team, "delete").returncode == 2


def test_explain_prints_a_document_for_programs():
    with Team(running("night", progress=PROGRESS)) as team:
        team.objects[PODS] = [pod("a", 0)]
        document = json.loads(out(team, "explain", "night", "-o", "json"))
        assert document["state"] == "running" and document["pods"] == [{"name": "a", "phase": "Running"}]
        assert "Progress  40%, 10m left, reported 0s ago\n" in out(team, "explain", "night")
        assert run(team, "explain", "night", "-o", "json", "--watch").returncode == 2


def test_a_screen_of_explain_changes_in_place():
    with Team(running("night")) as team:
        with Screen(team, "explain", "night", "--watch", "--interval=100ms") as screen:
            screen.until("waits for its Pods")
            team.objects[JOBS] = [ended("night")]
            text = screen.until("complete")
        assert text.count("\x1b[2J") == 1


def test_a_reader_that_has_enough_ends_the_output_without_a_word():
    with Team(running("night")) as team:
        team.objects[PODS] = [pod("a", 0)]
        team.logs = {"a": "2026-01-15T10:00:01Z one line of many\n" * 20_000}
        words = " ".join(f"'{word}'" for word in command(team, "logs", "night"))
        done = subprocess.run(["bash", "-c", f"{words} | head -n 1; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True, timeout=60, check=True,
                              env=environment())
        assert (done.stdout.splitlines(), done.stderr) == (["one line of many", "141"], "")


def test_names_that_a_list_prints_are_arguments_of_other_commands():
    with Team(running("a"), running("b")) as team:
        names = out(team, "list", "-o", "name").splitlines()
        assert out(team, "suspend", *names) == "".join(f"{name} suspended\n" for name in names)


def test_options_may_precede_the_command():
    with Team(running("night")) as team:
        words = [PROGRAM, "-n", "team", "--server", f"http://127.0.0.1:{team.port}", "list", "-o", "name"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=environment())
        assert (done.returncode, done.stdout, done.stderr) == (0, "trainjob.trainer.kubeflow.org/night\n", "")
    helped = [subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, check=True).stdout for words in (["help", "list"], ["list", "--help"])]
    assert helped[0] == helped[1] != ""


def test_a_picture_may_go_to_standard_output():
    with Team(ended("night")) as team:
        assert xml.etree.ElementTree.fromstring(out(team, "timeline", "night", "--svg", "-")).tag.endswith("svg")


def completed(server, *words):
    done = subprocess.run([PROGRAM.with_name("kubectl_complete-trainjob"), *words], capture_output=True, text=True, timeout=60, check=True,
                          env=environment(PATH=f"{PROGRAM.parent}:{os.environ['PATH']}"))
    assert done.stderr == ""
    return done.stdout


def test_a_shell_completes_names_of_the_cluster():
    with Team(running("night"), running("day")) as team:
        options = ("--server", f"http://127.0.0.1:{team.port}", "-n", "team")
        assert completed(team, "explain", *options, "n") == "night\n:4\n"
        assert completed(team, "wait", *options, "--for=failed", "") == "night\nday\n:4\n"
        assert completed(team, "list", *options, "--runtime=") == "--runtime=torch\n:4\n"
    assert completed(team, "explain", *options, "n") == ":4\n"
    assert completed(team, "lis") == "list\tlist TrainJobs with state, progress, nodes, GPUs and times\n:4\n"


def test_a_shell_completes_contexts_of_the_kubeconfig(tmp_path):
    config = tmp_path / "config"
    config.write_text(json.dumps({"contexts": [{"name": "lab"}, {"name": "cloud"}], "users": [{"name": "me"}], "clusters": []}))
    assert completed(None, "list", "--kubeconfig", str(config), "--context", "") == "cloud\nlab\n:4\n"
    assert completed(None, "list", "--kubeconfig", str(config), "--user=") == "--user=me\n:4\n"


def test_kubectl_completes_the_plugin_in_each_shell(kubectl, tmp_path):
    with Team(running("night"), running("day")) as team:
        words = ["trainjob", "explain", "--server", f"http://127.0.0.1:{team.port}", "-n", "team", ""]
        # kubectl makes a folder in the home directory.
        variables = environment(HOME=str(tmp_path), PATH=f"{PROGRAM.parent.resolve()}:{kubectl.parent}:{os.environ['PATH']}")
        # The scripts of all shells call this.
        done = subprocess.run([kubectl, "__complete", *words], capture_output=True, text=True, timeout=60, check=True, env=variables)
        assert done.stdout == "night\nday\n:4\n"
        for shell in ("bash", "zsh", "fish"):
            script = subprocess.run([kubectl, "completion", shell], capture_output=True, text=True, timeout=60, check=True, env=variables).stdout
            assert " __complete " in script
        # In place of the package bash-completion, which sets the same variables.
        ready = "_get_comp_words_by_ref() { words=(\"${COMP_WORDS[@]}\"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }"
        line = " ".join(f"'{word}'" for word in ["kubectl", *words[:-1], "ni"])
        done = subprocess.run(["bash", "-c", f"{ready}; source <(kubectl completion bash); COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
                               "COMP_TYPE=9; __start_kubectl; echo ${COMPREPLY[@]}"], capture_output=True, text=True, timeout=60, check=True, env=variables)
        assert done.stdout == "night\n", done.stderr


@pytest.mark.parametrize("refusal, words", [
    ((401, "Unauthorized"), "have they expired?"),
    ((403, FORBIDDEN), "the role view is missing: an administrator binds it by `kubectl create rolebinding"),
    ((404, "404 page not found"), "this cluster has no TrainJobs (404 page not found): are the CRDs installed?"),
])
@pytest.mark.parametrize("arguments", [["list"], ["list", "--watch"], ["suspend", "--all"], ["wait", "--all"], ["delete", "--ended"]])
def test_an_error_of_the_cluster_is_one_line_with_its_remedy(refusal, words, arguments):
    with Team() as team:
        team.refusals = {("GET", JOBS): refusal}
        done = run(team, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"kubectl trainjob {arguments[0]}: ") and words in line


@pytest.mark.parametrize("name", ["list", "explain", "timeline", "logs", "wait"])
def test_a_cluster_that_is_older_or_newer_is_named_with_its_version(name):
    with Team() as team:
        team.refusals = {("GET", path): (404, "404 page not found") for path in (JOBS, f"{JOBS}/night")}
        team.objects["/apis"] = [{"metadata": {"name": "trainer.kubeflow.org"}, "versions": [{"version": "v2"}]}]
        done = run(team, name, *([] if name == "list" else ["night"]))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"kubectl trainjob {name}: this cluster has TrainJobs of trainer.kubeflow.org/v2, and this program knows v1alpha1: "
                           "install the kubectl trainjob of the release that is in the cluster\n")


def test_a_cluster_that_is_not_there_is_one_line():
    with Team() as team:
        pass
    done = run(team, "list")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.endswith("; is the cluster of the kubeconfig up, and can it be reached from here?")


def test_a_list_without_permission_for_runtimes_says_what_is_missing():
    with Team(running("night")) as team:
        team.refusals = {("GET", "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"): (403, "no")}
        done = run(team, "list")
        assert done.returncode == 0 and "night" in done.stdout
        assert done.stderr == ("kubectl trainjob list: note: clustertrainingruntimes.trainer.kubeflow.org could not be read (no): times to live, "
                               "and nodes and GPUs that TrainJobs do not say, are missing\n")
