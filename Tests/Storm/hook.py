"""The command of a storm's reader of changes: `hook.py PREFIX` appends its batch to the file PREFIXtaken in one write, if nothing
comes between. PREFIXfates gets what became of each run. While there is a file PREFIXcalm, it takes everything."""

import json
import os
import random
import signal
import sys
import time

FATES = {"taken": 70, "refused": 9, "away": 7, "killed before": 7, "killed after": 7}
# Of so many changes it refuses one, each time: this is set aside, where its reader lives for long enough.
PORTION = 400
AWAY = 75  # EX_TEMPFAIL


def append(path, data):
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    if os.write(file, data) != len(data):
        raise OSError(f"{path} took a part of a batch")
    os.close(file)


def main(prefix):
    batch = sys.stdin.buffer.read()
    fate = "taken"
    if not os.path.exists(f"{prefix}calm"):
        time.sleep(random.choice([0, 0.02, 0.2]) * random.random())
        fate = random.choices(list(FATES), list(FATES.values()))[0]
        if any(json.loads(line)["seq"] % PORTION == 0 for line in batch.splitlines()):
            fate = "refused"
    append(f"{prefix}fates", fate.encode() + b"\n")
    if fate in ("taken", "killed after"):
        append(f"{prefix}taken", batch)
    if fate.startswith("killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    return {"taken": 0, "refused": 1, "away": AWAY}[fate]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
