#!/usr/bin/python3
"""Publishes changes to a stream of NATS JetStream, each once.

    prsnlctl changes --follow --cursor nats -- prsnl_to_nats.py SUBJECT [HOST:PORT]

Each line of stdin is a message. The next one is sent when the server has said that this one is stored, so they stand in the
stream in order. Ends with 0 when all are. What is repeated has the id that it had, and the server drops it, within the
`duplicate_window` of the stream."""

import json
import secrets
import socket
import sys
import time

TIMEOUT = 10
LONGEST_WAIT = 60


class Nats:
    """What is needed of the protocol: https://docs.nats.io/reference/reference-protocols/nats-protocol."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), TIMEOUT)
        self.input = self.socket.makefile("rb")
        self.largest = json.loads(self.line().removeprefix(b"INFO "))["max_payload"]
        self.inbox = f"_INBOX.{secrets.token_hex(12)}"
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "lang": "python", "version": "1"}
        self.socket.sendall(f"CONNECT {json.dumps(options)}\r\nSUB {self.inbox} 1\r\n".encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.input.close()
        self.socket.close()

    def line(self):
        line = self.input.readline()
        if not line.endswith(b"\n") or line.startswith(b"-ERR"):
            raise OSError(f"the server has ended the connection {line.decode(errors='replace').strip()}")
        return line

    def request(self, subject, body, headers=""):
        """What the server answers, which is JSON."""
        head = f"NATS/1.0\r\n{headers}\r\n".encode()
        size = len(head) + len(body)
        self.socket.sendall(f"HPUB {subject} {self.inbox} {len(head)} {size}\r\n".encode() + head + body + b"\r\n")
        while True:
            line = self.line()
            if line == b"PING\r\n":
                self.socket.sendall(b"PONG\r\n")
            elif line.startswith(b"HMSG"):
                # The answer for a subject without a listener, the only one with a header.
                raise OSError(f"no stream takes {subject}")
            elif line.startswith(b"MSG"):
                return json.loads(self.input.read(int(line.split()[-1]) + 2))


def publish(nats, subject, line):
    change = json.loads(line)
    # With the time: in a copy that was put back to an earlier state, the same number is another change.
    headers = f"Nats-Msg-Id: {subject}:{change['seq']}:{change['at']}\r\n"
    if len(line) + len(headers) + 12 > nats.largest:
        sys.exit(f"{subject}: change {change['seq']} is larger than max_payload")
    answer = nats.request(subject, line, headers)
    if "error" in answer:
        raise OSError(answer["error"]["description"])


def main(subject, address="127.0.0.1:4222"):
    waiting = [line.rstrip(b"\n") for line in reversed(sys.stdin.buffer.readlines())]
    pause = 1
    # A server that is away is waited for here: prsnlctl takes a command that fails for one that refuses the change.
    while waiting:
        try:
            with Nats(address) as nats:
                while waiting:
                    publish(nats, subject, waiting[-1])
                    waiting.pop()
                    pause = 1
        except (OSError, ValueError) as error:
            print(f"{subject}: {error}", file=sys.stderr, flush=True)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_WAIT)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 1 else sys.exit(__doc__)
