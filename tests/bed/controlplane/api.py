"""What the launcher itself asks of the API server. Starting kubectl takes a tenth of a second each time."""

import http.client
import json
import ssl
import urllib.parse


class Api:
    """The API server as seen by the holder of a client certificate."""

    def __init__(self, server, ca_file, cert, key):
        self._address = urllib.parse.urlsplit(server)
        self._tls = ssl.create_default_context(cafile=ca_file)
        self._tls.load_cert_chain(cert, key)

    def request(self, method, path, body=None, timeout=30):
        """(status, answer). The answer is JSON or, where the server sends none, text; status 0: nobody answers."""
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
        """The object, or {} as long as there is none."""
        status, answer = self.request("GET", path)
        return answer if status == 200 else {}

    def create(self, path, obj):
        """The created object; it must not be there yet."""
        status, answer = self.request("POST", path, obj)
        if status != 201:
            reason = answer.get("message") if isinstance(answer, dict) else answer
            raise RuntimeError(f"the API server did not create {obj['kind']} {obj['metadata']['name']}: {status} {reason}")
        return answer
