"""`make mutants`: each rule of the outbox, broken in turn. The tests of the outbox have to notice each one.

The sources are copied into .build/mutants, changed there, built and tested. A mutant that survives is a rule without a test."""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COPY = os.path.join(ROOT, ".build", "mutants")
STORE = "Sources/Store/Outbox/"
REPLAY = "Sources/SyncEngine/Replay/"
TEST = ("LateRequestTests|AskedForTests|FollowUpTests|OutboxRuleTests|KnownItemTests|DesiredTests|StoreTests.OutboxTests"
        "|UndoTests|EditComparisonTests|CreationSearchTests|ReplayTests")

# What is broken, where, what stands there, and what is put in its place.
MUTANTS = [
    ("delivers while a late request can still change the field", REPLAY + "Replayer+Sending.swift",
     "if outcome.state == .delivered, let end", "if outcome.state == .parked, let end"),
    ("takes any last request for the one that has done what is found", STORE + "OutboxQueries.swift",
     "last.carried?.makes(wanted) == true", "last.carried != nil"),
    ("overwrites what another client has written", REPLAY + "Lookups/EditComparison.swift",
     ".conflict(theirs: conflict)", ".send"),
    ("holds up the fields that are not in conflict", STORE + "Recording.swift",
     "if left.without(all).isEmpty {", "if !own.isEmpty {"),
    ("counts a write that is followed by an edit for what that asks", STORE + "Intent.swift",
     "if following.title != nil { item.title = nil }", "if following.title == nil { item.title = nil }"),
    ("sends again what was delivered of an edit that is retried", STORE + "OutboxTask.swift",
     "edit.without(held) : edit.only(held)", "edit.without(held) : edit"),
    ("does not wait for the server's processing", STORE + "OutboxWriter.swift",
     "awaitsItem = try isUnsettled(item)", "awaitsItem = false"),
    ("takes one lookup for proof that nothing was made", REPLAY + "Lookups/OutboxLookup.swift",
     "if passed >= interval { return sure }", "if passed >= .zero { return sure }"),
    ("takes a note in other words for another one", REPLAY + "Lookups/CreationSearch.swift",
     "return 2 * ours.intersection(theirs).count > min(", "return 0 > min("),
    ("takes an item of another spelling for a capture's", REPLAY + "Lookups/OutboxLookup.swift",
     "ByteText(kept) != ByteText(url)", "kept.isEmpty"),
    ("sends again what may be there under another address", REPLAY + "Lookups/OutboxLookup.swift",
     "if outcome == .absent, try await !free(newest.rewritten", "if outcome == .unsettled, try await !free(newest.rewritten"),
    ("sends a creation again without another look", REPLAY + "Lookups/OutboxLookup.swift",
     "case .found(let id): return found(id)\n        case .absent: return nil", "case .found, .absent: return nil"),
    ("looks for a creation as it was accepted", STORE + "OutboxTask.swift",
     "AND \\(OutboxAttempt.isUnknownSend) ORDER BY number DESC LIMIT 1), payload)", "AND number < 0), payload)"),
    ("takes an empty list for proof that nothing was made", REPLAY + "Lookups/OutboxLookup.swift",
     "return outcome == .absent && !newest.isWhole", "return outcome == .absent && false"),
    ("takes what was seen by a later edit for known", STORE + "OutboxTask.swift", "|| row.place > last ?", "|| row.place < 0 ?"),
    ("takes an item for a creation's that was known before", STORE + "OutboxQueries.swift",
     "AND rowid <= (SELECT min(items_before)", "AND rowid <= -1 * (SELECT min(items_before)"),
    ("counts what follows as asked for last", STORE + "OutboxTask.swift",
     "sorted { ($0.place, $0.id) < ($1.place, $1.id) }", "sorted { $0.id < $1.id }"),
    ("forgets a removal of what was added before", STORE + "Intent.swift",
     "for text in texts { tags[ByteText(text)] = Asked(value: isWanted, by: number) }",
     "for text in texts { tags[ByteText(text)] = isWanted || tags[ByteText(text)] == nil"
     " ? Asked(value: isWanted, by: number) : nil }"),
    ("asks again for what is delivered", STORE + "Intent.swift",
     "if edit.title != nil { title = nil }", "if edit.title == nil { title = nil }"),
    ("parks what the server did not refuse", REPLAY + "OutboxMachine.swift",
     "case (.parked(.rejected), _) where !task.others.isEmpty:", "case (.parked(.rejected), _) where task.entry.id < 0:"),
    ("lets a person take back what was sent", STORE + "Undo.swift",
     "case .queued, .parked: !maybeApplied", "case .queued, .parked: true"),
    ("sends edits before a deletion", STORE + "OutboxTask.swift",
     "!kind.isCreation && place < deletion", "!kind.isCreation && place < deletion - deletion"),
    ("leaves what a deletion has replaced", STORE + "Recording.swift",
     "let replaced = try endReplaced(by: entry.id, of: item)", "let replaced: [ItemEntry] = []"),
    ("sends what has its turn no more", STORE + "Sending.swift", "(id != ?2 OR next_attempt_at IS NOT NULL)", "(id != ?2 OR 1)"),
    ("calls a capture of a known URL over while its request can arrive", REPLAY + "Lookups/OutboxLookup.swift",
     "return undecided(task, wasThere: true, sure: outcome)", "return outcome"),
    ("deletes without what its person saw", STORE + "Recording.swift", "as: Desired(replaced.map(\\.intent)).edit", "as: ItemEdit()"),
    ("sends a twin of an unknown creation", STORE + "OutboxEntry.swift", "twin.maybe_applied IS 1", "twin.maybe_applied IS 2"),
    ("lets an earlier summary take the place of a remark", STORE + "Intent.swift",
     "for asked in [summary, remark].compactMap", "for asked in [summary ?? remark].compactMap"),
    ("asks about what a later edit has decided", STORE + "Recording.swift", "try endAnswered(item)", "_ = item"),
]


# Seconds: the tests need two minutes. What never ends is noticed, too.
LONGEST = 600
FAILED = re.compile(r"^✘ Test .*", re.M)


def run(command, limit=None, ends=lambda: None):
    """The exit code, and what was said; None for one that `limit` ends, and what `ends` said for one that it ends."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(command, cwd=COPY, stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
                                   env={**os.environ, "PRSNL_TEST_TARGETS": "StoreTests SyncEngineTests"})
        began, found = time.monotonic(), None
        while process.poll() is None:
            found = ends() or ("the tests do not end" if limit and time.monotonic() - began > limit else None)
            if found:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return None, found
            time.sleep(0.5)
        said.seek(0)
        return process.returncode, said.read()


def copy():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    # What is gone since the last time.
    for folder in ["Sources", "Tests"]:
        for place, _, files in os.walk(os.path.join(COPY, folder)):
            for path in [os.path.join(place, file) for file in files]:
                if os.path.relpath(path, COPY) not in names:
                    os.remove(path)
    for name in names:
        source, target = os.path.join(ROOT, name), os.path.join(COPY, name)
        if not os.path.isfile(source):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        # What is as it was need not be built again.
        if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
            shutil.copy(source, target)


def failure():
    """The first test that has failed so far: with that, the mutant is killed."""
    for log in glob.glob(os.path.join(COPY, ".build", "tests", "*.log")):
        with open(log, errors="replace") as file:
            if found := FAILED.search(file.read()):
                return found[0]
    return None


def test():
    """Whether the tests pass, and what they said."""
    code, said = run(["swift", "build", "--build-tests"])
    if code != 0:
        raise SystemExit(f"it does not build:\n{said[-3000:]}")
    shutil.rmtree(os.path.join(COPY, ".build", "tests"), ignore_errors=True)
    code, said = run([".make/test", "--width", "1", "--only", TEST], LONGEST, failure)
    return code == 0, (failure() or said)[:140]


def main():
    copy()
    passed, said = test()
    if not passed:
        raise SystemExit(f"the outbox as it is fails: {said}")
    survivors = []
    for what, name, old, new in MUTANTS:
        path = os.path.join(COPY, name)
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
