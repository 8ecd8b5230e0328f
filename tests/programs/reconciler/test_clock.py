"""signalbox-reconciler's metric of the API server's clock."""

import os
import pathlib

from deployment import Program
from rest import wait_for
from scripted_api_server import ScriptedApiServer

BINARY = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-reconciler"


class ApiServer(ScriptedApiServer):
    """Has no objects, but a clock."""

    def answer(self, request, url, body):
        if "watch=" in url.query:
            return self.watch(request)
        self.send(request, 404, {"kind": "Status", "code": 404, "message": "there is nothing"})


def test_a_clock_that_was_set_is_uncertain_whatever_it_shows(tmp_path):
    with ApiServer() as api:
        api.seconds_ahead = -1000
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(f"""{{apiVersion: v1, kind: Config, current-context: x, contexts: [{{name: x, context: {{cluster: c}}}}],
                                clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{api.port}"}}}}]}}""")
        reconciler = Program(BINARY, tmp_path / "log", ["--kubeconfig", kubeconfig, "--admin-listen", "127.0.0.1:0"])
        reconciler.wait_until_ready()
        wait_for("an answer", lambda: reconciler.metric("signalbox_clock_uncertain") == 0)
        api.seconds_ahead = 0
        wait_for("a contradiction", lambda: reconciler.metric("signalbox_clock_uncertain") == 1)
        assert "contradict each other" in reconciler.text()
        assert reconciler.stop() == []
