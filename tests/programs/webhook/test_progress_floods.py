"""More clients of signalbox-webhook --serve=progress than it has room for: attackers, and Pods."""

import concurrent.futures
import contextlib
import http.client
import socket
import time

from progress_program import ApiServer, Server, path_of, report, token_of
from webhook_program import ApiServer as OfAdmission
from webhook_program import TRAIN_JOB_PATH, Webhook, review, train_job, wait_for


def test_connections_without_an_accepted_token_make_room_before_one_of_a_pod(tmp_path):
    with ApiServer() as api, Server(tmp_path, api, "--progress-source-rate=0", "--max-connections=16") as server, contextlib.ExitStack() as flood:
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        pod = flood.enter_context(contextlib.closing(server.connect()))
        token = token_of("kept")
        assert server.post("kept", report(1), token, pod)[0] == 200
        for i in range(48):
            other = flood.enter_context(contextlib.closing(server.connect()))
            assert server.post("kept", report(1), ("x", token_of("kept", pod=f"forged-{i}"))[i % 2], other)[0] in (403, 429)
        assert server.post("kept", report(2), token, pod)[0] == 200


def test_more_pods_than_connections_all_report(tmp_path):
    """Beyond three quarters of the connections an answer ends its connection, so that none ends under a report."""
    with ApiServer() as api, Server(tmp_path, api, "--progress-source-rate=0", "--max-connections=16") as server, contextlib.ExitStack() as pods:
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        kept = {}
        for turn in range(3):
            for i in range(40):
                if i not in kept:
                    kept[i] = pods.enter_context(contextlib.closing(server.connect()))
                status, headers, _ = server.post(f"job-{i}", report(turn), token_of(f"job-{i}", f"pod-{i}"), kept[i])
                assert status == 200
                if headers.get("Connection") == "close":
                    kept.pop(i).close()
        assert len(kept) == 12


def test_slow_senders_make_room_for_pods_and_are_answered_in_the_end(tmp_path):
    with ApiServer() as api, Server(tmp_path, api, "--progress-source-rate=0", "--max-connections=16") as server, contextlib.ExitStack() as flood:
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        slow = [flood.enter_context(contextlib.closing(server.begin_report("job", 1000))) for _ in range(40)]
        began = time.monotonic()
        for i in range(20):
            assert server.post("honest", report(i), token_of("honest"))[0] == 200
        assert time.monotonic() - began < 10
        # The others were ended for those that came later. A body has ten seconds, however it drips.
        last = slow[-1]
        with contextlib.suppress(OSError):
            for _ in range(40):
                last.send(b" ")
                time.sleep(0.5)
        with contextlib.suppress(OSError, http.client.HTTPException):
            assert last.getresponse().status == 408
        assert time.monotonic() - began < 25
        assert "job" not in api.stored


def test_a_token_that_expires_on_a_kept_connection_is_forbidden(tmp_path):
    """Its review is remembered for no longer than it lasts, but for a minute by which clocks may differ."""
    with ApiServer() as api, Server(tmp_path, api, "--progress-source-rate=0") as server, contextlib.closing(server.connect()) as connection:
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        token = token_of("job", lasts=-57)
        assert server.post("job", report(1), token, connection)[0] == 200
        wait_for("the refusal", lambda: server.post("job", report(2), token, connection)[0] == 403, timeout=10)
        assert api.stored["job"]["progressPercentage"] == 1


def test_forged_tokens_cause_few_token_reviews_and_no_reads(tmp_path):
    with ApiServer() as api, Server(tmp_path, api) as server, contextlib.closing(server.connect()) as connection:
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        token = token_of("attacked")
        assert server.post("attacked", report(1), token, connection)[0] == 200
        reads = server.reads()
        before = api.reviews
        for i in range(300):
            # The same forged one twice: the answer is remembered.
            forged = token_of(f"attacked-{i // 2}", pod=f"forged-{i // 2}")
            assert server.post(f"attacked-{i // 2}", report(9), forged, connection)[0] in (403, 429)
            if i % 30 == 0:
                assert server.post("attacked", report(2), token, connection)[0] == 200
        assert api.reviews - before <= 8
        assert server.reads() == reads


def test_a_flood_of_reports_leaves_the_connections_of_admission_alone(tmp_path):
    """In one process, as where --serve names both."""
    files = [f"--progress-tls-cert={tmp_path / 'tls.crt'}", f"--progress-tls-key={tmp_path / 'tls.key'}"]
    with OfAdmission() as api, Webhook(tmp_path, api.port, "--serve=admission,progress", "--progress-listen=127.0.0.1:0", "--threads=1",
                                       "--max-connections=16", "--progress-source-rate=0", *files) as webhook, contextlib.ExitStack() as flood:
        webhook.wait_until_ready()
        port = webhook._port_of("progress")
        kept = flood.enter_context(contextlib.closing(webhook.connect()))
        ended = []

        def attack(number):
            while not ended:
                connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=webhook.tls())
                with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
                    for i in range(20):
                        connection.request("POST", path_of("job"), b"x" * 1000,
                                           {"Authorization": f"Bearer {token_of('job', pod=f'forged-{number}-{i}')}"})
                        connection.getresponse().read()
        for _ in range(40):
            flood.enter_context(contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=5)))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            attacks = [pool.submit(attack, number) for number in range(4)]
            try:
                for _ in range(30):
                    status, headers, answer = webhook.post(TRAIN_JOB_PATH, review(train_job()), connection=kept)
                    assert (status, answer["response"]["allowed"], headers.get("Connection")) == (200, False, None)
            finally:
                ended.append(True)
            concurrent.futures.wait(attacks)
