"""Every plugin is where docs/plugins.md says that one is added: a file, a declaration, a source, a line in the order, and tests."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "libs/runtime"
TESTS = ROOT / "tests/runtime"


def read(path):
    return path.read_text(encoding="utf-8")


def plugins():
    """Name of the file -> the functions that make a plugin in it."""
    made = {}
    for path in sorted((RUNTIME / "src/plugins").glob("*.cpp")):
        names = re.findall(r"^std::unique_ptr<Plugin> make_(\w+)\(", read(path), re.MULTILINE)
        if names:
            made[path.stem] = names
    return made


def tables_of_tests():
    """What the guide says: plugin -> files of tests."""
    tables = {}
    for line in read(ROOT / "docs/plugins.md").splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]
        if len(cells) == 2 and cells[0] and cells[1] and all(name.endswith("_test.cpp") for name in cells[1]):
            tables |= {plugin: cells[1] for plugin in cells[0]}
    return tables


def offences():
    header, sources = read(RUNTIME / "src/plugins/plugins.hpp"), read(RUNTIME / "CMakeLists.txt")
    order, test_sources = read(RUNTIME / "src/pipeline.cpp"), read(TESTS / "CMakeLists.txt")
    made, tables = plugins(), tables_of_tests()
    for name, functions in made.items():
        if functions != [name]:
            yield f"plugins/{name}.cpp makes {functions}, not one plugin of its name"
        if f" make_{name}(" not in header:
            yield f"make_{name}() is not declared in plugins.hpp"
        if f"src/plugins/{name}.cpp" not in sources:
            yield f"plugins/{name}.cpp is not among the sources of libs/runtime"
        if order.count(f"list.push_back(make_{name}(") != 1:
            yield f"make_{name}() is not once in make_pipeline()"
        if name not in tables:
            yield f"docs/plugins.md does not say where {name} is tested"
        for test in tables.get(name, []):
            if not re.search(rf"\b{test}\b", test_sources) or "TEST_CASE" not in read(TESTS / test):
                yield f"{test}, where {name} is tested, is not among the tests of the runtime"
    for name in tables.keys() - made.keys():
        yield f"docs/plugins.md has tests of {name}, which is no plugin"
    lines = re.findall(r"list\.push_back\((.*)", order)
    if not lines[-1].startswith("make_job_set("):
        yield "the JobSet is not the last in make_pipeline()"


def main():
    found = list(offences())
    print("\n".join(found) if found else f"{len(plugins())} plugins are where they belong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
