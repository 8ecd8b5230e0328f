"""A client for the launcher's own requests to the API server. Starting kubectl takes a tenth of a second each time."""

import http.client
import json
import ssl
import urllib.parse


class Api:
    """Sends requests to the API server with a client certificate."""

    def __init__(self, server, ca_file, cert, key):
        self._address = urllib.parse.urlsplit(server)
        self._tls = ssl.create_default_context(cafile=ca_file)
        self._tls.load_cert_chain(cert, key)

    def request(self, method, path, body=None, timeout=30):
        """Returns (status, answer). The answer is JSON or, if the server sends none, text; the status is 0 without an answer."""
        connection = http.client.HTTPSConnection(self._address.hostname, self._address.port, context=self._tls,
                                                 timeout=timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)
        finally:
            connection.close()
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, text

    def get(self, path):
        """Returns the object, or {} if it does not exist."""
        status, answer = self.request("GET", path)
        return answer if status == 200 else {}

    def create(self, path, obj):
        """Creates an object that must not exist yet. Returns it."""
        status, answer = self.request("POST", path, obj)
        if status != 201:
            reason = answer.get("message") if isinstance(answer, dict) else answer
            raise RuntimeError(f"the API server did not create {obj['kind']} {obj['metadata']['name']}: {status} {reason}")
        return answer
