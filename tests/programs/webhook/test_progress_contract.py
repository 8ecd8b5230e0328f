"""The requests of the tests of Kubeflow Trainer's status server (v2.3, pkg/statusserver and test/integration/statusserver), and others that its
handler distinguishes, with its answers. A row in which signalbox-webhook answers something else has the reason."""

import contextlib
import json
import time
import typing

import pytest
from progress_program import ApiServer, Server, failure, path_of, token_of
from webhook_program import read_answer, wait_for

UNKNOWN = "does-not-exist"
PAYLOAD = failure(422, "Invalid", "Invalid payload")
FORBIDDEN = failure(403, "Forbidden", "Forbidden")
NOT_FOUND = failure(404, "NotFound", "Not found")
TOO_LARGE = failure(413, "RequestEntityTooLarge", "Payload too large")
MEBIBYTE = '{"trainerStatus": {"metrics": [' + '{"name":"m","value":"0.5"},' * 40_000 + "]}}"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with ApiServer() as api, Server(tmp_path_factory.mktemp("contract"), api, "--progress-source-rate=0", "--progress-interval=1s") as server:
        api.missing.add(UNKNOWN)
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        yield api, server


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Row(typing.NamedTuple):
    """A request of the TrainJob "row", and Kubeflow Trainer's answer."""
    name: str
    body: typing.Any
    status: int
    answer: typing.Any
    job: str = "row"
    path: str = ""
    method: str = "POST"
    token: str = "good"
    content_type: str = "application/json"
    ours: typing.Any = None  # where it differs: status and answer
    reason: str = ""


WHEN = now()
HALF = {"trainerStatus": {"progressPercentage": 50, "lastUpdatedTime": WHEN}}
ALL = {"trainerStatus": {"progressPercentage": 50, "estimatedRemainingSeconds": 90, "metrics": [{"name": "loss", "value": "1.5"}],
                         "lastUpdatedTime": WHEN}}
ROWS = [
    Row("unauthorized fails", "", 403, FORBIDDEN, token=""),
    Row("a token for another TrainJob", HALF, 403, FORBIDDEN, token="of another job"),
    Row("a payload that is no JSON", "invalid payload", 422, PAYLOAD),
    Row("an empty body", "", 422, PAYLOAD),
    Row("a text in place of a number", {"trainerStatus": {"progressPercentage": "50", "lastUpdatedTime": WHEN}}, 422, PAYLOAD),
    Row("a fraction in place of a whole number", {"trainerStatus": {"progressPercentage": 50.5, "lastUpdatedTime": WHEN}}, 422, PAYLOAD),
    Row("an oversized payload", MEBIBYTE, 413, TOO_LARGE),
    Row("an oversized payload without a declared length", [MEBIBYTE[:70_000].encode()], 422, PAYLOAD, ours=(413, TOO_LARGE),
        reason="a body has one limit, and the training code sees that it is too long"),
    Row("a valid report", HALF, 200, HALF),
    Row("a valid report with all members", ALL, 200, ALL),
    Row("members that are not known", {**HALF, "more": 1}, 200, HALF),
    Row("a form's content type", HALF, 200, HALF, content_type="application/x-www-form-urlencoded"),
    Row("a query", HALF, 200, HALF, path=path_of("row") + "?force=true"),
    Row("an empty update", {}, 200, {}),
    Row("null", "null", 200, {}),
    Row("an empty update of an unknown TrainJob", {}, 200, {}, job=UNKNOWN),
    Row("an unknown TrainJob", HALF, 404, failure(404, "NotFound", "Train job not found"), job=UNKNOWN),
    Row("another method", HALF, 404, NOT_FOUND, method="PUT"),
    Row("another path", None, 404, NOT_FOUND, path="/", method="GET"),
    Row("a trailing slash", HALF, 404, NOT_FOUND, path=path_of("row") + "/"),
    Row("more than 100 percent", {"trainerStatus": {"progressPercentage": 150, "lastUpdatedTime": WHEN}}, 422,
        failure(422, "Invalid", 'TrainJob.trainer.kubeflow.org "row" is invalid: status.trainerStatus.progressPercentage: Invalid value: 150: '
                                "status.trainerStatus.progressPercentage in body should be less than or equal to 100")),
]


def send(server, row):
    tokens = {"good": token_of(row.job), "of another job": token_of("another"), "": None}
    headers = {"Content-Type": row.content_type}
    if tokens[row.token]:
        headers["Authorization"] = f"Bearer {tokens[row.token]}"
    is_chunked = isinstance(row.body, list)
    body = row.body if is_chunked or isinstance(row.body, (str, type(None))) else json.dumps(row.body)
    with contextlib.closing(server.connect()) as connection:
        connection.request(row.method, row.path or path_of(row.job), body, headers, encode_chunked=is_chunked)
        status, headers, answer = read_answer(connection.getresponse())
    assert headers["Content-Type"] == "application/json"
    return status, answer


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_answers_are_those_of_kubeflow_trainer_s_server(shared, row):
    assert bool(row.reason) == bool(row.ours)
    assert send(shared[1], row) == (row.ours or (row.status, row.answer))


def report(job, **members):
    return Row("", {"trainerStatus": {**members, "lastUpdatedTime": now()}}, 200, None, job)


def test_a_report_replaces_the_one_before_it_and_an_empty_one_does_not(shared):
    api, server = shared
    assert send(server, report("replaced", progressPercentage=30))[0] == 200
    wait_for("the first report", lambda: api.stored.get("replaced", {}).get("progressPercentage") == 30)
    assert send(server, report("replaced"))[0] == 200
    wait_for("the second report", lambda: "progressPercentage" not in api.stored["replaced"])
    assert send(server, report("replaced", progressPercentage=40))[0] == 200
    wait_for("the third report", lambda: api.stored["replaced"].get("progressPercentage") == 40)
    writes = len(api.writes)
    assert send(server, Row("", {}, 200, {}, "replaced")) == (200, {})
    # Of another job, written after anything that the empty report would cause.
    assert send(server, report("another", progressPercentage=1))[0] == 200
    assert "replaced" not in [job for job, _ in api.writes[writes:]]


def test_refused_reports_change_nothing_and_create_nothing(shared):
    api, server = shared
    writes = len(api.writes)
    for row in ROWS:
        if row.status >= 400:
            send(server, row._replace(path=row.path.replace("row", "refused"), job=row.job.replace("row", "refused")))
    assert send(server, report("another", progressPercentage=2))[0] == 200
    wait_for("its write", lambda: api.stored.get("another", {}).get("progressPercentage") == 2)
    assert {job for job, _ in api.writes[writes:]} <= {"row", "another"}
    assert UNKNOWN not in api.stored and "refused" not in api.stored
