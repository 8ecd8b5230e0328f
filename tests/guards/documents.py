"""Checks of the documents: docs/troubleshooting.md has an entry for every reason, and quotes only texts that admission has.
docs/design/lifecycle.md has a row for every reason of a condition. Every row of
the comparison names its test, and figures of the original stand beside what reproduces them. Every path in a document, as a link or in
`backticks`, exists, and so does the heading of a link."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REASONS = ["libs/api/include/api/condition.hpp", "libs/lifecycle/include/lifecycle/event.hpp"]
PLACES = ("apps/", "bench/", "certs/", "docs/", "libs/", "manifests/", "scripts/", "tests/")


def reasons(files=REASONS):
    """Yields the reasons in the namespaces `reason` and `event_reason`."""
    for name in files:
        text = (ROOT / name).read_text()
        for space in re.findall(r"namespace (?:event_)?reason \{(.*?)\n\}", text, re.S):
            yield from re.findall(r'std::string_view \w+ = "(\w+)"', space)


def unexplained():
    wanted = set(reasons())
    if len(wanted) < 10:
        yield "the reasons were not found"
    entries = re.findall(r"(?m)^### (\w+)$", (ROOT / "docs/troubleshooting.md").read_text())
    yield from (f"docs/troubleshooting.md lacks {reason}" for reason in sorted(wanted - set(entries)))
    required = (ROOT / "docs/design/lifecycle.md").read_text().split("## Conditions\n")[1].split("\n## ")[0]
    yield from (f"docs/design/lifecycle.md: no row has the reason {reason}" for reason in sorted(set(reasons(REASONS[:1])))
                if f"`{reason}`" not in required)


def texts_of_admission():
    """Returns every quoted text in libs/runtime, and the messages of the CRDs' rules, with white space as printed."""
    for path in (ROOT / "libs/runtime").rglob("*.cpp"):
        text = re.sub(r'"\s*\n\s*"', "", path.read_text())
        yield from re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
    for path in (ROOT / "manifests/base/crds").glob("*.yaml"):
        text = path.read_text().replace("''", "'")
        for rule in (r"(?m)^( *)- message: (.*(?:\n\1 {4,}.*)*)", r"(?m)^( *)messageExpression: (.*(?:\n\1 {2,}.*)*)"):
            yield from (" ".join(message.split()) for _, message in re.findall(rule, text))


def is_said(text, said):
    """Returns whether the text can be composed of pieces of `said`, none of them too short to be significant."""
    while text:
        length = next((n for n in range(len(text), 7, -1) if text[:n] in said), 0)
        if not length:
            return False
        text = text[length:]
    return True


def never_said():
    said = "\n".join(texts_of_admission())
    section = (ROOT / "docs/troubleshooting.md").read_text().split("## Refused when it is applied\n")[1].split("\n## ")[0]
    quoted = [text for row in re.findall(r"(?m)^\| (`.*?) \|", section) for text in re.findall(r"`([^`]+)`", row)]
    if len(quoted) < 5:
        yield "the texts of docs/troubleshooting.md were not found"
    for text in quoted:
        if text.startswith("failed calling webhook"):
            continue  # a text of the API server
        if not all(is_said(part.strip(), said) for part in text.split("...") if part.strip()):
            yield f"docs/troubleshooting.md: no message has {text!r}"


def documents():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", ROOT / "certs/README.md", *sorted(ROOT.glob("docs/**/*.md")),
            *sorted(ROOT.glob("manifests/**/*.md")), *sorted(ROOT.glob("tests/data/*/README.md"))]


def anchors_of(document):
    """Returns the anchors that GitHub makes from headings."""
    text = re.sub(r"(?ms)^```.*?^```$", "", document.read_text())
    headings = re.findall(r"(?m)^#+ (.*)$", text)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


def dead_paths(document):
    text = document.read_text()
    for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
        if "://" in link:
            continue
        target = document.parent / link if link else document
        if not target.exists():
            yield f"{document.relative_to(ROOT)} links to {link}, which does not exist"
        elif anchor and anchor not in anchors_of(target):
            yield f"{document.relative_to(ROOT)} links to {link}#{anchor}, a heading that does not exist"
    for quoted in re.findall(r"`([^`\n]+)`", text):
        path = quoted.split()[0].partition(":")[0] if quoted.strip() else ""
        if path.startswith(PLACES) and not re.search(r"[*<>{}A-Z]{2}|[*<>{}]", path) and not (ROOT / path).exists():
            yield f"{document.relative_to(ROOT)} names {path}, which does not exist"


def unproven():
    """Yields rows of the comparison whose last column names neither a test nor a figure."""
    rows = [line for line in (ROOT / "docs/comparison.md").read_text().splitlines() if line.startswith("| ") and not line.startswith("| |")]
    if len(rows) < 15:
        yield "the rows of docs/comparison.md were not found"
    for row in rows:
        *_, proof, _ = row.split("|")
        if not re.search(r"`(tests|bench|scripts)/", proof):
            yield f"docs/comparison.md: no test or figure for{row.split('|')[1].rstrip()}"


def empty_cells():
    for row in re.findall(r"(?m)^\| [^|]+\|.*\|$", (ROOT / "docs/comparison.md").read_text()):
        if any(not cell.strip() for cell in row.split("|")[1:-1]):
            yield f"docs/comparison.md: an empty cell in {row}"


MEASURED = re.compile(r"\d [KMG]iB|\d ?[mu]s\b|\d s CPU|\d (?:jobs|requests)/s")
FIGURE = re.compile(r"\| [\d.,]+ [|(]")
# What a section with figures of the original says.
ORIGIN = {
    "the version of Kubeflow Trainer": r"Kubeflow Trainer \d+\.\d+\.\d+",
    "the command that prints them": r"bench/\w+ [^\n]*--peer",
    "the date": r"\b\d{1,2} [A-Z][a-z]+ 20\d\d\b",
    "the machine": r"\bcores of \w+",
    "what else the machine did": r"\bload\b",
}


def unfounded():
    """Yields sections with figures of the original without what a reader needs to check them, and absolute ones in the comparison, which
    has ratios."""
    for name in ("comparison.md", "performance.md"):
        for section in re.split(r"(?m)^(?=##+ )", (ROOT / "docs" / name).read_text()):
            tables = re.findall(r"(?m)(?:^\|.*\n?)+", section)
            if any("Kubeflow" in table and FIGURE.search(table) for table in tables):
                yield from (f"docs/{name}, {section.splitlines()[0]}: figures of the original without {what}"
                            for what, pattern in ORIGIN.items() if not re.search(pattern, section))
    for row in re.findall(r"(?m)^\|.*\|$", (ROOT / "docs" / "comparison.md").read_text()):
        if MEASURED.search(row):
            yield f"docs/comparison.md has absolute figures: {row}"


# A version that a document states, and the file that defines it.
VERSIONS = [
    ("docs/install.md", r"The tests run on ([\d.]+),", "tests/bed/go.mod", r"k8s\.io/kubernetes v([\d.]+)"),
    ("docs/install.md", r"The tests run with ([\d.]+\d)", "tests/bed/jobset/go.mod", r"sigs\.k8s\.io/jobset v([\d.]+)"),
    *((document, r"jobset/releases/download/v([\d.]+)/", "tests/bed/jobset/go.mod", r"sigs\.k8s\.io/jobset v([\d.]+)")
      for document in ("README.md", "docs/install.md", "docs/first-minutes-platform.md")),
    ("docs/install.md", r"The tests run with Helm ([\d.]+\d)", "tests/bed/helm/go.mod", r"helm\.sh/helm/v4 v([\d.]+)"),
    ("docs/install.md", r"scripts/images --version ([\d.]+)", "CMakeLists.txt", r"(?m)^project\(signalbox VERSION (\S+)"),
    ("docs/kueue.md", r"next to Kueue ([\d.]+\d)", "tests/bed/kueue/go.mod", r"sigs\.k8s\.io/kueue v([\d.]+)"),
    ("docs/performance.md", r"Kubeflow Trainer ([\d.]+\d)", "tests/bed/kueue/go.mod", r"kubeflow/trainer/v2 v([\d.]+)"),
    ("docs/python-sdk.md", r"kubeflow==([\d.]+)", "tests/bed/clients/requirements.in", r"kubeflow==([\d.]+)"),
    ("docs/python-sdk.md", r"`kubeflow` ([\d.]+\d)", "tests/bed/clients/requirements.in", r"kubeflow==([\d.]+)"),
    ("docs/tested.md", r"\| Kubernetes \| ([\d.]+)", "tests/bed/go.mod", r"k8s\.io/kubernetes v([\d.]+)"),
    ("docs/tested.md", r"\| kubectl \| ([\d.]+)", "tests/bed/go.mod", r"k8s\.io/kubernetes v([\d.]+)"),
    ("docs/tested.md", r"\| JobSet \| ([\d.]+)", "tests/bed/jobset/go.mod", r"sigs\.k8s\.io/jobset v([\d.]+)"),
    ("docs/tested.md", r"containerd ([\d.]+\d) from its module", "tests/bed/node/runtime/go.mod", r"containerd/containerd/v2 v([\d.]+)"),
    ("docs/tested.md", r"example driver for dynamic resource allocation ([\d.]+)", "tests/bed/node/driver/go.mod", r"dra-example-driver v([\d.]+)"),
    ("docs/tested.md", r"\| Kueue \| ([\d.]+)", "tests/bed/kueue/go.mod", r"sigs\.k8s\.io/kueue v([\d.]+)"),
    ("docs/tested.md", r"scheduler-plugins \| (\S+)", "tests/bed/coscheduling/go.mod", r"sigs\.k8s\.io/scheduler-plugins v(\S+)"),
    ("docs/gang-scheduling.md", r"scheduler-plugins (\S+) as a second", "tests/bed/coscheduling/go.mod", r"sigs\.k8s\.io/scheduler-plugins v(\S+)"),
    ("docs/tested.md", r"Python SDK \| ([\d.]+)", "tests/bed/clients/requirements.in", r"kubeflow==([\d.]+)"),
    ("docs/tested.md", r"\| Helm \| ([\d.]+)", "tests/bed/helm/go.mod", r"helm\.sh/helm/v4 v([\d.]+)"),
    ("docs/tested.md", r"Trainer's controller \| ([\d.]+)", "tests/bed/kueue/go.mod", r"kubeflow/trainer/v2 v([\d.]+)"),
    ("CHANGELOG.md", r"(?m)^## ([\d.]+)", "CMakeLists.txt", r"(?m)^project\(signalbox VERSION (\S+)"),
]


def outdated():
    for document, stated, source, known in VERSIONS:
        there, true = (re.search(pattern, (ROOT / file).read_text()) for file, pattern in ((document, stated), (source, known)))
        if not there or there[1] != true[1]:
            yield f"{document} says {there and there[1]}, {source} {true[1]}"


def unshown():
    """Yields rows of docs/kueue.md that name no test, or one that does not exist. A name is a function, a value of a parameter after
    it in [], or a case of tests in C++."""
    tests = "".join(file.read_text() for pattern in ("cluster/**/test_*.py", "model/*.cpp", "unit/**/*.cpp")
                    for file in (ROOT / "tests").glob(pattern))
    tests = re.sub(r'"\s*\n\s*"', "", tests)
    rows = re.findall(r"(?m)^\| ([^|]+)\|.*\| ([^|]*?) \|$", (ROOT / "docs/kueue.md").read_text())
    if len(rows) < 20:
        yield "the rows of docs/kueue.md were not found"
    for first, cell in rows:
        names = re.findall(r"`([^`]+)`", cell)
        if cell != "Test" and not names:
            yield f"docs/kueue.md: no test for {first}"
        for name in names:
            function, _, value = name.partition("[")
            if f"def {function}(" not in tests and f'"{name}"' not in tests or value and f'"{value[:-1]}"' not in tests:
                yield f"docs/kueue.md names {name}, which is no test of tests/cluster, tests/model or tests/unit"


def main():
    dead = [problem for document in documents() for problem in dead_paths(document)]
    problems = [*unexplained(), *never_said(), *unproven(), *empty_cells(), *unfounded(), *outdated(), *unshown(), *dead]
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
