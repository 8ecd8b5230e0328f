"""A terminal for programs, and a picture of what it then shows.

The picture is an SVG of text, in columns of equal width, without outside fonts or files."""

import html
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unicodedata
from fcntl import ioctl

CHARACTER, LINE, MARGIN, BAR = 8.4, 19, 14, 30  # pixels
STYLE = re.compile(r"\x1b\[([\d;]*)m")
OTHER_SEQUENCES = re.compile(r"\x1b\[[\d;?]*[A-Za-ln-z]|\x1b\][^\x07]*\x07")
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#f2cc60", "36": "#79c0ff", "2": "#8b949e"}
PLAIN, GROUND, HEAD = "#e6edf3", "#0d1117", "#161b22"


def run_on_terminal(command, environment=None, columns=110, lines=60, patience=60):
    """Runs the command, and returns its output with its colours. Standard input is empty."""
    parent, child = pty.openpty()
    ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    program = subprocess.Popen([str(word) for word in command], env={**(environment or os.environ), "TERM": "xterm-256color"},
                               stdin=subprocess.DEVNULL, stdout=child, stderr=child)
    os.close(child)
    try:
        output = _read_until_closed(parent, time.monotonic() + patience)
        program.wait(patience)
    finally:
        program.kill()
        program.wait()
        os.close(parent)
    return output.decode().replace("\r\n", "\n")


def _read_until_closed(terminal, deadline):
    output = b""
    while select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # how Linux tells that the program has closed it
            return output
        if not part:
            return output
        output += part
    raise TimeoutError("the program still runs")


def width_of(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def runs_of(line):
    """Returns [(column, text, colour)] of a line with colours."""
    runs, column, colour = [], 0, PLAIN
    for number, part in enumerate(STYLE.split(OTHER_SEQUENCES.sub("", line))):
        if number % 2:
            chosen = [COLOURS[code] for code in part.split(";") if code in COLOURS]
            colour = chosen[-1] if chosen else PLAIN
        elif part:
            runs.append((column, part, colour))
            column += sum(map(width_of, part))
    return runs


def wrapped(runs, columns):
    """Returns the lines that a terminal of that width makes of one line."""
    lines, used = [[]], 0
    for _, text, colour in runs:
        start = used
        part = ""
        for character in text:
            if used + width_of(character) > columns:
                lines[-1].append((start, part, colour))
                lines.append([])
                start, used, part = 0, 0, ""
            part += character
            used += width_of(character)
        lines[-1].append((start, part, colour))
    return lines


def picture_of(steps, title, columns=110):
    """Returns the SVG of [(command, output)] on a terminal of that width."""
    lines = []
    for command, output in steps:
        lines.append([(0, "$ ", COLOURS["2"]), (2, command, COLOURS["36"])])
        for line in output.rstrip("\n").split("\n"):
            lines += wrapped(runs_of(line), columns)
        lines.append([])
    lines.pop()
    longest = max((column + sum(map(width_of, text)) for line in lines for column, text, _ in line), default=0)
    width, height = round(2 * MARGIN + longest * CHARACTER), BAR + 2 * MARGIN + len(lines) * LINE
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
             f"<title>{html.escape(title)}</title>",
             f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}"/>',
             f'<path d="M0 {BAR}V8a8 8 0 0 1 8-8H{width - 8}a8 8 0 0 1 8 8V{BAR}z" fill="{HEAD}"/>',
             *(f'<circle cx="{18 + 18 * number}" cy="15" r="5" fill="#30363d"/>' for number in range(3)),
             f'<g font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="14">']
    for number, line in enumerate(lines):
        y = BAR + MARGIN + round((number + 0.75) * LINE)
        for column, text, colour in line:
            if text.strip():
                drawn.append(_text(column, y, text, colour))
    return "\n".join([*drawn, "</g>", "</svg>", ""])


def _text(column, y, text, colour):
    # textLength keeps columns in place whatever font the reader has.
    blanks = len(text) - len(text.lstrip(" "))
    text = text.strip(" ")
    cells = sum(map(width_of, text))
    return (f'<text x="{MARGIN + (column + blanks) * CHARACTER:.1f}" y="{y}" fill="{colour}" xml:space="preserve" '
            f'textLength="{cells * CHARACTER:.1f}" lengthAdjust="spacingAndGlyphs">{html.escape(text, quote=False)}</text>')
