"""signalbox-webhook --serve=progress as Pods and operators meet it, on an API server of a few lines."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time

import pytest
from progress_deployment import GUIDE
from progress_program import ApiServer, Server, failure, path_of, report, token_of
from webhook_program import BINARY, read_answer, wait_for


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with ApiServer() as api, Server(tmp_path_factory.mktemp("progress"), api, "--progress-source-rate=0") as server:
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        yield api, server


def test_training_code_reports_over_tls(shared):
    api, server = shared
    status, headers, body = server.post("reporting", report(42))
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert body["trainerStatus"]["progressPercentage"] == 42
    assert api.stored["reporting"]["progressPercentage"] == 42
    assert "lastProgressTime" in api.stored["reporting"]
    assert server.metric('signalbox_progress_reports_total{outcome="accepted"}') >= 1


def test_refusals_of_the_http_layer_are_those_of_an_api_server(shared):
    _, server = shared
    assert server.post("job", b"x" * 65537)[::2] == (413, failure(413, "RequestEntityTooLarge", "Payload too large"))
    with contextlib.closing(server.connect()) as connection:
        connection.putrequest("POST", path_of("job"))
        connection.putheader("Authorization", f"Bearer {token_of('job')}")
        connection.endheaders()
        assert read_answer(connection.getresponse())[::2] == (411, failure(411, "BadRequest", "send a Content-Length or a chunked body"))
    with contextlib.closing(server.connect()) as connection:
        connection.request("POST", path_of("job"), "{}", {"Authorization": "Bearer " + "x" * 100_000})
        status, headers, answer = read_answer(connection.getresponse())
        assert (status, headers["Content-Type"], answer["code"]) == (431, "application/json", 431)
    with contextlib.closing(server.connect()) as connection:
        connection.request("GET", "/healthz")
        assert read_answer(connection.getresponse())[::2] == (404, failure(404, "NotFound", "Not found"))


def test_a_chunked_body_is_read_up_to_its_limit(shared):
    _, server = shared
    with contextlib.closing(server.connect()) as connection:
        text = json.dumps(report(1)).encode()
        connection.request("POST", path_of("chunked"), iter([text[:10], text[10:]]), {"Authorization": f"Bearer {token_of('chunked')}"},
                           encode_chunked=True)
        assert read_answer(connection.getresponse())[0] == 200
    with contextlib.closing(server.connect()) as connection:
        connection.request("POST", path_of("chunked"), iter([b" " * 60000, b" " * 6000]), {"Authorization": f"Bearer {token_of('chunked')}"},
                           encode_chunked=True)
        assert read_answer(connection.getresponse())[0] == 413


def test_forged_and_foreign_tokens_are_forbidden_and_not_logged(shared):
    api, server = shared
    writes = len(api.writes)
    forged = token_of("forged", pod="forged")
    for token in ("x", "a.b.c", forged, token_of("other"), token_of("forged", lasts=-120)):
        assert server.post("forged", report(1), token)[::2] == (403, failure(403, "Forbidden", "Forbidden"))
    # Reports of the tests before may still be written.
    assert "forged" not in [job for job, _ in api.writes[writes:]]
    assert forged not in json.dumps(server.log())


def test_an_invalid_report_is_refused_before_any_write(shared):
    api, server = shared
    writes = len(api.writes)
    status, _, body = server.post("bounds", report(150))
    assert (status, body["reason"]) == (422, "Invalid")
    assert body["message"].startswith('TrainJob.trainer.kubeflow.org "bounds" is invalid: status.trainerStatus.progressPercentage: ')
    assert server.post("bounds", '{"trainerStatus": {"progressPercentage": "5"}}')[2]["message"] == "Invalid payload"
    assert "bounds" not in [job for job, _ in api.writes[writes:]]


def test_a_report_of_the_last_minute_that_is_sent_again_changes_nothing(tmp_path):
    """An older one counts as a report by another clock: it is shown, but it touches nothing else of the status."""
    with ApiServer() as api, Server(tmp_path, api, "--progress-interval=1s") as server:
        old, new = report(10), report(20)
        old["trainerStatus"]["lastUpdatedTime"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 20))
        for body in (old, new, old):
            assert server.post("replayed", body)[0] == 200
        wait_for("the newest report", lambda: api.stored["replayed"]["progressPercentage"] == 20, interval=0.1)
        assert server.post("replayed", old)[0] == 200
        ancient = report(30)
        ancient["trainerStatus"]["lastUpdatedTime"] = "2026-01-15T10:00:00Z"
        assert server.post("replayed", ancient)[0] == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
        assert [stored["progressPercentage"] for _, stored in api.writes] == [10, 20, 30]
        assert api.fields == {"trainerStatus"}


def test_the_script_of_the_guide_reports_in_a_pod_and_never_stops_the_training(shared, tmp_path):
    api, server = shared
    (tmp_path / "token").write_text(token_of("guide"))
    pod = {"KUBEFLOW_TRAINER_SERVER_URL": f"https://127.0.0.1:{server.port}{path_of('guide')}",
           "KUBEFLOW_TRAINER_SERVER_TOKEN": str(tmp_path / "token"), "KUBEFLOW_TRAINER_SERVER_CA_CERT": str(server.cert)}

    def train(**variables):
        run = subprocess.run([sys.executable, "-c", GUIDE], env=variables, capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr
        return (run.stdout + run.stderr).splitlines()
    assert train() == [] and train(**pod, RANK="1") == []
    assert "guide" not in api.stored
    assert train(**pod, RANK="0") == []
    stored = wait_for("the last report", lambda: api.stored["guide"]["progressPercentage"] == 100 and api.stored["guide"], timeout=20)
    assert stored["metrics"] == [{"name": "loss", "value": "0.25"}, {"name": "step", "value": "4"}]
    for broken in ({"KUBEFLOW_TRAINER_SERVER_URL": "https://127.0.0.1:1/"}, {"KUBEFLOW_TRAINER_SERVER_TOKEN": str(tmp_path / "none")}):
        lines = train(**{**pod, **broken})
        assert len(lines) == 2 and all(line.startswith("the progress was not reported: ") for line in lines)


def test_single_jobs_have_series_on_a_page_of_their_own_where_it_is_asked_for(shared, tmp_path):
    assert shared[1].admin("/metrics/jobs")[0] == 404
    with ApiServer() as api, Server(tmp_path, api, "--progress-source-rate=0", "--progress-job-metrics=2") as server:
        for i in range(3):
            assert server.post(f"job-{i}", report(i), token_of(f"job-{i}"))[0] == 200
        status, text = server.admin("/metrics/jobs")
        assert status == 200
        lines = [line for line in text.splitlines() if line.startswith("signalbox_progress_job_percent{")]
        assert lines == [f'signalbox_progress_job_percent{{namespace="ns",name="job-{i}"}} {i}' for i in range(2)]
        assert "signalbox_progress_job_" not in server.admin("/metrics")[1]


def test_reports_of_many_jobs_over_one_connection_are_all_stored(shared):
    api, server = shared
    with contextlib.closing(server.connect()) as connection:
        for i in range(10):
            token = token_of(f"many-{i}", f"pod-{i}")
            assert server.post(f"many-{i}", report(i), token, connection)[0] == 200
    assert [api.stored[f"many-{i}"]["progressPercentage"] for i in range(10)] == list(range(10))


def test_an_ending_server_stores_what_it_has_accepted(tmp_path):
    with ApiServer() as api, Server(tmp_path, api, "--progress-interval=1h", "--progress-source-rate=0") as server:
        token = token_of("ending")
        for percentage in (1, 2, 3):
            assert server.post("ending", report(percentage), token)[0] == 200
        assert api.stored["ending"]["progressPercentage"] == 1
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
        assert api.stored["ending"]["progressPercentage"] == 3
        assert server.log()[-1]["msg"] == "stopped"


def test_a_killed_server_loses_one_interval_at_most(tmp_path):
    with ApiServer() as api, Server(tmp_path, api, "--progress-interval=1s") as server:
        token = token_of("killed")
        began = time.monotonic()
        for percentage in range(10):
            assert server.post("killed", report(percentage), token)[0] == 200
            time.sleep(max(0, began + 0.3 * (percentage + 1) - time.monotonic()))
        server.process.kill()
        server.process.wait()
        assert api.stored["killed"]["progressPercentage"] >= 5
        assert len(api.writes) <= 5


def test_a_server_is_not_ready_before_the_api_server_answers(tmp_path):
    with ApiServer() as api:
        api.is_silent = True
        with Server(tmp_path, api) as server:
            wait_for("a reason", lambda: "the API server does not answer about progress" in server.admin("/readyz")[1], interval=0.02)
            assert server.admin("/readyz")[0] == 503
            api.is_silent = False
            wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)


def test_a_server_without_an_api_server_promises_nothing(tmp_path):
    with ApiServer() as api, Server(tmp_path, api, "--progress-interval=1s") as server:
        token = token_of("away")
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        assert server.post("away", report(1), token)[0] == 200
        api.error_status = 500
        time.sleep(1.1)
        assert server.post("away", report(2), token)[0] == 200
        assert wait_for("a failure", lambda: server.post("away", report(3), token)[0] == 500, interval=0.1)
        api.error_status = None
        wait_for("the last report", lambda: api.stored["away"]["progressPercentage"] == 3, timeout=40)


def test_after_a_refused_write_no_report_is_promised_until_one_is_stored(shared):
    api, server = shared
    token = token_of("denied")
    api.error_status = 403
    try:
        # At first they may wait in line, behind what the tests before have reported.
        wait_for("a refused write", lambda: server.post("denied", report(1), token)[0] == 500, interval=0.1)
        # This one waits for the next write, which is due later than its answer.
        assert server.post("denied", report(2), token)[0] == 500
    finally:
        api.error_status = None
    wait_for("a write", lambda: server.post("denied", report(3), token)[0] == 200, interval=0.1)
    assert api.stored["denied"]["progressPercentage"] == 3


def test_one_address_gets_so_many_new_connections(tmp_path):
    with ApiServer() as api, Server(tmp_path, api, "--progress-source-rate=1") as server:
        with contextlib.ExitStack() as kept:
            plain = [kept.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=5)) for _ in range(60)]
            wait_for("the refusals", lambda: sum(map(is_closed, plain)) >= 5)
            # The server counts one before it closes the connection. After some seconds it closes the others, too, for want of a handshake.
            wait_for("as many counted as closed", lambda: server.metric(
                'signalbox_progress_limited_total{limit="connections"}') == sum(map(is_closed, plain)) < 60, interval=0.02)


def is_closed(connection):
    """Returns whether the server has closed it. The server sends nothing before the handshake."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("options,words", [
    (["--serve=nothing"], ["--serve=nothing", "admission"]),
    (["--serve=progress", "--tls-cert=x"], ["--tls-cert", "--serve"]),
    (["--progress-interval=5s"], ["--progress-interval", "--serve"]),
    (["--serve=progress"], ["--progress-tls-cert", "missing"]),
    (["--serve=progress", "--progress-bytes-per-second=lots"], ["--progress-bytes-per-second", "512Ki"]),
])
def test_bad_usage_is_one_line_that_names_the_option(options, words):
    result = subprocess.run([BINARY, *options], capture_output=True, text=True, timeout=20)
    assert result.returncode != 0
    assert len(result.stderr.splitlines()) == 1
    assert all(word in result.stderr for word in words), result.stderr
