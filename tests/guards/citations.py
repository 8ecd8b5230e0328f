"""Checks that what code, tests and manifests cite leads somewhere: a page of docs/ and its heading, a step of the order of decisions. The
tables of docs/design/admission.md have the rules of libs. Nothing cites a text outside of the repository by a section or by the name of a file that is not here."""

import pathlib
import re
import subprocess
import sys

from documents import anchors_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
DESIGN = ROOT / "docs" / "design"
SOURCES = ("libs", "apps", "tests", "scripts", "bench", "cmake", "certs", "manifests", "CMakeLists.txt")
ORDER = "docs/design/lifecycle.md#the-order-of-decisions"
PAGE = re.compile(r"(?<![\w/.-])docs/([\w/-]+\.md)(?:#([\w-]+))?")
# A page by its name alone, but not as a word of code or in a command.
BARE = re.compile(r"(?<![\w/.\"'-])(?:api|kubernetes|lifecycle|run-policy|runtime|progress|house|mechanics)\.md\b")
SECTION = re.compile(r"(?<!\w)(?:[Ss]ection|§) ?\d[\d.]*")
OF_A_STANDARD = re.compile(r"RFC \d+")
STEP = re.compile(r"\b[Ss]teps? (\d+)(?:(?:,| and| to) (\d+))?")
# This file, and one whose pages are those of docs/.
OTHERS = {"tests/guards/citations.py", "scripts/lib/site/mkdocs.yml"}


def texts():
    """Yields (path, lines) of each source."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *SOURCES], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if name in OTHERS or path.suffix in (".png", ".sum", ".md", ".json") or not path.is_file():
            continue
        try:
            yield name, path.read_text().splitlines()
        except UnicodeDecodeError:
            continue  # a corpus


def steps():
    section = (DESIGN / "lifecycle.md").read_text().split("## The order of decisions\n")[1].split("\n## ")[0]
    return {int(number) for number in re.findall(r"(?m)^\| (\d+) \|", section)}


def described_rules():
    section = (DESIGN / "admission.md").read_text().split("## The rules\n")[1].split("\n## ")[0]
    return set(re.findall(r"(?m)^\| `(\w+)` \|", section))


def rules():
    """Returns the names of the rules, wherever in libs their table is."""
    return {name for path in (ROOT / "libs").rglob("*.[ch]pp") for name in re.findall(r'(?:RuleId|_rule)\("(\w+)"\)', path.read_text())}


def lost(line, order):
    """Yields what a line cites and is not there. `order`: the steps that it may name (None: any)."""
    for page, anchor in PAGE.findall(line):
        document = ROOT / "docs" / page
        if not document.is_file():
            yield f"docs/{page}, which does not exist"
        elif anchor and anchor not in anchors_of(document):
            yield f"docs/{page}#{anchor}, a heading that does not exist"
    yield from (f"{bare}, which is not a path in this repository" for bare in BARE.findall(line))
    if not OF_A_STANDARD.search(line):
        yield from (f"{section} of a text that it does not name" for section in SECTION.findall(line))
    yield from (f"step {number}, which {ORDER} does not have, or which the file does not cite" for numbers in STEP.findall(line)
                for number in numbers if number and order is not None and int(number) not in order)


def problems():
    order, cited = steps(), 0
    if described_rules() != rules():
        yield f"docs/design/admission.md: other rules than those in libs: {sorted(described_rules() ^ rules())}"
    for name, lines in texts():
        cites_order = any(ORDER in line for line in lines)
        allowed = order if cites_order else set() if name.startswith("libs/") else None
        for number, line in enumerate(lines, 1):
            cited += len(PAGE.findall(line))
            yield from (f"{name}:{number} cites {what}" for what in lost(line, allowed))
    if cited < 30 or len(order) < 8:
        yield "the citations were not found"


def main():
    found = list(problems())
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
