"""Strings of objects, files and logs do nothing to the terminal or to the CI that shows what a command prints, in any format."""

import copy
import json
import re
import subprocess
import xml.etree.ElementTree

import pytest
import yaml

from fake_team import GROUP, JOBS, PODS, Team, pod, running
from paths import ROOT, shipped
from test_cluster_commands import PROGRAM, Screen, command, environment, help_of
from test_documents import full_team

# What a terminal obeys, what shows lines in another order, and what a CI takes for commands.
ESCAPES = "\x1b[2J\x1b]0;title\x07\x1bP\x9b31m\x85\x7f\x00\x08"
DIRECTIONS = "‮⁦‎؜"
LINES = "\r\n::error::forged\n##[error]forged\n##vso[task.complete]forged\n##teamcity[forged]\vforged\f    forged\ntrainjob is allowed"
HOSTILE = f"::warning::{ESCAPES}{DIRECTIONS}{LINES}"
# Of kinds that the program reads as something else than text: other values hide what is around them.
MEANINGS = {"kind", "apiVersion", "type", "status", "phase", "uid", "resourceVersion", "creationTimestamp", "lastTransitionTime", "lastUpdatedTime",
            "lastProgressTime", "lastTimestamp", "renewTime", "acquireTime"}

UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f؜‎‏‪-‮⁦-⁩\u2028\u2029]")
COMMANDS_OF_CI = re.compile(r"(?m)^[^!-~\n]*::|##[A-Za-z]*\[")
# What the program itself writes to a terminal.
OF_SCREENS = re.compile(r"\x1b\[(2J|H|K|J|\?25[hl]|\?2026[hl]|0m|2m|3[123]m)")


def spoiled(value, name="", at=None):
    """Returns the value with a hostile end of each string in it; at the start of those that are names of nothing."""
    if isinstance(value, dict):
        return {key: spoiled(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [spoiled(each, name) for each in value]
    if isinstance(value, str) and name not in MEANINGS:
        return (HOSTILE + value if name in ("message", "reason") else value + HOSTILE)
    return value


def hostile_team(name="night"):
    """The team of test_documents whose strings are all hostile but the name by which the TrainJob is found."""
    team = full_team()
    for path, objects in team.objects.items():
        team.objects[path] = [spoiled(each) for each in objects]
    team.objects[f"{GROUP}/trainjobs"] = team.objects[JOBS]
    for job in team.objects[JOBS]:
        job["metadata"]["namespace"] = "team"
    team.objects[JOBS][0]["metadata"]["name"] = name
    for path in ("/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets", "/apis/coordination.k8s.io/v1/namespaces/kubeflow-system/leases"):
        for each in team.objects[path]:
            each["metadata"]["name"] = each["metadata"]["name"].removesuffix(HOSTILE)
    team.logs = {each["metadata"]["name"]: f"2026-01-15T10:00:01Z {HOSTILE}\n" for each in team.objects[PODS]}
    return team


def require_safe(text, context):
    assert not (found := UNSAFE.search(text)), (context, found, text)
    assert not (found := COMMANDS_OF_CI.search(text)), (context, found, text)


def run(team, *arguments):
    done = subprocess.run(command(team, *arguments), capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL, env=environment())
    for each in (done.stdout, done.stderr):
        require_safe(each.decode(), arguments)
    return done.stdout.decode(), done.stderr.decode()


# The commands on a cluster in all their forms.
ON_A_CLUSTER = [["list"], ["list", "-o", "wide"], ["list", "-A"], ["list", "-o", "name"], ["list", "-o", "json"], ["list", "-o", "yaml"],
                ["explain", "night"], ["explain", "night", "-o", "json"], ["explain", "night", "-o", "yaml"],
                ["timeline", "night"], ["timeline", "night", "--svg", "-"], ["logs", "night"], ["logs", "night", "--prefix", "--container", HOSTILE.replace("\0", "")],
                ["wait", "night", "--timeout=200ms", "--interval=100ms"], ["wait", "--all", "--timeout=200ms", "--interval=100ms"],
                ["suspend", "--all"], ["resume", "--all"], ["delete", "--ended", "--dry-run"], ["delete", "--ended"]]
OFFLINE = [["check"], ["check", "-o", "json"], ["check", "-o", "summary"], ["render"], ["render", "-o", "json"], ["render", "--diff"]]


def test_nothing_but_the_escaping_type_writes():
    writes = re.compile(r"\b(fputs|fputc|puts|putchar|fwrite|f?printf|dprintf|perror|cout|cerr|clog)\b|::write\(")
    found = [f"{file.name}: {line.strip()}" for file in sorted((ROOT / "apps" / "cli" / "src").rglob("*.[ch]pp")) if file.name != "text.cpp"
             for line in file.read_text().splitlines() if writes.search(line)]
    assert not found


def test_every_command_is_tried():
    names = set(re.findall(r"(?m)^       kubectl trainjob (\S+)", help_of()))
    assert names == {words[0] for words in ON_A_CLUSTER + OFFLINE}


@pytest.mark.parametrize("words", ON_A_CLUSTER, ids=lambda words: " ".join(words)[:40].encode("unicode_escape").decode())
def test_hostile_strings_of_a_cluster_are_escaped(words):
    with hostile_team() as team:
        out, err = run(team, *words)
        assert "forged" in out + err or words[0] in ("suspend", "resume", "wait") and "night" in out + err
        if "json" in words or "yaml" in words:
            document = json.loads(out) if "json" in words else yaml.safe_load(out)
            assert [text for text in strings_of(document) if HOSTILE in text], "they read as what they were"
        if "--svg" in words:
            xml.etree.ElementTree.fromstring(out)
    # Each message of the API server is one line.
    with hostile_team() as team:
        team.refusals = {(method, path): (403, HOSTILE) for method in ("GET", "PATCH", "DELETE") for path in (*team.objects, f"{JOBS}/night")}
        _, err = run(team, *words)
        assert all(line.startswith(f"kubectl trainjob {words[0]}: ") for line in err.splitlines())


def strings_of(value):
    if isinstance(value, dict):
        return [text for each in value.items() for text in strings_of(list(each))]
    if isinstance(value, list):
        return [text for each in value for text in strings_of(each)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("words", [["list", "-o", "wide"], ["explain", "night"], ["timeline", "night"], ["logs", "night"],
                                   ["list", "--watch", "--interval=100ms"], ["explain", "night", "--watch", "--interval=100ms"]], ids=" ".join)
def test_a_terminal_obeys_the_program_alone(words):
    with hostile_team() as team, Screen(team, *words) as screen:
        text = screen.until(r"\?2026l" if "--watch" in words else "forged")
        if "--watch" not in words:
            screen.ended()
    require_safe(OF_SCREENS.sub("", text.replace("\r\n", "\n")), words)


def places_of(value, path=()):
    """Yields the path of each string in the value, and of each key."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield (*path, key), True
            yield from places_of(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from places_of(each, (*path, index))
    elif isinstance(value, str):
        yield path, False


def with_hostile(value, path, is_key):
    changed = copy.deepcopy(value)
    place = changed
    for step in path[:-1]:
        place = place[step]
    if is_key:
        place[path[-1] + HOSTILE] = place.pop(path[-1])
    else:
        place[path[-1]] += HOSTILE
    return changed


def manifests():
    runtime = yaml.safe_load((ROOT / "manifests" / "runtimes" / "plain.yaml").read_text())
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "job", "labels": {"a": "b"}, "annotations": {"c": "d"}},
           "spec": {"runtimeRef": {"name": "plain"}, "trainer": {"image": "i", "command": ["c"], "args": ["a", "b"], "env": [{"name": "N", "value": "v"}]}}}
    return [job, runtime]


@pytest.mark.parametrize("words", OFFLINE, ids=" ".join)
def test_each_hostile_string_of_a_manifest_is_escaped(words, tmp_path):
    program = shipped("kubectl-trainjob")  # which starts much sooner than the sanitized one
    plain = manifests()
    tried = 0
    for which, manifest in enumerate(plain):
        for number, (path, is_key) in enumerate(places_of(manifest)):
            spoilt = [with_hostile(each, path, is_key) if each is manifest else each for each in plain]
            file = tmp_path / f"{which}-{number}.json"
            file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": spoilt}))
            arguments = [words[0], "-f", file, *words[1:]]
            if "--diff" in words:
                file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": plain}))
                other = tmp_path / "other.json"
                other.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": spoilt}))
                arguments.append(other)
            done = subprocess.run([program, *arguments], capture_output=True, timeout=60, check=False, env=environment())
            assert done.returncode in (0, 1, 2)
            # A string that changes no built object leaves nothing to show of a difference.
            assert done.stdout + done.stderr or ("--diff" in words and done.returncode == 0)
            require_safe(done.stdout.decode(), path)
            require_safe(done.stderr.decode(), path)
            if words[-1] == "json" and done.stdout:
                json.loads(done.stdout)
            if words == ["render"] and done.stdout:
                rendered = subprocess.run([program, "render", "-f", file, "-o", "json"], capture_output=True, timeout=60, check=True, env=environment())
                assert list(yaml.safe_load_all(done.stdout)) == json.loads(rendered.stdout)["items"], "what is applied is exact"
            tried += 1
    assert tried > 60


def test_a_file_of_a_foreign_name_forges_no_line(tmp_path):
    # A name of a file has neither a zero byte nor a slash.
    file = tmp_path / ("::error::\x1b[2J‮\nforged.yaml")
    file.write_text(yaml.safe_dump_all(manifests()))
    for words in OFFLINE[:5]:
        done = subprocess.run([PROGRAM, words[0], "-f", file.name, *words[1:]], capture_output=True, timeout=60, check=False, env=environment(), cwd=tmp_path)
        assert done.returncode in (0, 1) and b"forged.yaml" in done.stdout + done.stderr or words[0] == "render", done
        require_safe(done.stdout.decode() + done.stderr.decode(), words)
    done = subprocess.run([PROGRAM, f"--{HOSTILE}".replace("\0", "")], capture_output=True, timeout=60, check=False, env=environment())
    assert done.returncode == 2 and len(done.stderr.decode().splitlines()) == 1
    require_safe(done.stderr.decode(), "an option")


def test_completed_words_are_lines_of_their_own():
    with hostile_team() as team:
        team.objects[JOBS][0]["metadata"]["name"] = "night" + HOSTILE
        done = subprocess.run([PROGRAM, "__complete", "explain", "--server", f"http://127.0.0.1:{team.port}", "-n", "team", ""], capture_output=True, timeout=60,
                              check=True, env=environment())
    lines = done.stdout.decode().splitlines()
    assert lines[-1] == ":4" and len(lines) == 3, "a page of two, and what a shell shall do with them"
    require_safe("\n".join(lines), "completion")


def test_colours_of_logs_end_with_their_line_and_reach_terminals_only():
    log = "2026-01-15T10:00:01Z \x1b[1;31mred\tand on\x1b[2K\x1b[1A\n2026-01-15T10:00:02Z plain\n"
    with Team(running("night")) as team:
        team.objects[PODS] = [pod("a", 0)]
        team.logs["a"] = log
        piped = subprocess.run(command(team, "logs", "night"), capture_output=True, timeout=60, check=False, env=environment()).stdout.decode()
        with Screen(team, "logs", "night") as screen:
            screen.ended()
            shown = screen.until("plain").replace("\r\n", "\n")
    assert "\x1b" not in piped
    assert "\x1b[1;31mred\tand on\\x1b[2K\\x1b[1A\x1b[0m\n" in shown
    assert not re.search(r"\x1b(?!\[1;31m|\[0m)", shown)
