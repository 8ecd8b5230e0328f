"""The terminal of tests and pictures."""

import sys
import xml.etree.ElementTree

from terminal import picture_of, run_on_terminal, runs_of, wrapped


def texts(svg):
    """Returns [(text, x, y, length)] of a picture."""
    return [(each.text, float(each.get("x")), float(each.get("y")), float(each.get("textLength")))
            for each in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_program_sees_a_terminal_of_the_wanted_width():
    said = run_on_terminal([sys.executable, "-c", "import os, sys; print(sys.stdout.isatty(), os.get_terminal_size().columns)"], columns=72)
    assert said == "True 72\n"


def test_colours_end_where_the_program_ends_them():
    assert runs_of("a \x1b[31mbad\x1b[0m b") == [(0, "a ", "#e6edf3"), (2, "bad", "#ff7b72"), (5, " b", "#e6edf3")]


def test_long_lines_go_on_in_the_next_one_and_wide_characters_stay_whole():
    assert wrapped(runs_of("abcde"), 2) == [[(0, "ab", "#e6edf3")], [(0, "cd", "#e6edf3")], [(0, "e", "#e6edf3")]]
    assert [[text for _, text, _ in line] for line in wrapped(runs_of("a漢b"), 2)] == [["a"], ["漢"], ["b"]]


def test_a_picture_shows_each_text_in_its_column():
    drawn = texts(picture_of([("list <all>", "NAME   漢  x & y\n")], "a & b"))
    assert [text for text, *_ in drawn] == ["$", "list <all>", "NAME   漢  x & y"]
    (_, _, first, _), (_, _, second, _), (_, left, third, length) = drawn
    assert first == second < third and left == 14
    assert abs(length - 16 * 8.4) < 0.1  # the wide character has two columns
