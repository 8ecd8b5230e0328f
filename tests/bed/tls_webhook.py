"""An HTTPS server that stands for a webhook, with answers from a test."""

import http.server
import ssl
import threading


class TlsWebhook:
    """`answer(path, body)` returns status, headers and body of a response, on a thread of its own; None closes the connection without
    a response. It is called for every method; `requests` counts (method, path)."""

    def __init__(self, certificates, answer):
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.requests.append((self.command, self.path.split("?")[0]))
                answered = answer(self.path.split("?")[0], self.rfile.read(int(self.headers.get("Content-Length", 0))))
                if answered is None:
                    self.close_connection = True
                    return
                status, headers, body = answered
                self.send_response(status)
                for name, value in {"Content-Length": len(body), **headers}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
