"""The figures of storms, as lines for a terminal and as a table in docs/reliability.md."""

import datetime
import os
import random
import shutil

from world import tour

PAGE = os.path.join(tour.ROOT, "docs", "reliability.md")
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
KILLS = "<!-- text kills -->", "<!-- end of text kills -->"
PULLS = "<!-- pull kills -->", "<!-- end of pull kills -->"
STARTS = "<!-- start kills -->", "<!-- end of start kills -->"
SOAK = "<!-- soak -->", "<!-- end of soak -->"


def added(total, figures):
    """The figures of several storms as those of one."""
    if total is None:
        return dict(figures, seeds=[figures["seed"]])
    for name, value in figures.items():
        if isinstance(value, dict):
            total[name] = {each: total[name].get(each, 0) + value.get(each, 0) for each in total[name] | value}
        elif name not in ("seed", "dialect"):
            total[name] += value
    total["seeds"].append(figures["seed"])
    return total


def rows(figures):
    writes, kills, seeds = figures["writes"], figures["kills"], figures["seeds"]
    yield "seeds", str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    yield "minutes", round(figures["seconds"] / 60, 1)
    yield "`kill -9` of the daemon", kills["daemon"]
    yield "`kill -9` of prsnlctl", kills["prsnlctl"]
    yield "`kill -9` of the server", kills["server"]
    yield "`kill -9` of readers of changes", kills["readers"]
    yield "faults of the server", sum(figures["faults"].values())
    for name, count in figures["troubles"].items():
        yield name, count
    yield "lost answers to writes that were applied", figures["lost_answers"]
    yield "writes accepted", writes["accepted"]
    yield "writes without an answer from prsnlctl", writes["lost"]
    yield "writes refused", writes["refused"]
    yield "delivered", figures["delivered"]
    yield "parked", sum(figures["parked"].values())
    yield "checkpoints", figures["checkpoints"]
    yield "claims checked", figures["claims"]
    yield "items compared", figures["rows_compared"]
    yield "titles and tags compared with what was asked for", figures["wishes"]
    for name, count in figures["followers"].items():
        yield name, count
    yield "claims about texts checked", figures["text_claims"]
    yield "texts compared", figures["texts_compared"]
    for kind, count in figures["findings"].items():
        yield f"**{kind}**", count


def text(value):
    return f"{value:,}" if isinstance(value, int) else str(value)


def summary(runs):
    kills = sum(sum(figures["kills"].values()) for figures in runs)
    lost = sum(figures["lost_answers"] for figures in runs)
    parked = {}
    for figures in runs:
        for reason, count in figures["parked"].items():
            parked[reason] = parked.get(reason, 0) + count
    reasons = "; ".join(f"{count:,} {reason}" for reason, count in sorted(parked.items())) or "none"
    return f"{kills:,} kills and {lost:,} lost answers in all. Parked: {reasons}."


def lines(runs):
    """For a terminal."""
    columns = [dict(rows(figures)) for figures in runs]
    yield f"{'':42}" + "".join(f"{figures['dialect']:>16}" for figures in runs)
    for name in columns[0]:
        yield f"{name.strip('*').replace('`', ''):42}" + "".join(f"{text(column[name]):>16}" for column in columns)
    yield summary(runs)


def table(runs):
    columns = [dict(rows(figures)) for figures in runs]
    yield f"Run on {datetime.date.today().isoformat()}: {summary(runs)}"
    yield ""
    yield "| | " + " | ".join(f"dialect {figures['dialect']}" for figures in runs) + " |"
    yield "| --- |" + " ---: |" * len(runs)
    # Findings that there were none of share a row.
    none = [name for name in columns[0] if name.startswith("**") and not any(column[name] for column in columns)]
    for name in columns[0]:
        if name not in none:
            yield f"| {name} | " + " | ".join(text(column[name]) for column in columns) + " |"
    if none:
        yield f"| {', '.join(none)} |" + " 0 |" * len(runs)


def save(runs):
    put(table(runs), BEGIN, END)


def begin(parser, name):
    """The options of `make text-kills` and its like, in an empty folder of their own."""
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--save", action="store_true", help="write the figures into docs/reliability.md")
    parser.add_argument("--folder", default=os.path.join(tour.ROOT, ".run", name))
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)
    return options


def tell(figures, problems, marks, options):
    """What `make text-kills` and its like say in the end: 0 where nothing was found, and then their files go."""
    for name, value in figures.items():
        print(f"{name.replace('`', ''):52}{text(value):>12}")
    for problem in problems[:10]:
        print(f"FOUND: {problem[:4_000]}")
    if problems:
        return 1
    if options.save:
        save_list(figures, marks)
    shutil.rmtree(options.folder)
    return 0


def save_list(figures, marks):
    cells = [f"| {name} | {text(value)} " for name, value in figures.items()]
    rows = ["".join(cells[at:at + 2]) + "|" for at in range(0, len(cells), 2)]
    put([f"Run on {datetime.date.today().isoformat()}:", "", "| | | | |", "| --- | ---: | --- | ---: |", *rows], *marks)


def put(lines, begin, end):
    """Puts lines between two marks of the page."""
    with open(PAGE) as file:
        page = file.read()
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    with open(PAGE, "w") as file:
        file.write(before + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + after)
