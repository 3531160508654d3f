"""The figures of storms, as lines for a terminal and as a table in docs/reliability.md."""

import datetime
import os

from world import tour

PAGE = os.path.join(tour.ROOT, "docs", "reliability.md")
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def rows(figures):
    writes, kills = figures["writes"], figures["kills"]
    parked = ", ".join(f"{count} {reason}" for reason, count in sorted(figures["parked"].items()))
    yield "seed", figures["seed"]
    yield "minutes", round(figures["seconds"] / 60, 1)
    yield "`kill -9` of the daemon", kills["daemon"]
    yield "`kill -9` of prsnlctl", kills["prsnlctl"]
    yield "`kill -9` of the server", kills["server"]
    yield "faults of the server", sum(figures["faults"].values())
    yield "lost answers to writes that were applied", figures["lost_answers"]
    yield "writes accepted", writes["accepted"]
    yield "writes without an answer from prsnlctl", writes["lost"]
    yield "writes refused", writes["refused"]
    yield "delivered", figures["delivered"]
    yield "parked", parked or "none"
    yield "checkpoints", figures["checkpoints"]
    yield "claims checked", figures["claims"]
    yield "items compared", figures["rows_compared"]
    for kind, count in figures["findings"].items():
        yield f"**{kind}**", count


def text(value):
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(runs):
    columns = [dict(rows(figures)) for figures in runs]
    lines = ["| | " + " | ".join(f"dialect {figures['dialect']}" for figures in runs) + " |",
             "| --- |" + " ---: |" * len(runs)]
    for name in columns[0]:
        values = [str(column[name]) if name == "seed" else text(column[name]) for column in columns]
        lines.append(f"| {name} | " + " | ".join(values) + " |")
    kills = sum(sum(figures["kills"].values()) for figures in runs)
    lost = sum(figures["lost_answers"] for figures in runs)
    day = datetime.date.today().isoformat()
    return [f"Run on {day}: {kills:,} kills and {lost:,} lost answers in all.", "", *lines]


def save(runs):
    """Puts the figures between the page's two marks."""
    with open(PAGE) as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    with open(PAGE, "w") as file:
        file.write(before + BEGIN + "\n\n" + "\n".join(table(runs)) + "\n\n" + END + after)
