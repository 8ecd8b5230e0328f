"""Checks that every plugin has the parts that docs/plugins.md lists: source, declaration, line in the order, table of tests, row.

Checks, too, that the plugin which docs/plugins.md shows is the one that the tests build, and that no other code or build file names a
framework, or includes a file of a plugin.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "libs/runtime"
TESTS = ROOT / "tests/unit/runtime"
# Names of frameworks and of kinds that belong to plugins, and are not those of policies.
NO_POLICIES = ("torchtune", "podgroups?")
# Members of policies that other code has other reasons to say.
ORDINARY_WORDS = ("kubernetes", "disruptionBudget", "networkPolicy")
# The plugin of the guide: tests build it, and no list of the tree has it.
EXAMPLE = ROOT / "tests/unit/support/cases/relay.cpp"
INCLUDES = re.compile(r'#\s*include\s+"plugins/[^"]*"')


def read(path):
    return path.read_text(encoding="utf-8")


def names():
    """Returns a pattern of the names of frameworks and of kinds of gangs, which no other code knows.

    They are the members of the plugins' policies. The names of plugins without a policy, such as status, are ordinary words."""
    sources = [read(path) for path in sorted((RUNTIME / "src/plugins").glob("*/*.cpp"))]
    members = [member for source in sources for member in re.findall(r'\.member = "(\w+)"', source)]
    policies = sum(source.count("const Policy* policy() const override") for source in sources)
    if len(members) != policies:
        sys.exit(f"guard.plugins: {policies} plugins have a policy, but {len(members)} policies name their .member in a literal")
    return "|".join([*(member for member in members if member not in ORDINARY_WORDS), *NO_POLICIES])


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


# Comments may give examples, and the table of accelerators has resources of a scheduler.
FRAMEWORKS = re.compile(rf'"(?:[^"\\]|\\.)*\b(?:{names()})\b(?!\.sh/v?gpu-)[^"]*"', re.IGNORECASE)
# In build files a name may be a part of a variable.
IN_BUILD_FILES = re.compile(rf"(?<![a-z])(?:{names()})(?![a-z])", re.IGNORECASE)


def offences_of_code(text):
    """Yields (number of the line, what is wrong) of C++ code outside of the plugins."""
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        if found := INCLUDES.search(code):
            yield number, f"{found[0]} belongs to a hook of runtime/plugin.hpp"
        elif found := FRAMEWORKS.search(code):
            yield number, f"{found[0]} belongs to a plugin"


def offences_of_build_file(text):
    """Yields the same of a CMake file outside of the plugins."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := IN_BUILD_FILES.search(line):
            yield number, f"{found[0]} belongs to a CMake file of the plugin"


def names_elsewhere():
    """Yields what code and build files outside of the plugins know of a framework or of a kind of gang."""
    allowed = (RUNTIME / "src/plugins", RUNTIME / "src/pipeline.cpp")
    readers = {"*.[ch]pp": offences_of_code, "CMakeLists.txt": offences_of_build_file, "*.cmake": offences_of_build_file}
    for folder in ("libs", "apps"):
        for files, offences_of in readers.items():
            for path in sorted((ROOT / folder).rglob(files)):
                if any(path.is_relative_to(each) for each in allowed):
                    continue
                for number, offence in offences_of(read(path)):
                    yield f"{path.relative_to(ROOT)}:{number}: {offence}"


# Lines that are offences, and lines that are none.
SAMPLES = [
    (offences_of_code, '#include "plugins/gang/gang.hpp"', True),
    (offences_of_code, 'const char* kind = "the Volcano gang";', True),
    (offences_of_code, '#include "runtime/plugin.hpp"  // such as "mpi"', False),
    (offences_of_code, '{"volcano.sh/vgpu-number", device},', False),
    (offences_of_build_file, "file(READ src/plugins/flux/init.sh flux_init)", True),
    (offences_of_build_file, "target_compile_definitions(runtime PRIVATE WITH_MPI=1)", True),
    (offences_of_build_file, "target_compile_options(runtime PRIVATE -fno-rtti)", False),
]


def wrong_samples():
    for offences_of, line, is_offence in SAMPLES:
        if bool(list(offences_of(line))) != is_offence:
            yield f"this guard does not work: {offences_of.__name__}() of {line}"


def offences():
    header = read(RUNTIME / "src/pipeline.cpp")
    yield from wrong_samples()
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
