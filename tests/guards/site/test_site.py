"""The website of docs/ (scripts/site), built as users build it and read in a browser. Pictures of its pages stay in build/site-pictures."""

import functools
import html.parser
import http.server
import re
import subprocess
import threading
import urllib.parse

import pytest

from browser import Browser
from paths import ROOT

PICTURES = ROOT / "build" / "site-pictures"
VERSION = re.search(r"(?m)^project\(signalbox VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
OLDER = "0.0.9"
PHONE = (390, 844)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module", name="out")
def built_site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    (out / OLDER).mkdir()
    (out / OLDER / "index.html").write_text("an older version")
    run = subprocess.run([ROOT / "scripts" / "site", "--out", out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert run.returncode == 0, run.stdout
    return out


@pytest.fixture(scope="module", name="address")
def served_site(out):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=out)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{VERSION}/"
        server.shutdown()


@pytest.fixture(scope="module", name="browser")
def one_browser():
    with Browser() as browser:
        yield browser


@pytest.fixture(autouse=True)
def nothing_is_complained_of(request):
    """After each test that reads: no error on the console, and no request to another host."""
    yield
    if "browser" in request.fixturenames:
        browser, address = request.getfixturevalue("browser"), request.getfixturevalue("address")
        origin = address.removesuffix(f"{VERSION}/")
        complaints, requested = browser.complaints[:], browser.requested[:]
        browser.complaints.clear()
        browser.requested.clear()
        assert complaints == []
        assert [url for url in requested if not url.startswith((origin, "data:", "blob:", "about:"))] == []
        assert len(requested) > 3, "requests are not seen"


class Links(html.parser.HTMLParser):
    """The links of a page, what it embeds, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.embedded, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.add(values.get("id"))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") != "canonical" or tag in ("script", "img", "iframe", "source"):
            self.embedded += [values[name] for name in ("src", "href") if values.get(name)]


def pages_of(out):
    return {path: Links(path.read_text()) for path in (out / VERSION).rglob("*.html") if path.name != "404.html"}


def test_every_link_leads_to_a_page_and_a_heading_and_nothing_is_embedded_from_elsewhere(out):
    pages, dead = pages_of(out), []
    assert len(pages) > 30
    for path, page in pages.items():
        for target in page.links + page.embedded:
            url = urllib.parse.urlsplit(target)
            if url.scheme or url.netloc:
                if target in page.embedded and url.scheme != "data":
                    dead.append(f"{path.relative_to(out)} embeds {target}")
                continue
            there = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if there.is_dir():
                there = there / "index.html"
            known = pages.get(there)
            if not there.is_file() or url.fragment and known and url.fragment not in known.anchors:
                dead.append(f"{path.relative_to(out)} links to {target}")
    assert dead == []


def test_every_page_of_docs_is_in_the_site(out):
    wanted = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md") if path.name != "README.md"}
    assert {name for name in wanted if not (out / VERSION / name / "index.html").is_file()} == set()


def test_the_start_page_leads_to_this_version_and_older_ones_can_be_chosen(browser, address):
    browser.open(address.removesuffix(f"{VERSION}/"))
    browser.wait_for(f"location.pathname === '/{VERSION}/' && document.readyState === 'complete'")
    assert browser.wait_for("document.querySelector('.md-version__current')?.textContent.trim()") == VERSION
    assert browser.value("[...document.querySelectorAll('.md-version__link')].map(e => e.textContent.trim())") == [VERSION, OLDER]


def test_the_tabs_and_the_menu_lead_to_a_guide(browser, address):
    browser.size(1280, 900)
    browser.open(address)
    browser.picture(PICTURES / "start.png")
    browser.click("[...document.querySelectorAll('.md-tabs__link')].find(e => e.textContent.trim() === 'Training').click()")
    browser.wait_for("document.querySelector('h1')?.textContent.startsWith('Getting started') && document.readyState === 'complete'")
    browser.click("[...document.querySelectorAll('.md-nav--primary a')].find(e => e.textContent.trim() === 'Runtime patches').click()")
    browser.wait_for("document.querySelector('h1')?.textContent.startsWith('Runtime patches') && document.readyState === 'complete'")
    browser.picture(PICTURES / "guide.png")


def test_the_search_finds_a_reason_and_leads_to_its_entry(browser, address):
    browser.size(1280, 900)
    browser.open(address)
    browser.value("(document.querySelector('#__search').checked = true, document.querySelector('.md-search__input').focus())")
    browser.type("DeadlineExceeded")
    found = browser.wait_for("[...document.querySelectorAll('.md-search-result__link')].map(e => e.href).find(e => e.includes('/troubleshooting/'))")
    browser.picture(PICTURES / "search.png")
    browser.open(found)
    assert browser.value("document.querySelector('h1').textContent").startswith("Troubleshooting")


def test_diagrams_are_drawn(browser, address):
    browser.size(1280, 900)
    browser.open(address + "concepts/")
    # Material takes each text away and puts its diagram there.
    browser.wait_for("document.querySelectorAll('pre.mermaid').length === 0 && document.querySelectorAll('div.mermaid').length >= 2")
    assert browser.value("[...document.querySelectorAll('div.mermaid')].every(e => e.offsetHeight > 100)")
    browser.value("document.querySelector('div.mermaid').scrollIntoView({block: 'center', behavior: 'instant'})")
    browser.picture(PICTURES / "diagrams.png")


def test_readers_can_choose_dark_colours(browser, address):
    browser.size(1280, 900)
    browser.open(address + "concepts/")
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.click("document.querySelector('input[data-md-color-scheme=default][data-md-color-media]').click()")
    light = browser.value(colour)
    browser.click("document.querySelector('input[data-md-color-scheme=slate]').click()")
    dark = browser.wait_for(f"{colour} !== '{light}' && {colour}")
    browser.picture(PICTURES / "dark.png")

    def brightness(text):
        return sum(float(number) for number in re.findall(r"[\d.]+", text)[:3])
    assert brightness(dark) < 200 < 600 < brightness(light)


def test_every_page_fits_a_phone(browser, address, out):
    browser.size(*PHONE)
    wide = []
    for path in sorted(pages_of(out)):
        page = path.parent.relative_to(out / VERSION).as_posix()
        browser.open(address + ("" if page == "." else f"{page}/"))
        width = browser.value("document.scrollingElement.scrollWidth")
        if width > PHONE[0]:
            wide.append((page, width))
        if width > PHONE[0] or page in ("getting-started", "troubleshooting", "operations"):
            browser.picture(PICTURES / f"phone-{page.replace('/', '-')}.png")
    assert wide == []
