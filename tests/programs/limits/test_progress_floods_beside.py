"""A flood of signalbox-webhook --serve=progress beside a process that reviews admissions."""

import contextlib
import os
import subprocess
import sys
import time

from paths import ROOT
from progress_program import ApiServer, Server
from webhook_program import ApiServer as OfAdmission
from webhook_program import TRAIN_JOB_PATH, Webhook, review, train_job, wait_for

# Of new connections, with forged tokens and junk, until it is ended.
FLOOD = """
import contextlib, http.client, itertools, ssl, sys
sys.path.insert(0, sys.argv[3])
from progress_program import path_of, token_of
context = ssl.create_default_context(cafile=sys.argv[2])
for number in itertools.count():
    connection = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), timeout=20, context=context)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        for i in range(5):
            token = "x" if i % 2 else token_of("job", pod=f"forged-{number}-{i}")
            connection.request("POST", path_of("job"), b"x" * 20000, {"Authorization": f"Bearer {token}"})
            connection.getresponse().read()
"""


def test_a_flood_of_the_server_of_progress_leaves_admission_reviews_alone(tmp_path):
    """In processes of their own, as the component runs them."""
    for name in ("admission", "progress"):
        (tmp_path / name).mkdir()
    with OfAdmission() as api, Webhook(tmp_path / "admission", api.port, "--threads=1") as webhook, \
            ApiServer() as of_progress, Server(tmp_path / "progress", of_progress, "--progress-source-rate=0") as server, contextlib.ExitStack() as ends:
        webhook.wait_until_ready()
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)

        def reviews(count):
            """Returns how long they took, the shortest first."""
            took = []
            for _ in range(count):
                began = time.monotonic()
                status, _, answer = webhook.post(TRAIN_JOB_PATH, review(train_job()))
                took.append(time.monotonic() - began)
                assert (status, answer["response"]["allowed"]) == (200, False)
            return sorted(took)
        forbidden = 'signalbox_progress_reports_total{outcome="forbidden"}'
        alone = reviews(50)
        for _ in range(2):
            flood = subprocess.Popen([sys.executable, "-c", FLOOD, str(server.port), str(server.cert), str(ROOT / "tests" / "bed")],
                                     env=os.environ, stdin=subprocess.DEVNULL)
            ends.callback(flood.wait)
            ends.callback(flood.kill)
        wait_for("the flood", lambda: server.metric(forbidden) > 50, interval=0.05)
        before = server.metric(forbidden)
        flooded = reviews(100)
        assert server.metric(forbidden) > before
        # The processes share the cores of this machine, and nothing else. An API server waits ten seconds.
        assert flooded[50] < 10 * alone[25] + 0.1 and flooded[-1] < 3
