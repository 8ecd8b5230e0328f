"""Marked tests run at the same time, and each has the outcome that it would have alone."""

import re

import pytest

import together

pytest_plugins = "pytester"

CONFTEST = """
import sys
sys.path.insert(0, {folder!r})
import pytest
from together import pytest_pyfunc_call, pytest_runtest_makereport

@pytest.fixture(scope="session")
def cluster():
    return None

@pytest.fixture(scope="session")
def admin():
    return "the admin"

@pytest.fixture(scope="session")
def bell():
    import threading
    return threading.Barrier(2, timeout=30)

@pytest.fixture
def own():
    return "a value of one test"
"""


@pytest.fixture
def outcomes(pytester):
    """Returns a function that runs a file of tests, and returns how many had each outcome, and the output."""
    pytester.makeconftest(CONFTEST.format(folder=str(together.__file__).rsplit("/", 1)[0]))
    pytester.makeini("[pytest]\nmarkers = together: runs at the same time as others")

    def run(tests, *options):
        pytester.makepyfile("import pytest\n" + tests)
        result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)
        return result.parseoutcomes(), result.stdout.str()
    return run


def test_tests_that_wait_for_each_other_pass(outcomes):
    assert outcomes("""
@pytest.mark.together
@pytest.mark.parametrize("side", ["left", "right"])
def test_meets(side, bell, admin, tmp_path):
    bell.wait()
    assert admin == "the admin" and not list(tmp_path.iterdir())
    (tmp_path / side).touch()
""")[0] == {"passed": 2}


def test_a_failure_is_that_of_its_own_test(outcomes):
    counts, printed = outcomes("""
@pytest.mark.together
@pytest.mark.parametrize("number", [1, 2, 3])
def test_is_two(number):
    assert number != 2, "two came"

def test_after_them():
    pass
""")
    assert counts == {"passed": 3, "failed": 1}
    assert "two came" in printed and "test_is_two[2]" in printed


def test_each_takes_as_long_as_its_own_run(outcomes):
    _, printed = outcomes("""
import itertools
import types

import together

together.time = types.SimpleNamespace(monotonic=itertools.count(0, 100).__next__)

@pytest.mark.together
def test_runs():
    pass
""", "--durations=1")
    assert re.search(r"100\.00s call +\S+test_runs", printed)


def test_a_fixture_of_one_test_is_refused(outcomes):
    counts, printed = outcomes("""
@pytest.mark.together
def test_has_its_own(own):
    pass
""")
    assert counts == {"failed": 1}
    assert "runs together with others, and own is a fixture of a function" in printed


def test_runs_of_different_names_are_apart(outcomes):
    assert outcomes("""
running = set()

@pytest.mark.together(among="first")
@pytest.mark.parametrize("number", [1, 2])
def test_first(number, bell):
    running.add("first")
    bell.wait()
    assert running == {"first"}

@pytest.mark.together(among="second")
def test_second():
    running.add("second")
""")[0] == {"passed": 3}


def test_equal_cluster_runtimes_are_made_once_and_others_of_the_name_are_refused():
    runtimes, made = together._SharedRuntimes(), []

    def create(runtime):
        made.append(runtime)
        return {**runtime, "stored": True}
    for _ in range(2):
        stored = runtimes.create({"metadata": {"name": "torch"}}, create)
        assert stored["stored"]
        stored["metadata"]["name"] = "changed by a test"
    assert len(made) == 1 and runtimes.names() == ["torch"]
    with pytest.raises(AssertionError, match="different runtimes of the name torch"):
        runtimes.create({"metadata": {"name": "torch"}, "spec": {}}, create)
