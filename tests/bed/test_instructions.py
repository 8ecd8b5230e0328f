"""The comparison of instructions between two commits (bench/admission --compare), with recorded profiles of callgrind."""

import json
import sys

import pytest
from paths import ROOT

sys.path.insert(0, str(ROOT / "bench" / "support"))

from callgrind import changed_most, growths, read_profile, verdict
from instructions import record, recorded

# Of two runs: review() calls parse() and check(), which calls itself once. A file inlines `find` into check.
PROFILE = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
cmd:  build/release/bin/bench_admission --counted validate
positions: line
events: Ir
summary: 200000

ob=(1) bench_admission
fl=(1) ???
fn=(1) counted(std::function<void ()> const&)
0 200
cfn=(2) review(Request&)
calls=2 0
0 199800

fn=(2)
0 1800
cfn=(3) parse(std::string_view) [clone .constprop.0]
calls=2 0
0 {parse}
cob=(2) libc.so.6
cfn=(4) check(Json const&)
calls=2 0
+0 {check}

fn=(3)
12 {parse}

fn=(4)
0 {check_own}
fi=(7) find.hpp
40 1000
fe=(1)
cfn=(5) check(Json const&)'2
calls=2 0
* 20000

fn=(5)
* 20000
"""


def profile(parse=120_000, check=78_000):
    """`check`: of both levels."""
    return read_profile(PROFILE.format(parse=parse, check=check, check_own=check - 21_000).splitlines(), runs=2)


def test_a_profile_has_the_instructions_of_one_run_by_function():
    found = profile()
    assert found.total == 100_000
    assert found.own == {"counted(std::function<void ()> const&)": 100, "review(Request&)": 900, "parse(std::string_view)": 60_000,
                         "check(Json const&)": 39_000}
    # Those of a function that calls itself count once.
    assert found.inclusive["check(Json const&)"] == 39_000
    assert found.inclusive["review(Request&)"] == 99_900


def test_a_function_that_takes_an_eighth_more_fails_and_is_named():
    good, text = verdict("validate", profile(), profile(check=87_400))  # 12 % more in the function, 4.7 % in all
    assert not good
    assert text.splitlines()[0] == "validate: 104,700 instructions instead of 100,000 (+4.7%): MORE THAN ALLOWED"
    assert text.splitlines()[1] == "  check(Json const&): 43,700 instead of 39,000 (+12.1%), of its own +4,700"


def test_a_function_that_takes_8_percent_more_passes():
    good, text = verdict("validate", profile(), profile(check=84_200))
    assert good
    assert text == "validate: 103,100 instructions instead of 100,000 (+3.1%)"


def test_fewer_instructions_pass():
    good, text = verdict("validate", profile(), profile(check=40_000))
    assert good
    assert text.splitlines() == ["validate: 81,000 instructions instead of 100,000 (-19.0%)", "  -19,000 in check(Json const&)"]


def test_all_of_the_work_may_not_grow_in_functions_that_were_not_there():
    found = profile()
    found.own["cache(Key)"] = found.inclusive["cache(Key)"] = 11_000
    found.total += 11_000
    good, text = verdict("validate", profile(), found)
    assert not good
    assert "  +11,000 in cache(Key)" in text


def test_work_that_moves_to_another_function_is_no_growth():
    assert not growths(profile(), profile(parse=100_000, check=98_000))
    assert verdict("validate", profile(), profile(parse=100_000, check=98_000))[0]


def test_small_functions_count_with_their_callers_alone():
    before, now = profile(), profile()
    before.inclusive["hash(Key)"], now.inclusive["hash(Key)"] = 1_000, 3_000
    now.total += 2_000
    assert not growths(before, now)


def test_functions_that_differ_most_come_first():
    assert changed_most(profile(), profile(parse=100_000, check=79_000)) == [(-10_000, "parse(std::string_view)"), (500, "check(Json const&)")]


def test_recorded_figures_are_read_again(tmp_path):
    file = tmp_path / "figures.json"
    record(file, {"validate": profile()})
    assert recorded(file)["validate"].total == 100_000
    assert recorded(file)["validate"].own == profile().own
    assert list(json.loads(file.read_text())) == ["validate"]


@pytest.mark.parametrize("text", ["fn=main\n10 5\n", "fn=(1) main\n+3 5\n", "fn=(1) main\n* 5\n", "fn=(1) main\n-2 5\n"])
def test_positions_may_be_relative_and_names_written_out(text):
    assert read_profile(text.splitlines()).own == {"main": 5}
