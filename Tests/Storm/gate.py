"""What stops all writers for a checkpoint."""

import threading

from world import tour


class Gate:
    """Lets writers in while it is open; closing it waits for those that are inside."""

    def __init__(self):
        self.condition = threading.Condition()
        self.is_open = self.is_over = False
        self.inside = 0

    def enter(self):
        with self.condition:
            self.condition.wait_for(lambda: self.is_open or self.is_over)
            self.inside += not self.is_over
            return not self.is_over

    def leave(self):
        with self.condition:
            self.inside -= 1
            self.condition.notify_all()

    def pause(self, seconds):
        with self.condition:
            self.condition.wait_for(lambda: not self.is_open, seconds)

    def open(self):
        with self.condition:
            self.is_open = True
            self.condition.notify_all()

    def close(self):
        with self.condition:
            self.is_open = False
            self.condition.notify_all()
            if not self.condition.wait_for(lambda: self.inside == 0, 120):
                raise tour.Failed("a writer did not come to an end within 120 s")

    def end(self):
        with self.condition:
            self.is_over = True
            self.condition.notify_all()
