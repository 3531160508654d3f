"""A short tour, for programs that qemu runs (`make arm64-check`): a pull, a search, a note that waits for its server, and the
comparisons of the copy with the server and with itself."""

import sys
import tempfile

import tour

OPTIONS = ["--items", "300", "--dialect", "C", "--seed", "7"]


def check(holds, text):
    print(f"   {'ok' if holds else 'NO'}  {text}")
    if not holds:
        raise tour.Failed(text)


def run():
    with tempfile.TemporaryDirectory(prefix="prsnl-short-") as folder:
        with tour.DevServer(folder, *OPTIONS) as server:
            setting = tour.Setting(folder, server.url, server.token_file, texts="no")
            check(setting.once() == 0 and setting.live() == 300, "prsnld --once pulls 300 items")
            check(not tour.differences(server.items(), setting), "every id and every field is the same")
        with setting.daemon() as daemon:
            tour.wait_until(lambda: setting.control("status")[0] == 0, "the daemon", 60, 0.5)
            code, text, _ = setting.control("note", "Milk, bread, coffee")
            check(code == 0 and text.startswith("queued #1 "), "a note is queued while there is no server")
            with tour.DevServer(folder, *OPTIONS, "--port", server.port) as again:
                tour.wait_until(lambda: setting.query("SELECT waiting FROM sync_state") == [(0,)], "the delivery", 120, 0.5)
                check([item["content"] for item in again.captures()] == ["Milk, bread, coffee"], "the server has it, once")
                tour.wait_until(lambda: "Milk" in setting.control("search", "bread coffee")[1], "search to find it", 60, 1)
                check(setting.control("verify")[0] == 0, "verify finds the copy equal")
            check(daemon.end(seconds=30)[0] == 0, "the daemon ends on SIGTERM")
        check(setting.control("verify", "--file")[0] == 0, "verify --file finds the file sound")
    return 0


if __name__ == "__main__":
    sys.exit(tour.main(run))
