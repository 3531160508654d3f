"""`make bench`: every figure that the project promises, measured in one run beside what it is compared with.

ROWS=pull,idle measures some of them; BENCH_SAVE=1 writes the table into docs/benchmarks.md; ITEMS=10000 makes
the timelines smaller, for trying out."""

import json
import os
import sys
import time

import changes
import hostile
import measure
import networks
import rows
import service
import search
import texts
import tour
import writes
from tour import Failed

ALL = {**rows.ALL, **writes.ALL, **networks.ALL, **service.ALL, **hostile.ALL, **texts.ALL, **search.ALL, **changes.ALL}
PAGE = os.path.join(tour.ROOT, "docs", "benchmarks.md")
BEGIN, END = "<!-- last run: begin -->", "<!-- last run: end -->"


def table(results):
    lines = ["| what | measured | must reach | beside it | reached |", "| --- | --- | --- | --- | --- |"]
    for row in results:
        reached = {True: "yes", False: "**no**", None: "-"}[row.reached]
        lines.append(f"| {row.what} | {row.measured} | {row.must} | {row.beside} | {reached} |")
    return lines


def save(lines):
    with open(PAGE) as file:
        text = file.read()
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise Failed(f"{PAGE} has lost the marks between which the last run stands")
    with open(PAGE, "w") as file:
        file.write(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}")
    print(f"\nwritten to {os.path.relpath(PAGE, tour.ROOT)}")


def run():
    wanted = [name for name in os.environ.get("ROWS", "").replace(",", " ").split() if name]
    unknown = [name for name in wanted if name not in ALL]
    if unknown:
        raise Failed(f"no such row: {', '.join(unknown)}; there are {', '.join(ALL)}")
    head = [time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), *measure.machine()]
    print("\n".join(head))
    begin = time.monotonic()
    results, failures = [], 0
    # Rows about texts say so.
    tour.Setting.defaults = {"texts": "no"}
    with rows.Bench() as bench:
        for name, row in ALL.items():
            if wanted and name not in wanted:
                continue
            print(f"\n{name} …", flush=True)
            try:
                measured = row(bench)
            except (Failed, OSError, json.JSONDecodeError) as failure:
                failures += 1
                print(f"  could not be measured: {failure}")
                measured = [rows.Row(name, "could not be measured", "", "", False)]
            for result in measured:
                print(f"  {result.what}: {result.measured}; must reach {result.must}"
                      + (f"; {result.beside}" if result.beside else ""))
            results += measured
    lines = table(results)
    print("\n" + "\n".join(lines))
    print(f"\n{time.monotonic() - begin:.0f} s in all; what is not reached is a figure to look at, not a failed run")
    if os.environ.get("BENCH_SAVE"):
        save(["", *(f"- {line}" for line in head), "", *lines, ""])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(tour.main(run))
