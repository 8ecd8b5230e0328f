"""Finds the tests that a difference between the checkout and a revision can have broken."""

import pathlib
import re
import subprocess

# The library of each program, and the tests of that program. Those of the plugin run the servers, too.
PROGRAMS = {"webhook_app": r"programs\.(webhook|limits|cli)", "reconciler_app": r"programs\.(reconciler|cli)",
            "cli_app": r"programs\.(cli|plugin)"}
# Nearest first.
ORDER = ("unit", "guard", "threads", "fuzz", "model", "turns", "programs", "cluster", "bed")
# Names of tests, as regular expressions, for the path of a changed file. The first match counts.
PLACES = [
    (r"tests/unit/support/", r"unit\.|model|cluster\.lifecycle"),
    (r"tests/unit/net/", r"unit\.net$|threads\.net$"),
    (r"tests/unit/webhook/", r"unit\.webhook_app|threads\.webhook"),
    (r"tests/unit/(reconciler|cli)/", r"unit\.\1_app"),
    (r"tests/unit/(\w+)/", r"unit\.\1$"),
    (r"tests/model/", r"model|cluster\.lifecycle|guard\.mutations"),
    (r"tests/turns/", r"turns"),
    (r"tests/scaling/", r"guard\.scaling"),
    (r"tests/programs/(\w+)/", r"programs\.\1"),
    (r"tests/cluster/operations/manifests/", r"cluster\.manifests"),
    (r"tests/cluster/scheduling/coscheduling/", r"cluster\.coscheduling"),
    (r"tests/cluster/scheduling/conftest.py", r"cluster\.(scheduling|coscheduling)"),
    (r"tests/cluster/operations/conftest.py", r"cluster\.(manifests|operations)"),
    (r"tests/cluster/(\w+)/", r"cluster\.\1$"),
    (r"tests/cluster/conftest.py", r"cluster\."),
    (r"tests/bed/browser.py", r"guard\.site$"),
    (r"tests/bed/interface\.py", r"guard\.interface$"),
    (r"tests/bed/node/", r"cluster\.(real|docs)$|bed\.node$"),
    (r"tests/bed/test_(bench|controllers|gate|instructions|terminal|together)\.py", r"bed\.\1$"),
    (r"tests/bed/", r"cluster\.|programs\.|bed"),
    (r"tests/fuzz/", r"fuzz\."),
    (r"tests/guards/", r"guard\."),
    (r"tests/data/", r"unit\.(runtime|admission|controller)|cluster\.(admission|operations|manifests|lifecycle)|guard\."),
    (r"manifests/examples/", r"cluster\.docs|programs\.cli|guard\."),
    (r"manifests/(base/crds|crds-source)/", r"unit\.|guard\.|fuzz\.|programs\.|cluster\."),
    (r"manifests/runtimes/", r"guard\.|cluster\.|programs\.(cli|plugin|runtimes)"),
    (r"manifests/", r"unit\.webhook_app|guard\.|programs\.limits|cluster\."),
    (r"certs/", r"programs\.webhook|cluster\."),
    (r"scripts/mutations", r"guard\.mutations"),
    (r"scripts/lib/client-python", r"guard\.|cluster\.clients"),
    (r"scripts/lib/(demo|stages|preparation|stories|real_stories|timeline)", r"cluster\.docs"),
    (r"scripts/(release-plugin|check-advisories|lib/bill_of_materials)", r"programs\.plugin|guard\."),
    (r"scripts/lib/(artifacts|architectures)", r"programs\.plugin|guard\.|cluster\.manifests"),
    (r"scripts/(images|release|pictures|lib/(images|overlays|panels|incidents|pictures)\.py)", r"guard\.|cluster\.manifests"),
    (r"scripts/generate-crds", r"guard\.|cluster\.admission"),
    (r"scripts/lib/(gate|changes)", r"bed\.gate"),
    (r"scripts/test-long", r"bed\.gate|guard\."),
    (r"scripts/cluster", r"cluster\.|bed$"),
    (r"docs/design/admission\.md", r"unit\.runtime|guard\.|cluster\.docs"),
    (r"docs/webhook-limits\.md", r"unit\.webhook_app|guard\.|programs\.limits|cluster\.docs"),
    (r"docs/progress\.md", r"guard\.|programs\.webhook|cluster\.(clients|docs)"),
    (r"docs/checkpoints\.md", r"guard\.|cluster\.(docs|real)$"),
    (r"docs/", r"guard\.|programs\.(cli|limits)|cluster\.(docs|manifests|security)"),
    (r"[^/]+\.md$", r"guard\.|cluster\.(docs|manifests|security)|programs\.(cli|limits)"),
    (r"bench/", r"guard\.|bed\.(bench|controllers|instructions)"),
    (r"scripts/", r"guard\."),
]


def changed_files(root, revision):
    """Returns the changed files, with those that are not committed or not tracked."""
    def lines(*command):
        return subprocess.run(["git", *command], cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    known = [name for name in (revision, f"origin/{revision}")
             if not subprocess.run(["git", "rev-parse", "-q", "--verify", f"{name}^{{commit}}"], cwd=root, capture_output=True, check=False).returncode]
    if not known:
        raise SystemExit(f"scripts/test: there is no revision {revision}; give the one to compare with: scripts/test --changed REV")
    base = lines("merge-base", known[0], "HEAD")[0]
    # Both names of a moved file.
    return sorted({*lines("diff", "--name-only", "--no-renames", base), *lines("ls-files", "--others", "--exclude-standard")})


def rooms_above(root):
    """Maps the folder of each library and application to its name and the names of its dependents, the nearest first."""
    folders, uses = {}, {}
    for file in (*root.glob("libs/*/CMakeLists.txt"), *root.glob("apps/*/CMakeLists.txt")):
        for name, words in re.findall(r"(?:add_module|target_link_libraries|add_program\(\S+)[( ](\w+)\s(.*?)\)", file.read_text(), re.S):
            folders[file.parent.relative_to(root).as_posix()] = name
            uses[name] = set(words.split())
    found = {}
    for folder, name in folders.items():
        found[folder] = [name]
        for lower in found[folder]:  # the loop appends to it
            found[folder] += sorted(upper for upper, words in uses.items() if lower in words and upper not in found[folder])
    return found


def patterns_for(file, rooms):
    """Returns regular expressions of the tests that a change of `file` can break."""
    place = "/".join(pathlib.PurePosixPath(file).parts[:2])
    if place in rooms:
        found = [rf"unit\.{name}$" for name in rooms[place]] + [PROGRAMS[name] for name in rooms[place] if name in PROGRAMS]
        found += ["guard", "cluster"]
        found += ["model", "turns"] if "controller" in rooms[place] else []
        found += ["threads"] if {"net", "webhook_app"} & set(rooms[place]) else []
        found += ["fuzz"] if {"runtime", "crd"} & set(rooms[place]) else []
        found += [r"unit\.runtime$"] if "crd" in rooms[place] else []  # it has the tests of crd
        return found
    for pattern, tests in PLACES:
        if found := re.match(pattern, file):
            return [found.expand(tests)]
    return ["."]


def tests_for(root, revision, names):
    """Returns the names of the tests to run, in their order."""
    rooms, found = rooms_above(root), {}
    for file in changed_files(root, revision):
        for rank, pattern in enumerate(patterns_for(file, rooms)):
            for name in names:
                if re.match(pattern, name):
                    found[name] = min(rank, found.get(name, rank))
    return sorted(found, key=lambda name: (ORDER.index(name.partition(".")[0]), found[name]))
