"""`make pull-kills`: the daemon is killed again and again during first pulls. Each kill may cost what was not committed yet, and each
copy that becomes complete is the server's."""

import argparse
import os
import random
import shutil
import sys
import time

import page
from world import tour

# PageCommitter has so many pages in memory, and the next is asked for. A start looks at the head and proves its account.
MOST = 80 + 4
PAGE = 100


class Pulls:
    def __init__(self, options, server):
        self.options, self.server = options, server
        self.random = random.Random(options.seed)
        self.ended = self.copies = self.compared = 0
        self.costs, self.problems = [], []
        self.truth = {item["id"]: tour.fixed_time(item["updatedAt"]) for item in server.items()}
        self.begin()

    def begin(self):
        """An empty folder for the next copy."""
        self.folder = os.path.join(self.options.folder, str(self.copies))
        os.mkdir(self.folder)
        self.setting = tour.Setting(
            self.folder, self.server.url, self.server.token_file, texts="no", search_index="no", log_level="info")

    def pages(self):
        return self.server.settled("GET /api/timeline")

    def items(self):
        rows = self.setting.query("SELECT count(*) FROM item")
        return rows[0][0] if rows else 0

    def run(self):
        pages, items = self.pages(), 0
        while len(self.costs) < self.options.kills:
            child = self.setting.daemon()
            time.sleep(self.random.uniform(0.02, 0.6))
            self.ended += child.process.poll() is not None
            child.process.kill()
            child.process.wait()
            now_pages, now_items = self.pages(), self.items()
            self.costs.append((now_pages - pages) - (now_items - items) / PAGE)
            pages, items = now_pages, now_items
            if items == len(self.truth):
                self.compare()
                self.copies += 1
                self.begin()
                items = 0
            if len(self.costs) % 100 == 0:
                print(f"{len(self.costs):6} kills  {self.copies} copies  {pages} pages", flush=True)
        # The last one is left in peace.
        if code := self.setting.once():
            self.problems.append(f"the last pull ended with {code}")
        self.compare()
        self.copies += 1

    def compare(self):
        rows = dict(self.setting.query("SELECT id, updated_at FROM item"))
        self.compared += len(rows)
        if rows != self.truth:
            self.problems.append(f"copy {self.copies} has other items than the server")
        if self.setting.query("PRAGMA integrity_check") != [("ok",)]:
            self.problems.append(f"integrity_check of copy {self.copies}")
        shutil.rmtree(self.folder)

    def figures(self, seconds):
        costs = sorted(self.costs)
        if costs[-1] > MOST:
            self.problems.append(f"a kill cost {costs[-1]:.0f} pages: {[round(cost) for cost in costs[-20:]]}")
        if self.ended:
            self.problems.append(f"the daemon ended by itself {self.ended} times")
        return {
            "seed": self.options.seed, "seconds": round(seconds), "`kill -9` of the daemon": len(costs),
            "copies that became complete": self.copies, "items compared": self.compared,
            "pages lost by a kill, on average": round(sum(costs) / len(costs), 1),
            "the same, median": round(costs[len(costs) // 2], 1), "the same, p99": round(costs[len(costs) * 99 // 100], 1),
            f"the same, at most ({MOST} may be)": round(costs[-1], 1),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=40_000)
    parser.add_argument("--page-cost", default="2", help="milliseconds that the server takes for a page")
    options = page.begin(parser, "pull-kills")
    began = time.monotonic()
    words = ["--items", str(options.items), "--seed", str(options.seed), "--page-cost", options.page_cost]
    with tour.DevServer(options.folder, *words) as server:
        pulls = Pulls(options, server)
        pulls.run()
    figures = pulls.figures(time.monotonic() - began)
    return page.tell(figures, pulls.problems, page.PULLS, options)


if __name__ == "__main__":
    sys.exit(tour.main(main))
