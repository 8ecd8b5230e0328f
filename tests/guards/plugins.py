"""Checks that every plugin has the parts that docs/plugins.md lists: source, declaration, line in the order, table of tests, row.

Checks, too, that the plugin which docs/plugins.md shows is the one that the tests build, and that no other code names a framework.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "libs/runtime"
TESTS = ROOT / "tests/unit/runtime"
# The plugin of the guide: tests build it, and no list of the tree has it.
EXAMPLE = ROOT / "tests/unit/support/cases/relay.cpp"
# Their names belong to libs/runtime/src/plugins and the order of the pipeline. Comments may give examples.
FRAMEWORKS = re.compile(r'"(?:[^"\\]|\\.)*\b(?:mpi|torch|torchtune|jax|xgboost|flux|coscheduling|volcano|yunikorn|podgroups?)\b[^"]*"', re.IGNORECASE)


def read(path):
    return path.read_text(encoding="utf-8")


def plugins():
    """Returns {name of the file: the functions in it that make a plugin}."""
    made = {}
    for path in sorted((RUNTIME / "src/plugins").glob("*/*.cpp")):
        names = re.findall(r"^std::unique_ptr<Plugin> make_(\w+)\(", read(path), re.MULTILINE)
        if names:
            made[path.stem] = names
    return made


def order():
    """Returns the plugins of make_pipeline(), in its order."""
    return re.findall(r"list\.push_back\(make_(\w+)\(", read(RUNTIME / "src/pipeline.cpp"))


def rows_of_guide():
    """Returns a row of the guide per plugin: its name and its files of tests, the one with its table first."""
    for line in read(ROOT / "docs/plugins.md").splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]
        if len(cells) == 4 and len(cells[0]) == 1 and cells[2] and cells[2][0].endswith("_test.cpp"):
            yield cells[0][0], cells[2] + cells[3]


def blocks_of_guide():
    """Returns the C++ blocks of the guide."""
    return re.findall(r"^```cpp\n(.*?)^```$", read(ROOT / "docs/plugins.md"), re.MULTILINE | re.DOTALL)


def names_elsewhere():
    """Yields texts of code outside of the plugins that hold the name of a framework or of a kind of gang."""
    allowed = (RUNTIME / "src/plugins", RUNTIME / "src/pipeline.cpp")
    for folder in ("libs", "apps"):
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            if any(path.is_relative_to(each) for each in allowed):
                continue
            for number, line in enumerate(read(path).splitlines(), 1):
                code = line.split("//")[0]
                if found := FRAMEWORKS.search(code):
                    yield f"{path.relative_to(ROOT)}:{number}: {found[0]} belongs to a plugin"


def offences():
    header = read(RUNTIME / "src/pipeline.cpp")
    yield from names_elsewhere()
    if EXAMPLE.read_text(encoding="utf-8") not in blocks_of_guide():
        yield f"docs/plugins.md shows another plugin than {EXAMPLE.relative_to(ROOT)}, which the tests build"
    made, listed, guide = plugins(), order(), list(rows_of_guide())
    for name, functions in made.items():
        if functions != [name]:
            yield f"plugins/{name}.cpp makes {functions}, not one plugin of its name"
        if f" make_{name}(" not in header:
            yield f"make_{name}() is not declared in pipeline.cpp"
        if listed.count(name) != 1:
            yield f"make_{name}() is not once in make_pipeline()"
    for name in listed:
        if name not in made:
            yield f"make_pipeline() has {name}, but plugins/{name}.cpp does not exist"
        tests = [files for plugin, files in guide if plugin == name]
        if len(tests) != 1 or tests[0][0] != f"{name}_test.cpp":
            yield f"docs/plugins.md does not have one row of {name}, whose table of tests is {name}_test.cpp"
        for test in {f"{name}_test.cpp"}.union(*tests):
            if not has_tests(test):
                yield f"{test}, where {name} is tested, is not among the tests of the runtime"
    for name, _ in guide:
        if name not in listed:
            yield f"docs/plugins.md has tests of {name}, which is no plugin"
    if listed[-1:] != ["job_set"]:
        yield "the JobSet is not the last in make_pipeline()"


def has_tests(name):
    return any("TEST_CASE" in read(path) for path in TESTS.rglob(name))


def main():
    found = list(offences())
    print("\n".join(found) if found else f"{len(plugins())} plugins have all their parts")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
