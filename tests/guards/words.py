"""Checks the words of the tree. Software is no person, so the words for persons are not used for it. What has a name in Kubernetes,
controller-runtime or client-go has that name: docs/design/README.md. Names in code count as well: each of their parts is a word."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What to say instead.
WORDS = {
    "who whom whoever nobody somebody anybody everybody someone anyone everyone people": "name the client, caller, writer or user",
    "he him his she her hers stranger strangers crowd": "name the client, caller, writer or user",
    "told gossip news heard": "reported, shown, changed",
    "episode": "retry state",
    "farewell": "shutdown, drain",
    "agenda": "virtual time",
    "trouble troubled": "error, fault",
    "milestone milestones": "measurement",
}
PHRASES = {
    r"waiting[ _]room": "wait list",
    r"look(?:s|ing)?[ _]again": "requeue, read again",
    r"by_us(?![a-z])": "here, by this controller",
    r"\btheirs\b": "foreign, of others",
    r"\b(?:[Aa]|[Tt]he|[Tt]his|[Oo]ne|[Ee]ach|[Ll]ast|[Nn]ext|[Aa]nother|[Nn]o|[Ee]arlier|[Ff]ailed"
    r"|[Aa]ny|[Ee]very|[Mm]any|[Ss]econd|[Tt]wo|[Oo]f|[Ww]hat) pass(?:es)?\b(?! phrase)": "reconcile",
    # In names alone, and not in those of tests, which are sentences.
    r"\b(?!test_)(?:(?:[a-z0-9]+_)+tells?\b|(?:[a-z0-9]+_)*tells?_\w+)": "show, report, note",
}
# Texts that users match, data, and what is said of persons.
ALLOWED = {
    "docs/glossary.md": {"a pass"},
    "docs/operations.md": {"a pass"},
    "libs/controller/src/reconcile/metered_reads.cpp": {"this pass"},
    "libs/runtime/src/admission/patch_rules.cpp": {"who"},
    "libs/runtime/src/plugins/flux/entrypoint.sh": {"people", "who"},
    "libs/runtime/src/plugins/flux/flux_files.cpp": {"whoever"},
    "tests/unit/runtime/plugins/flux_test.cpp": {"whoever"},
}
OTHERS = ("LICENSE", "tests/data/", "tests/fuzz/corpus/", "tests/guards/words.py")
TYPES = {".cpp", ".hpp", ".py", ".md", ".yaml", ".yml", ".cmake", ".txt", ".sh", ".in", ".toml", ""}
WORD = {word: instead for words, instead in WORDS.items() for word in words.split()}
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def texts():
    """Yields (name, lines) of each text in the tree."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if name.startswith(OTHERS) or path.suffix not in TYPES or not path.is_file():
            continue
        try:
            yield name, path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # a program


def found_in(line):
    """Yields (word, what to say instead)."""
    for part in PART.findall(line):
        if part.lower() in WORD:
            yield part.lower(), WORD[part.lower()]
    for pattern, instead in PHRASES.items():
        yield from ((match[0].lower(), instead) for match in re.finditer(pattern, line))


def offences():
    unused = {(name, word) for name, words in ALLOWED.items() for word in words}
    for name, lines in texts():
        for number, line in enumerate(lines, 1):
            for word, instead in found_in(line):
                unused.discard((name, word))
                if word not in ALLOWED.get(name, ()):
                    yield f'{name}:{number}: "{word}": say {instead}'
    yield from (f'{name} no longer has "{word}": remove it from ALLOWED' for name, word in sorted(unused))


def main():
    assert list(found_in("int toldBy; // a pass")) and not list(found_in("whole history passes"))
    assert list(found_in("tell_state(tells_of_server)")) and not list(found_in("def test_it_tells_all(): # tells"))
    found = list(offences())
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
