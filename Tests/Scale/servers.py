"""A PostgreSQL and a nats-server of one's own, in a folder, which can be killed and started again."""

import contextlib
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys

import psycopg2

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder) for folder in ("Tour", "../docs/scale")]
import prsnl_to_nats
import tour


def children(pid):
    """Of a process that this one has started."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Postgres:
    """On a socket in the folder, and nowhere else."""

    def __init__(self, folder):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
        self.program = found[-1] if found else shutil.which("postgres")
        if not self.program:
            raise tour.Failed("there is no PostgreSQL: `make setup-scale`")
        self.folder = os.path.join(folder, "postgres")
        os.mkdir(self.folder)
        self.options = {}
        # It refuses to run as root.
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chmod(folder, 0o711)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.data, self.log = os.path.join(self.folder, "data"), os.path.join(self.folder, "log")
        self.dsn = f"host={self.folder} user=prsnl dbname=postgres"
        subprocess.run(
            [os.path.join(os.path.dirname(self.program), "initdb"), "-D", self.data, "-U", "prsnl", "-A", "trust", "-E", "UTF8",
             "--locale=C", "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd="/", **self.options)
        self.process = None

    def start(self):
        """Those who are left of a killed one have to be gone first."""
        def is_up():
            if self.process is None or self.process.poll() is not None:
                with open(self.log, "ab") as log:
                    self.process = subprocess.Popen(
                        [self.program, "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", "-c", "shared_buffers=16MB"],
                        stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **self.options)
            try:
                psycopg2.connect(self.dsn).close()
                return True
            except psycopg2.OperationalError:
                return False

        tour.wait_until(is_up, "PostgreSQL", 60, 0.05)

    def kill(self, random):
        """The server, or one of its processes, after which it starts all of them again."""
        backends = children(self.process.pid)
        if backends and random.random() < 0.3:
            kill(random.choice(backends))
        else:
            self.process.send_signal(random.choice([signal.SIGKILL, signal.SIGQUIT]))
            self.process.wait()
        self.start()

    def query(self, sql, *values):
        with contextlib.closing(psycopg2.connect(self.dsn)) as connection, connection, connection.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall() if cursor.description else None

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait()


class NatsServer:
    """On a port of 127.0.0.1, with a stream for `prsnl.>`."""

    def __init__(self, folder):
        self.program = shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not self.program:
            raise tour.Failed("there is no nats-server: `make setup-scale`")
        self.folder = os.path.join(folder, "nats")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.server = None

    def make_stream(self):
        self.ask("STREAM.CREATE.prsnl", b'{"name":"prsnl","subjects":["prsnl.>"],"storage":"file","duplicate_window":600000000000}')

    def start(self):
        host, port = self.address.split(":")
        self.server = tour.Child([self.program, "-a", host, "-p", port, "-js", "-sd", self.folder], log=self.folder + ".log")
        tour.wait_until(self.is_up, "nats-server", 30, 0.05)

    def is_up(self):
        try:
            return "error" not in self.ask("INFO")
        except (OSError, ValueError):
            return False

    def ask(self, subject, body=b""):
        with prsnl_to_nats.Nats(self.address) as nats:
            return nats.request(f"$JS.API.{subject}", body)

    def kill(self):
        self.server.process.kill()
        self.server.process.wait()
        self.start()

    def end(self):
        if self.server:
            self.server.__exit__()
