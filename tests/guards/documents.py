"""What documents promise: every reason that people can meet has its entry in docs/troubleshooting.md, every row of the comparison
names what shows it, and every path that a
document names, as a link or in `backticks`, is there."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REASONS = ["libs/api/include/api/condition.hpp", "libs/lifecycle/include/lifecycle/event.hpp"]
PLACES = ("apps/", "bench/", "certs/", "docs/", "libs/", "manifests/", "scripts/", "tests/")


def reasons():
    """Those in a namespace `reason` or `event_reason`."""
    for name in REASONS:
        text = (ROOT / name).read_text()
        for space in re.findall(r"namespace (?:event_)?reason \{(.*?)\n\}", text, re.S):
            yield from re.findall(r'std::string_view \w+ = "(\w+)"', space)


def unexplained():
    wanted = set(reasons())
    if len(wanted) < 10:
        yield "the reasons were not found"
    entries = re.findall(r"(?m)^### (\w+)$", (ROOT / "docs/troubleshooting.md").read_text())
    yield from (f"docs/troubleshooting.md lacks {reason}" for reason in sorted(wanted - set(entries)))


def documents():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("manifests/**/*.md"))]


def dead_paths(document):
    text = document.read_text()
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in link and not (document.parent / link).exists():
            yield f"{document.relative_to(ROOT)} links to {link}, which is not there"
    for quoted in re.findall(r"`([^`\n]+)`", text):
        path = quoted.split()[0].partition(":")[0] if quoted.strip() else ""
        if path.startswith(PLACES) and not re.search(r"[*<>{}A-Z]{2}|[*<>{}]", path) and not (ROOT / path).exists():
            yield f"{document.relative_to(ROOT)} names {path}, which is not there"


def unproven():
    """Rows of the comparison that name neither a test nor a figure; each row has it in its last column."""
    rows = [line for line in (ROOT / "docs/comparison.md").read_text().splitlines() if line.startswith("| ") and not line.startswith("| |")]
    if len(rows) < 15:
        yield "the rows of docs/comparison.md were not found"
    for row in rows:
        *_, proof, _ = row.split("|")
        if not re.search(r"`(tests|bench|scripts)/", proof):
            yield f"docs/comparison.md: nothing shows{row.split('|')[1].rstrip()}"


def main():
    problems = [*unexplained(), *unproven(), *(problem for document in documents() for problem in dead_paths(document))]
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
