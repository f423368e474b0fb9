"""HTTP by hand, for what no client library would do."""

import json
import socket
import weakref

import served

_left = weakref.WeakKeyDictionary()  # what came after the last response of a socket


def connect(server, timeout=30):
    return socket.create_connection(("127.0.0.1", server.port), timeout=timeout * served.PATIENCE)


def request(path, body=None, method=None, headers=(), version="1.1"):
    lines = [f"{method or ('POST' if body is not None else 'GET')} {path} HTTP/{version}", "Host: localhost"]
    data = b""
    if body is not None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    lines += list(headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + data


def read_head(sock):
    """(status, headers, what came after the head)."""
    data = _left.pop(sock, b"")
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more:
            raise EOFError(data)
        data += more
    head, rest = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
    return int(lines[0].split()[1]), headers, rest


def read_response(sock):
    """(status, headers, body), by Content-Length or chunks."""
    status, headers, rest = read_head(sock)

    def more():
        data = sock.recv(65536)
        if not data:
            raise EOFError(rest)
        return data

    if "content-length" in headers:
        while len(rest) < int(headers["content-length"]):
            rest += more()
        length = int(headers["content-length"])
        _left[sock] = rest[length:]
        return status, headers, rest[:length]
    body = b""
    while headers.get("transfer-encoding") == "chunked":
        while b"\r\n" not in rest:
            rest += more()
        size, rest = rest.split(b"\r\n", 1)
        length = int(size, 16)
        while len(rest) < length + 2:
            rest += more()
        body, rest = body + rest[:length], rest[length + 2:]
        if length == 0:
            break
    _left[sock] = rest
    return status, headers, body
