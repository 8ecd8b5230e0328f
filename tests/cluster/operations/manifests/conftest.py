"""On an API server with our CRDs, and without any controller or webhook."""

from schema_server import installed, namespaces, plane, rest  # noqa: F401
