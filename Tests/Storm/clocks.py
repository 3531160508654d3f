"""The clocks of the two machines, which are set while the storm goes on. No step is seen by the judge's own clock, which
every journal line has too: its times are called real here."""

import mmap
import os
import struct
import subprocess
import time

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clock.c")
MINUTE, HOUR = 60, 3_600


def draw_ahead(random):
    """Seconds that a machine's clock is ahead, or behind: none at all, some minutes, or hours."""
    span = random.choice([0, 16 * MINUTE, 16 * MINUTE, HOUR, 3 * HOUR, 11 * HOUR, 26 * HOUR])
    return round(random.choice([-1, 1]) * span * random.uniform(1, 1.2), 3)


class Clock:
    """What a clock showed when. Times are microseconds."""

    def __init__(self):
        # (real, how far ahead from then on)
        self.steps = [(0, 0)]

    def step(self, real, ahead):
        if ahead != self.steps[-1][1]:
            self.steps.append((real, ahead))

    def moment(self, shown, until=None):
        """When the clock showed this last. Where it never did, the nearest moment: a step has left it out."""
        until = until or int(time.time() * 1_000_000)
        best = None
        for index in range(len(self.steps) - 1, -1, -1):
            begin, ahead = self.steps[index]
            end = min(until, self.steps[index + 1][0]) if index + 1 < len(self.steps) else until
            real = min(max(shown - ahead, begin), end)
            error = abs(shown - ahead - real)
            if best is None or error < best[0]:
                best = (error, real)
            if error == 0:
                break
        return best[1]


class MachineClock(Clock):
    """The clock of the daemon's machine: of the daemon and of prsnlctl, and of nothing else (clock.c)."""

    def __init__(self, folder):
        super().__init__()
        library, path = os.path.join(folder, "clock.so"), os.path.join(folder, "clock")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-Wall", "-o", library, SOURCE], check=True)
        with open(path, "w+b") as file:
            file.write(bytes(8))
            file.flush()
            self.memory = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": library, "STORM_CLOCK": path}

    def set(self, ahead):
        microseconds = round(ahead * 1_000_000)
        self.memory[:] = struct.pack("=q", microseconds)
        self.step(int(time.time() * 1_000_000), microseconds)
