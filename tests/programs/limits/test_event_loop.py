"""No object that etcd stores, and so none that an API server sends, blocks a thread of the release program for longer than 250 ms. The
program measures turns of its event loop in wall time. On a busy machine that includes time of other processes, so the test takes the
CPU time of the program as an upper bound."""

import contextlib
import os

import pytest
from hostile import (SNAPSHOT_PATH, SNAPSHOTS, KnowsRuntimes, Wide, large_runtime, snapshot, update_by_snapshot, variables)
from paths import shipped
from webhook_program import RUNTIME_PATH, TRAIN_JOB_PATH, Webhook, review, runtime, train_job, wait_for

GAP = 0.25  # seconds
ETCD = 1_500_000  # bytes of an object
WIDE = Wide(2_700)


RUNTIMES = {
    "small values": large_runtime(args=[""] * (ETCD // 3)),
    "variables": large_runtime(env=variables(ETCD)),
    "a long text": large_runtime(args=["x" * ETCD]),
}
JOBS = {
    "variables": {"trainer": {"env": variables(ETCD)}},
    "arguments": {"trainer": {"args": [""] * (ETCD // 3)}},
    "a long text": {"trainer": {"args": ["x" * ETCD]}},
}
@contextlib.contextmanager
def program(directory, *runtimes):
    with KnowsRuntimes(runtime(), *runtimes) as api, Webhook(directory, api.port, "--threads=1", binary=shipped("signalbox-webhook")) as webhook:
        webhook.wait_until_ready()
        yield api, webhook


def cpu_seconds(webhook):
    with open(f"/proc/{webhook.process.pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def assert_no_gap(webhook, since=0.0):
    """`since`: the CPU time at the beginning."""
    used = cpu_seconds(webhook) - since
    assert min(webhook.metric("signalbox_event_loop_longest_gap_seconds"), used) < GAP


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_runtime_that_is_watched_makes_no_gap(tmp_path, name):
    with program(tmp_path, RUNTIMES[name]) as (_, webhook):
        wait_for("the runtimes", lambda: webhook.metric("signalbox_runtimes") == 2)
        assert_no_gap(webhook)
        before = cpu_seconds(webhook)
        webhook.post(TRAIN_JOB_PATH, review(train_job("large")))
        assert_no_gap(webhook, before)


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_runtime_that_is_written_makes_no_gap(tmp_path, name):
    with program(tmp_path) as (_, webhook):
        before = cpu_seconds(webhook)
        assert webhook.post(RUNTIME_PATH, review(RUNTIMES[name], "UPDATE", RUNTIMES[name]))[0] in (200, 413)
        assert_no_gap(webhook, before)


@pytest.mark.parametrize("name", JOBS)
def test_a_train_job_that_is_written_makes_no_gap(tmp_path, name):
    job = train_job()
    job["spec"].update(JOBS[name])
    with program(tmp_path) as (_, webhook):
        before = cpu_seconds(webhook)
        assert webhook.post(TRAIN_JOB_PATH, review(job))[0] in (200, 413)
        assert_no_gap(webhook, before)


def test_a_train_job_that_patches_much_of_a_large_runtime_makes_no_gap(tmp_path):
    with program(tmp_path, WIDE.runtime()) as (_, webhook):
        wait_for("the runtimes", lambda: webhook.metric("signalbox_runtimes") == 2)
        data, _ = WIDE.messages()["wide and deep merges"]
        before = cpu_seconds(webhook)
        webhook.post(TRAIN_JOB_PATH, data[data.index(b"\r\n\r\n") + 4:])
        assert_no_gap(webhook, before)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_snapshot_makes_no_gap(tmp_path, name):
    with program(tmp_path) as (api, webhook):
        api.objects[SNAPSHOT_PATH] = snapshot(SNAPSHOTS[name])
        before = cpu_seconds(webhook)
        status, _, body = webhook.post(TRAIN_JOB_PATH, update_by_snapshot())
        assert status == 200 and SNAPSHOT_PATH in api.gets, body
        assert_no_gap(webhook, before)
