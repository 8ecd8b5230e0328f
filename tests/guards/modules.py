"""Checks the boundaries between the modules of docs/architecture.md that a search of the sources can find.

Include paths already keep a library from including the ones above it. This finds what include paths cannot: system headers in the
wrong place, clocks, logs, files or sockets in the pure libraries, folders of a module that include each other, and a command of the
command line that includes another one.
"""

import graphlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Their sources compute values from values. embed is a program of the build, which writes a source of libs/crd.
PURE, EXCEPT = ("libs/api/", "libs/crd/", "libs/merge/", "libs/runtime/", "libs/lifecycle/"), "libs/crd/embed/"
IMPURE = (r'#include\s*[<"](net/|kube/|boost/asio|boost/beast|openssl/|prometheus/'
          r'|sys/|netinet/|arpa/|netdb|unistd|syslog|thread>|fstream>|iostream>|filesystem>)')

# (name, pattern, allowed places)
RULES = [
    ("RapidJSON", r'#include\s*[<"]rapidjson', ("libs/api/src",)),
    ("yaml-cpp", r'#include\s*[<"]yaml-cpp', ("libs/api/src",)),
    ("Beast", r'#include\s*<boost/beast|boost::beast', ("libs/net/src", "tests/unit/net", "bench")),
    ("OpenSSL", r'#include\s*<openssl', ("libs/net/src", "tests/unit/net", "tests/unit/support", "tests/fuzz", "bench")),
    ("Asio", r'boost/asio|boost::asio|\basio::', ("libs/net", "libs/kube", "libs/offline", "libs/progress", "libs/controller", "libs/admission", "apps", "tests", "bench")),
    ("a clock", r'_clock::now\(|::now\(\)|\btime\(nullptr\)', ("libs/net", "libs/kube", "apps", "tests", "bench")),
    ("a stream to the terminal", r'std::(cout|cerr|clog)\b', ("libs/net/src", "apps", "tests", "bench")),
    # The certificate's Secret is made by one of several replicas, which each have a field manager.
    ("a write without a precondition", r'\bUnconditional\b', ("libs/kube", "apps/webhook/src/certificate", "tests", "bench")),
    ("a sleep", r'this_thread::sleep|\busleep\(|\bsleep\(\d', ()),
]

# Of apps/cli/src; each other folder there is a command.
SHARED_BY_COMMANDS = {"cluster", "command", "job", "text"}


def offences():
    assert [*impurities("a.cpp", '#include "net/process/log.hpp"')] and not [*impurities("a.cpp", "#include <map>")]
    for path in sorted(ROOT.glob("*/**/*.[ch]pp")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("build"):
            continue
        text = path.read_text(encoding="utf-8")
        if name.startswith(PURE) and not name.startswith(EXCEPT):
            yield from impurities(name, text)
        for what, pattern, allowed in RULES:
            if not name.startswith(allowed):
                for match in re.finditer(pattern, text):
                    line = text.count("\n", 0, match.start()) + 1
                    yield f"{name}:{line}: {what} does not belong here, only in {', '.join(allowed)}"


def impurities(name, text):
    for match in re.finditer(IMPURE, text):
        line = text.count("\n", 0, match.start()) + 1
        yield f"{name}:{line}: a pure library has no sockets, files, threads or logs, and must not include {match[1]}"


def folder_of(name):
    """Returns the module of a file and its folder there. A header in include/ belongs to the folder of src/ with the same path."""
    room, module, part, *rest = pathlib.PurePosixPath(name).parts
    return f"{room}/{module}", "/".join(rest[1 if part == "include" else 0:-1]) or "its root"


def circle_in(sources):
    """Returns folders of one module that include each other, or None. sources: {file of libs/ or apps/: its text}."""
    known = {}
    for name in sources:
        module, folder = folder_of(name)
        known[module, name.partition("/include/" if "/include/" in name else "/src/")[2].removeprefix(f"{module.split('/')[1]}/")] = folder
    uses = {}
    for name, text in sources.items():
        module, folder = folder_of(name)
        for included in re.findall(r'^#include "(.+)"', text, re.MULTILINE):
            other = known.get((module, included.removeprefix(f"{module.split('/')[1]}/")), folder)
            if other != folder:
                uses.setdefault(f"{module}: {folder}", set()).add(f"{module}: {other}")
    try:
        graphlib.TopologicalSorter(uses).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return None


def circles():
    planted = {"apps/a/src/one.hpp": '#include "b/two.hpp"', "apps/a/src/b/two.hpp": '#include "one.hpp"'}
    assert circle_in(planted) and not circle_in(planted | {"apps/a/src/one.hpp": ""})
    sources = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
               for room in ("libs", "apps") for path in sorted((ROOT / room).glob("**/*.[ch]pp"))}
    if found := circle_in(sources):
        yield f"folders include each other: {' <- '.join(found)}"


def between_commands(sources):
    """Yields includes of one command's folder by another. sources: {file below apps/cli/src: its text}."""
    folders = {name.partition("/")[0] for name in sources if "/" in name} - SHARED_BY_COMMANDS
    for name, text in sources.items():
        for other in re.findall(r'^#include "([^"/]+)/', text, re.MULTILINE) if "/" in name else ():
            if other in folders and not name.startswith(f"{other}/"):
                yield f"apps/cli/src/{name}: commands share {', '.join(sorted(SHARED_BY_COMMANDS))}, and must not include {other}/"


def commands():
    planted = {"a/one.cpp": '#include "b/two.hpp"', "b/two.hpp": '#include "text/text.hpp"', "text/text.hpp": ""}
    assert len([*between_commands(planted)]) == 1 and not [*between_commands(planted | {"a/one.cpp": ""})]
    source = ROOT / "apps/cli/src"
    yield from between_commands({path.relative_to(source).as_posix(): path.read_text(encoding="utf-8")
                                 for path in sorted(source.glob("**/*.[ch]pp"))})


def main():
    found = [*offences(), *circles(), *commands()]
    print("\n".join(found) or "no boundary between modules is crossed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
