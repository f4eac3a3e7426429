#!/usr/bin/env python3
"""Serves the page of a video call between two browsers, passes on its offer and answer, and prints its reports as JSON lines.

One browser opens http://ADDRESS:PORT/#receive, the other http://ADDRESS:PORT/#send.
"""

import argparse
import http.server
import pathlib
import sys
import threading

PAGE = pathlib.Path(__file__).resolve().with_name("page.html")
DESCRIPTIONS = ("/offer", "/answer")
LARGEST_BODY = 1 << 20


class Call(http.server.ThreadingHTTPServer):
    """A server with the descriptions of one call."""

    daemon_threads = True

    def __init__(self, port, report):
        super().__init__(("", port), Handler)
        self.report = report
        self.posted = threading.Condition()
        self.descriptions = {}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers requests of the page."""

    def do_GET(self):
        if self.path in DESCRIPTIONS:
            with self.server.posted:
                self.server.posted.wait_for(lambda: self.path in self.server.descriptions)
                self.answer(self.server.descriptions[self.path], "application/json")
        elif self.path == "/":
            self.answer(PAGE.read_bytes(), "text/html")
        else:
            self.send_error(404)

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if length > LARGEST_BODY:
            return self.send_error(413)
        body = self.rfile.read(length)
        if self.path in DESCRIPTIONS:
            with self.server.posted:
                self.server.descriptions[self.path] = body
                self.server.posted.notify_all()
        elif self.path == "/report":
            self.server.report(body.decode())
        else:
            return self.send_error(404)
        return self.answer(b"", "text/plain")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Prints nothing: standard output has the reports."""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", metavar="PORT", nargs="?", type=int, default=8000, help="TCP port (default: 8000)")
    port = parser.parse_args().port
    try:
        call = Call(port, lambda line: print(line, flush=True))
    except (OSError, OverflowError) as error:
        sys.exit(f"cannot listen on port {port}: {error}")
    call.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
