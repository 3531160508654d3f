"""`make mutants`: each rule of the plan of writes, broken in turn. The model test has to notice each one.

The sources are copied into .build/mutants, changed there, built and tested. A mutant that survives is a rule without a test."""

import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COPY = os.path.join(ROOT, ".build", "mutants")
FOLDER = "Sources/Store/Intents/"
TEST = "PlanTests"

# What is broken, where, what stands there, and what is put in its place.
MUTANTS = [
    ("confirms while a late request can still change the field", "Plan.swift",
     "return mayChange.map { .mayChange(until: $0) } ?? .isThere", "return .isThere"),
    ("overwrites what another client has written", "Plan.swift",
     "        desired.isUnseen(field)", "        true"),
    ("sends again over another client's value after a lost answer", "Plan.swift",
     "?? .needsPerson(.conflict(theirs: theirs.only(field)))", "?? .isLacking"),
    ("does not wait for the server's processing", "Plan.swift",
     "guard reading.isProcessed else {", "guard reading.at == now else {"),
    ("takes one lookup for proof that nothing was made", "Target.swift",
     "guard let since, now.duration(since: since) >= interval else {", "guard now >= since ?? now else {"),
    ("deletes what was there before the capture", "Plan.swift",
     "deletion <= wasThereAt ?? 0", "deletion <= min(wasThereAt ?? 0, 0)"),
    ("believes what it read before the last send", "Plan.swift",
     "guard let reading, reading.at == now else { return .read }", "guard let reading else { return .read }"),
    ("sends tags without those of others", "Intent.swift", "tags: tags(over: there.tags ?? []))", "tags: tags(over: []))"),
    ("forgets a removal of what was added before", "Intent.swift",
     "for text in texts { tags[ByteText(text)] = Asked(value: isWanted, by: number) }",
     "for text in texts { tags[ByteText(text)] = isWanted || tags[ByteText(text)] == nil"
     " ? Asked(value: isWanted, by: number) : nil }"),
    ("tries without end what the server does not keep", "Plan.swift", "if answered >= Self.mostTries {",
     "if answered >= .max {"),
    ("asks again for what is confirmed", "Intent.swift", "intent.number > confirmed[$0] ?? 0", "intent.number > 0"),
    ("says nothing of fields whose item is gone", "Plan.swift", "return .ask(field, .gone)",
     "return field == .title ? .settled : .settled"),
    ("does not know what the server makes of a value", "Plan.swift", "wasTaken && isMade(field, of: wanted, theirs)",
     "wasTaken && wanted.isSame(field, as: theirs)"),
    ("lets a person take back what was sent", "Target.swift", "if intent.ask == .delete, identity == .gone { return true }",
     "if intent.number > 0 { return false }"),
]


def run(command):
    return subprocess.run(command, cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env={**os.environ, "PRSNL_TEST_TARGETS": "StoreTests"}, check=False)


def copy():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    for name in names:
        source, target = os.path.join(ROOT, name), os.path.join(COPY, name)
        if not os.path.isfile(source):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        # What is as it was need not be built again.
        if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
            shutil.copy(source, target)


def test():
    """Whether the model test passes, and what it said."""
    built = run(["swift", "build", "--build-tests"])
    if built.returncode != 0:
        raise SystemExit(f"it does not build:\n{built.stdout[-3000:]}")
    ended = run([".make/test", "--width", "1", "--only", TEST])
    found = [line for line in ended.stdout.splitlines() if line.startswith("↳ seed")]
    return ended.returncode == 0, found[0][:140] if found else ended.stdout[-300:]


def main():
    copy()
    passed, said = test()
    if not passed:
        raise SystemExit(f"the plan as it is fails: {said}")
    survivors = []
    for what, name, old, new in MUTANTS:
        path = os.path.join(COPY, FOLDER, name)
        with open(path) as file:
            text = file.read()
        if old not in text:
            raise SystemExit(f"{what}: {name} no longer has: {old}")
        with open(path, "w") as file:
            file.write(text.replace(old, new))
        try:
            passed, said = test()
        finally:
            with open(path, "w") as file:
                file.write(text)
        print(f"{'SURVIVES' if passed else 'killed  '}  {what}{'' if passed else ': ' + said}", flush=True)
        survivors += [what] if passed else []
    print(f"{len(MUTANTS) - len(survivors)} of {len(MUTANTS)} mutants are killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
