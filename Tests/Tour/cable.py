"""Two networks joined by a cable that can be pulled: for the demo and the benchmarks. Needs root."""

import ctypes
import os
import shutil
import subprocess
import threading

from tour import Failed

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(code, what):
    if code != 0:
        raise Failed(f"{what}: {os.strerror(ctypes.get_errno())}")


def _in_thread(function):
    """In a thread of its own, because a thread that has changed its network does not find back."""
    outcome = []

    def run():
        try:
            outcome.append((function(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, error = outcome[0]
    if error:
        raise error
    return value


class Network:
    """A network namespace. It lives for as long as this process has its descriptor, or something runs in it."""

    def __init__(self):
        def make():
            _checked(_libc.unshare(CLONE_NEWNET), "unshare")
            return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

        self.descriptor = _in_thread(make)
        self.ip("link", "set", "lo", "up")

    def close(self):
        os.close(self.descriptor)

    def perform(self, function):
        """What it starts, and each socket that it makes, is in this network."""
        def inside():
            _checked(_libc.setns(self.descriptor, CLONE_NEWNET), "setns")
            return function()

        return _in_thread(inside)

    def run(self, *arguments, **options):
        def start():
            return subprocess.run(arguments, capture_output=True, text=True, **options)

        done = self.perform(start)
        if done.returncode != 0:
            raise Failed(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")

    def ip(self, *arguments):
        self.run("ip", *arguments)


def obstacle():
    """Why there can be no networks here; `None` where there can."""
    if os.geteuid() != 0:
        return "not root"
    if not shutil.which("ip"):
        return "there is no ip(8)"
    try:
        Network().close()
    except Failed as failure:
        return str(failure)
    return None


class Cable:
    """The daemon's network, the near one, reaches the server's by its default route. The addresses are for documentation
    (RFC 5737)."""

    NEAR, GATEWAY, SERVER = "192.0.2.2", "192.0.2.1", "198.51.100.1"

    def __enter__(self):
        self.near, self.far = Network(), Network()
        # No IPv6: its addresses come and go by themselves.
        for network in (self.near, self.far):
            file = "/proc/sys/net/ipv6/conf/default/disable_ipv6"
            network.run("sh", "-c", f"[ ! -e {file} ] || echo 1 >{file}")
        self.near.ip("link", "add", "v0", "type", "veth", "peer", "name", "w0")
        # The descriptor, by a path that the child can open.
        self.near.ip("link", "set", "w0", "netns", f"/proc/{os.getpid()}/fd/{self.far.descriptor}")
        self.far.ip("address", "add", f"{self.GATEWAY}/24", "dev", "w0")
        self.far.ip("address", "add", f"{self.SERVER}/32", "dev", "lo")
        self.far.ip("link", "set", "w0", "up")
        self.near.ip("address", "add", f"{self.NEAR}/24", "dev", "v0")
        self.near.ip("link", "set", "v0", "up")
        self.near.ip("route", "add", "default", "via", self.GATEWAY)
        return self

    def __exit__(self, *_):
        self.near.close()
        self.far.close()

    def pull(self):
        """The near link's carrier is lost."""
        self.far.ip("link", "set", "w0", "down")

    def plug(self):
        self.far.ip("link", "set", "w0", "up")
