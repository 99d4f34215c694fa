"""As much of S3 as a run needs, on loopback: objects that are put, got, listed and deleted."""

from __future__ import annotations

import hashlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

_TIME = "2024-05-31T10:00:00.000Z"


class Buckets(BaseHTTPRequestHandler):
    """Objects by name, `bucket/key`."""

    protocol_version = "HTTP/1.1"
    objects: ClassVar[dict[str, bytes]] = {}
    puts: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        name, query = unquote(address.path).strip("/"), parse_qs(address.query)
        if "list-type" in query:
            self._list(name, query.get("prefix", [""])[0], query.get("delimiter", [""])[0])
            return
        content = self.objects.get(name)
        if content is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes="):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            end = min(int(last or len(content)), len(content) - 1)
            part = content[int(first) : end + 1]
            span = f"bytes {first}-{end}/{len(content)}"
            self._answer(206, part, {"Content-Range": span, "ETag": _tag(content)})
            return
        self._answer(200, content, {"ETag": _tag(content)})

    def do_HEAD(self) -> None:
        name = unquote(urlsplit(self.path).path).strip("/")
        if "/" not in name:
            self._answer(200, b"")
            return
        content = self.objects.get(name)
        if content is None:
            self._answer(404, b"")
            return
        self.send_response(200)
        for key, value in {"Content-Length": str(len(content)), "ETag": _tag(content)}.items():
            self.send_header(key, value)
        self.send_header("Last-Modified", "Fri, 31 May 2024 10:00:00 GMT")
        self.end_headers()

    def do_PUT(self) -> None:
        name = unquote(urlsplit(self.path).path).strip("/")
        content = self._body()
        self.objects[name] = content
        self.puts.append(name)
        self._answer(200, b"", {"ETag": _tag(content)})

    def do_DELETE(self) -> None:
        self.objects.pop(unquote(urlsplit(self.path).path).strip("/"), None)
        self._answer(204, b"")

    def do_POST(self) -> None:
        bucket = unquote(urlsplit(self.path).path).strip("/")
        for key in ElementTree.fromstring(self._body()).iter():
            if key.tag.endswith("Key"):
                self.objects.pop(f"{bucket}/{key.text}", None)
        self._answer(200, b"<DeleteResult/>")

    def log_message(self, format: str, *args: object) -> None:
        return

    def _body(self) -> bytes:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return content
        whole = b""
        while content:
            size, _, rest = content.partition(b"\r\n")
            length = int(size.partition(b";")[0], 16)
            if not length:
                break
            whole, content = whole + rest[:length], rest[length + 2 :]
        return whole

    def _list(self, bucket: str, prefix: str, delimiter: str) -> None:
        keys = sorted(name.partition("/")[2] for name in self.objects if name.startswith(f"{bucket}/"))
        found, folders = [], []
        for key in keys:
            if not key.startswith(prefix):
                continue
            folder, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if cut:
                folders.append(prefix + folder + cut)
            else:
                found.append(key)
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self.objects[f'{bucket}/{key}'])}</Size>"
            f"<LastModified>{_TIME}</LastModified><ETag>{_tag(self.objects[f'{bucket}/{key}'])}</ETag></Contents>"
            for key in found
        )
        entries += "".join(
            f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>"
            for each in dict.fromkeys(folders)
        )
        count = len(found) + len(set(folders))
        head = f"<IsTruncated>false</IsTruncated><KeyCount>{count}</KeyCount>"
        body = f"<ListBucketResult>{head}{entries}</ListBucketResult>"
        self._answer(200, body.encode())

    def _answer(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Last-Modified", "Fri, 31 May 2024 10:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


def serve_buckets() -> ThreadingHTTPServer:
    """A server on a free port; whoever starts it runs and stops it."""
    return ThreadingHTTPServer(("127.0.0.1", 0), Buckets)
