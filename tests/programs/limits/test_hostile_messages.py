"""Hostile messages over real sockets, to the sanitized program. tests/unit/net tests the grammar of HTTP. This file tests the limits of
the shipped program, and reviews that no API server sends. Meanwhile, honest calls get their answers."""

import json

import pytest
from hostile import (DENIED, LIMIT, KnowsRuntimes, Wide, deep, head, honest_calls, job_text, many_small_patches, many_values,
                     one_job_again, one_patch, send_and_check, sized)
from webhook_program import RUNTIME_PATH, TRAIN_JOB_PATH, Webhook, review, runtime, train_job, wait_for

# Sizes that the sanitizer can handle in time; test_memory.py has the full size.
WIDE = Wide(1_000)
ALL_PATCHES = 300_000  # bytes
VALUES = 50_000


@pytest.fixture(scope="module")
def webhook(tmp_path_factory):
    # One thread, so that a blocked thread delays every call.
    with KnowsRuntimes(runtime(), WIDE.runtime()) as api, Webhook(tmp_path_factory.mktemp("hostile"), api.port, "--threads=1") as webhook:
        webhook.wait_until_ready()
        wait_for("the runtimes", lambda: webhook.metric("signalbox_runtimes") == 2)
        yield webhook
        assert webhook.metric("signalbox_http_handler_errors_total") == 0
        assert webhook.end() == 0


def chunked(chunk, times):
    return head(RUNTIME_PATH, "Transfer-Encoding: chunked") + (b"%x\r\n" % len(chunk) + chunk + b"\r\n") * times


# The bytes to send on a new connection, and the expected answer, as in send_and_check().
MESSAGES = {
    "a body one byte over the limit": (head(RUNTIME_PATH, f"Content-Length: {LIMIT + 1}") + b"x" * 100_000, 413),
    "a body of the limit that is no JSON": (sized(b"x" * LIMIT), 400),
    "chunks without end": (chunked(b"x" * 65536, 1 + LIMIT // 65536), 413),
    "a header of a megabyte": (head(RUNTIME_PATH, "X: " + "x" * 1_000_000), 431),
    "a thousand headers": (head(RUNTIME_PATH, *(f"X-{i}: y" for i in range(1000))), 431),
    "a request line of a megabyte": (head("/" + "x" * 1_000_000), 431),
    "500,000 arrays": (sized(deep(500_000, "[", "]")), 413),
    "500,000 objects": (sized(deep(500_000, '{"a":', "}")), 413),
    "500,000 arrays without end": (sized("[" * 500_000), 400),
    "500,000 levels in a label": (sized(job_text(metadata=', "labels": ' + deep(500_000, '{"a":', "}")), TRAIN_JOB_PATH), 413),
    "500,000 levels in a patch": (sized(job_text(one_patch(deep(500_000, '{"a":', "}"))), TRAIN_JOB_PATH), 413),
    "400,000 arrays": (sized(deep(400_000, "[", "]")), 400),
    "400,000 arrays without end": (sized("[" * 400_000), 400),
    "200,000 objects": (sized(deep(200_000, '{"a":', "}")), 400),
    "400,000 levels in a label": (sized(job_text(metadata=', "labels": ' + deep(400_000, "[", "]")), TRAIN_JOB_PATH), 400),
    "200 levels in a patch": (sized(job_text(one_patch(deep(200, '{"a":', "}"))), TRAIN_JOB_PATH), None),
    "NUL in a body": (sized(b'{"kind": "\0"}'), 400),
    "NUL in a name": (sized(json.dumps(review(train_job())).replace('"job"', '"j\\u0000b"'), TRAIN_JOB_PATH), None),
    "invalid UTF-8": (sized(json.dumps(review(train_job())).encode().replace(b'"job"', b'"\xff\xc0\x80"'), TRAIN_JOB_PATH), 400),
    "half a surrogate pair": (sized(job_text(metadata=r', "labels": {"a": "\ud800"}'), TRAIN_JOB_PATH), None),
    "UTF-16": (sized(json.dumps(review(train_job())).encode("utf-16"), TRAIN_JOB_PATH), 400),
    "duplicate keys": (sized(job_text(', "suspend": true, "suspend": false'), TRAIN_JOB_PATH), None),
    "a number without end": (sized(job_text(', "trainer": {"numNodes": ' + "9" * 100_000 + "}"), TRAIN_JOB_PATH), None),
    "a number out of range": (sized(job_text(', "activeDeadlineSeconds": 1e999'), TRAIN_JOB_PATH), None),
    "a number below any": (sized(job_text(', "trainer": {"numNodes": -9223372036854775809}'), TRAIN_JOB_PATH), None),
    "not a number": (sized(job_text(', "activeDeadlineSeconds": NaN'), TRAIN_JOB_PATH), 400),
    "what follows a review": (sized(json.dumps(review(train_job())) + "{}", TRAIN_JOB_PATH), 400),
    "a million small values": (sized(job_text(metadata=', "x": [' + "0," * 3_000_000 + "0]"), TRAIN_JOB_PATH), 413),
    "a million small objects": (sized(job_text(metadata=', "x": [' + "{}," * 2_000_000 + "{}]"), TRAIN_JOB_PATH), 413),
    "a name of 4,000 letters": (sized(json.dumps(review(train_job())).replace('"job"', json.dumps("j" * 4_000)), TRAIN_JOB_PATH), DENIED),
    **many_small_patches(ALL_PATCHES), **WIDE.messages(), **many_values(VALUES), **one_job_again(2_000, 500, 500),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_malicious_message_gets_an_answer_and_delays_no_other_call(webhook, name):
    with honest_calls(webhook):
        for _ in range(3):
            send_and_check(webhook, name, *MESSAGES[name])
