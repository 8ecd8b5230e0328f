"""Hooks of MkDocs: pages from outside of docs/, links to sources, and diagrams without another host."""

import os
import pathlib
import re
import shutil

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).parent
# Pages from outside of docs/, under their path in the repository.
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "certs/README.md", "manifests/README.md")
LINK = re.compile(r"(?P<before>!?\[(?P<label>[^\]]*)\]\()(?P<target>[^)#\s]*)(?P<anchor>#[^)]*)?\)")
FENCE = re.compile(r"(?ms)^( *)```.*?^\1```$")
MERMAID_ELSEWHERE = re.compile(r'"https://[^"]*/mermaid@[^"]*"')
MERMAID_HERE = 'new URL("assets/javascripts/mermaid.min.js",__md_scope).href'


def on_files(files, config):
    for path in OUTSIDE:
        files.append(File.generated(config, path, content=(ROOT / path).read_text()))
    files.append(File.generated(config, "assets/site.css", content=(HERE / "site.css").read_text()))
    return files


def title_of(document):
    return re.search(r"(?m)^# (.*)$", document.read_text())[1]


def on_page_markdown(markdown, page, config, files):
    """Leads links to where their target is in the site, or among the sources."""
    path = page.file.src_uri
    source = pathlib.PurePosixPath(path if path in OUTSIDE else f"docs/{path}")

    def led(link):
        target, anchor = link["target"], link["anchor"] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return link[0]
        there = pathlib.PurePosixPath(os.path.normpath(source.parent / target)).as_posix()
        if not (ROOT / there).exists():
            raise PluginError(f"{source} links to {target}, which does not exist")
        if there in OUTSIDE or there.startswith("docs/"):
            page_there = there if there in OUTSIDE else there.removeprefix("docs/")
            label = title_of(ROOT / there) if re.fullmatch(r"[\w/.-]+\.md", link["label"]) else link["label"]
            return f"{link['before'].replace(link['label'], label)}{os.path.relpath(page_there, os.path.dirname(path) or '.')}{anchor})"
        if address := os.environ.get("SIGNALBOX_SOURCES"):
            return f"{link['before']}{address.rstrip('/')}/{there})"
        return link["label"] if link["label"].strip("`") == there else f"{link['label']} (`{there}`)"

    pieces, end = [], 0
    for fence in FENCE.finditer(markdown):
        pieces += [LINK.sub(led, markdown[end:fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*pieces, LINK.sub(led, markdown[end:])])


def on_post_build(config):
    """Has diagrams drawn by the Mermaid of the site."""
    scripts = pathlib.Path(config.site_dir) / "assets" / "javascripts"
    shutil.copy(os.environ["SIGNALBOX_MERMAID"], scripts / "mermaid.min.js")
    changed = 0
    for bundle in scripts.glob("bundle.*.js"):
        text, count = MERMAID_ELSEWHERE.subn(MERMAID_HERE, bundle.read_text())
        bundle.write_text(text)
        changed += count
    if changed != 1:
        raise PluginError(f"this Material names the address of Mermaid {changed} times instead of once: see MERMAID_ELSEWHERE in {__file__}")
