"""Which tests a difference between the checkout and a revision can have broken."""

import pathlib
import re
import subprocess

# The library of each program, and the tests of that program.
PROGRAMS = {"webhook": "programs.webhook", "reconciler_app": "programs.reconciler"}
# Nearest first.
ORDER = ("unit", "guard", "threads", "fuzz", "model", "programs", "cluster", "bed")
# What a changed file concerns, by its path: names of tests, as regular expressions. The first one that matches counts.
PLACES = [
    (r"tests/unit/(?:support/.*)", r"unit\."),
    (r"tests/unit/reconciler/", r"unit\.reconciler_app"),
    (r"tests/unit/(\w+)/", r"unit\.\1$"),
    (r"tests/model/", r"model|cluster\.lifecycle|guard\.mutations"),
    (r"tests/programs/(\w+)/", r"programs\.\1"),
    (r"tests/cluster/operations/manifests/", r"cluster\.(manifests|operations)"),
    (r"tests/cluster/(\w+)/", r"cluster\.\1$"),
    (r"tests/cluster/conftest.py", r"cluster\."),
    (r"tests/bed/", r"cluster\.|programs\.|bed$"),
    (r"tests/fuzz/", r"fuzz\."),
    (r"tests/guards/", r"guard\."),
    (r"tests/data/", r"unit\.(runtime|webhook|reconciler_app)|cluster\.(admission|operations|manifests|lifecycle)|guard\."),
    (r"manifests/examples/", r"cluster\.docs|guard\."),
    (r"manifests/(base/crds|crds-source)/", r"unit\.|guard\.|programs\.|cluster\."),
    (r"manifests/", r"guard\.|cluster\."),
    (r"certs/", r"programs\.webhook|cluster\."),
    (r"scripts/mutations", r"guard\.mutations"),
    (r"scripts/lib/(demo|stories|timeline)", r"cluster\.docs"),
    (r"(docs/|[^/]+\.md$)", r"guard\.|cluster\.docs|programs\.cli"),
    (r"bench/", r"guard\."),
    (r"scripts/", r"guard\."),
]


def changed_files(root, revision):
    """Also what is not committed, and what git does not know yet."""
    def lines(*command):
        return subprocess.run(["git", *command], cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    base = lines("merge-base", revision, "HEAD")[0]
    return sorted({*lines("diff", "--name-only", base), *lines("ls-files", "--others", "--exclude-standard")})


def rooms_above(root):
    """Folder of each library and application -> its name and the names of those that are built on it, the nearest first."""
    folders, uses = {}, {}
    for file in (*root.glob("libs/*/CMakeLists.txt"), *root.glob("apps/*/CMakeLists.txt")):
        for name, words in re.findall(r"(?:add_module|target_link_libraries)\((\w+)\s(.*?)\)", file.read_text(), re.S):
            folders[file.parent.relative_to(root).as_posix()] = name
            uses[name] = set(words.split())
    found = {}
    for folder, name in folders.items():
        found[folder] = [name]
        for lower in found[folder]:  # which grows meanwhile
            found[folder] += sorted(upper for upper, words in uses.items() if lower in words and upper not in found[folder])
    return found


def patterns_for(file, rooms):
    """Regular expressions of the tests that a change of `file` can break."""
    place = "/".join(pathlib.PurePosixPath(file).parts[:2])
    if place in rooms:
        found = [rf"unit\.{name}$" for name in rooms[place]] + [PROGRAMS[name] for name in rooms[place] if name in PROGRAMS]
        found += ["guard", "cluster", r"programs\.cli"]
        found += ["model"] if "reconciler_app" in rooms[place] else []
        found += ["threads"] if place == "libs/net" else []
        found += ["fuzz"] if "runtime" in rooms[place] else []
        return found
    for pattern, tests in PLACES:
        if found := re.match(pattern, file):
            return [found.expand(tests)]
    return ["."]


def tests_for(root, revision, names):
    """The names of the tests to run, in their order."""
    rooms, found = rooms_above(root), {}
    for file in changed_files(root, revision):
        for rank, pattern in enumerate(patterns_for(file, rooms)):
            for name in names:
                if re.match(pattern, name):
                    found[name] = min(rank, found.get(name, rank))
    return sorted(found, key=lambda name: (ORDER.index(name.partition(".")[0]), found[name]))
