"""A TLS 1.3 client made of libssl itself, for records that Python's ssl does not send. It returns the bytes of records, so that a test
can prepare any number of them."""

import ctypes
import ssl

_SSL = ctypes.CDLL("libssl.so.3")
_CRYPTO = ctypes.CDLL("libcrypto.so.3")
_KEY_UPDATE_REQUESTED = 1  # SSL_KEY_UPDATE_REQUESTED
_SET_MIN_PROTO_VERSION = 123  # SSL_CTRL_SET_MIN_PROTO_VERSION
for _library, _names in ((_SSL, ("TLS_client_method", "SSL_CTX_new", "SSL_new")), (_CRYPTO, ("BIO_new", "BIO_s_mem"))):
    for _name in _names:
        getattr(_library, _name).restype = ctypes.c_void_p


class RawTls:
    """Works on a connected socket, which it does not own."""

    def __init__(self, plain):
        self._plain = plain
        context = ctypes.c_void_p(_SSL.SSL_CTX_new(ctypes.c_void_p(_SSL.TLS_client_method())))
        self._ssl = ctypes.c_void_p(_SSL.SSL_new(context))
        _SSL.SSL_CTX_free(context)
        memory = ctypes.c_void_p(_CRYPTO.BIO_s_mem())
        self._in, self._out = (ctypes.c_void_p(_CRYPTO.BIO_new(memory)) for _ in range(2))
        _SSL.SSL_set_bio(self._ssl, self._in, self._out)
        _SSL.SSL_ctrl(self._ssl, _SET_MIN_PROTO_VERSION, ssl.TLSVersion.TLSv1_3.value, None)
        _SSL.SSL_set_connect_state(self._ssl)
        while _SSL.SSL_do_handshake(self._ssl) != 1:
            plain.sendall(self._take())
            received = plain.recv(65536)
            assert received, "the handshake was refused"
            _CRYPTO.BIO_write(self._in, received, len(received))
        plain.sendall(self._take())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _SSL.SSL_free(self._ssl)

    def _take(self):
        size = _CRYPTO.BIO_ctrl(self._out, 10, 0, None)  # BIO_CTRL_PENDING
        if size == 0:
            return b""
        data = ctypes.create_string_buffer(size)
        _CRYPTO.BIO_read(self._out, data, size)
        return data.raw

    def key_updates(self, count):
        """Returns records that only update keys; each requests an update in return."""
        for _ in range(count):
            assert _SSL.SSL_key_update(self._ssl, _KEY_UPDATE_REQUESTED) == 1 and _SSL.SSL_do_handshake(self._ssl) == 1
        return self._take()

    def records(self, *pieces):
        """Returns each piece in a record of its own."""
        for piece in pieces:
            assert _SSL.SSL_write(self._ssl, piece, len(piece)) == len(piece)
        return self._take()
