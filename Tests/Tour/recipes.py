"""`make recipes`: the recipes of docs/recipes.md that `prsnlctl changes` feeds, taken from the page as they stand, with a real git,
and with a `sendmail` and a `notify-send` that write down what they get. Whatever fails or is killed, no change is left out."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import tour
from demo import Steps

PAGE = os.path.join(tour.ROOT, "docs", "recipes.md")
# Also while one of them is killed: what it has written stands.
SENDMAIL = """#!/bin/sh
case $(cat ~/weather 2>/dev/null) in
    down) exit 69 ;;
    crash) cat >>~/mails && kill -9 $(cat ~/prsnlctl.pid) ;;
    *) cat >>~/mails ;;
esac
"""
NOTIFY = """#!/bin/sh
[ ! -e ~/deaf ] && printf '%s: %s\\n' "$@" >>~/notes
"""
PRSNLCTL = """#!/bin/sh
[ "$1" != changes ] || echo $$ >~/prsnlctl.pid
[ "$1" != export ] || [ ! -e ~/full ] || exit 1
exec '{program}' --config '{configuration}' "$@"
"""


def recipe(title):
    """The blocks below a heading: scripts, lines of a crontab, and commands."""
    with open(PAGE) as file:
        text = file.read().split(f"\n## {title}\n")[1].split("\n## ")[0]
    blocks = [re.sub("(?m)^    ", "", block) for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)]
    scripts = [block for block in blocks if block.startswith("#!")]
    tables = [line for block in blocks for line in block.splitlines() if re.match(r"([\d*]+ ){4}\S", line)]
    return scripts, [line.split(None, 5)[5] for line in tables], [block for block in blocks if block[0] not in "#M0123456789"]


class Home:
    """Of a person who has prsnlctl, jq, git and the like."""

    def __init__(self, folder, setting):
        self.folder = folder
        self.environment = tour.clean_environment() | {
            "HOME": folder, "PATH": f"{folder}/bin:{os.environ['PATH']}", "USER": "ada", "MAILTO": "you@example.org",
            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        self.environment.pop("XDG_STATE_HOME", None)
        self.put("bin/prsnlctl", PRSNLCTL.format(program=tour.CONTROL, configuration=setting.path))
        self.put("bin/sendmail", SENDMAIL)
        self.put("bin/notify-send", NOTIFY)

    def put(self, name, text, mode=0o755):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    def take(self, name):
        """What a file has, which is gone then."""
        try:
            with open(os.path.join(self.folder, name)) as file:
                text = file.read()
            os.remove(file.name)
            return text
        except FileNotFoundError:
            return ""

    def run(self, command):
        """Exit code and output, as cron starts it."""
        done = subprocess.run(
            ["/bin/sh", "-c", command], env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        return done.returncode, done.stdout

    def must(self, command):
        code, text = self.run(command)
        if code != 0:
            raise tour.Failed(f"{command} ended with {code}: {text}")
        return text

    def cursor(self, name):
        return f".local/state/prsnld/cursors/{name}"


class Recipes:
    def __init__(self, server, setting, home):
        self.server, self.setting, self.home, self.steps = server, setting, home, Steps()

    def sync(self):
        code, _, complaint = self.setting.control("sync", "--full", "--wait")
        if code != 0:
            raise tour.Failed(f"sync ended with {code}: {complaint}")

    def edit(self, index, title):
        self.server.post("/__dev/edit", index=index, title=title)
        self.sync()

    def prepare(self, title, hook):
        scripts, tables, commands = recipe(title)
        self.home.put(f".config/prsnld/hooks/{hook}", scripts[0])
        return tables, commands

    def git(self):
        self.steps.start("A history in git")
        [every_hour], [setup] = self.prepare("A history in git", "git")
        self.home.must(setup)

        def log():
            return self.home.must("git -C ~/prsnl log --format=%B%x01").split("\1\n")[:-1]

        self.home.must(every_hour)
        self.steps.check(len(log()) == 1, "without changes there is no commit")
        self.edit(0, "Rye 'bread' $(x)\n# with \"seeds\"")
        [deleted] = self.setting.query("SELECT title FROM timeline LIMIT 1 OFFSET 3")[0]
        self.server.post("/__dev/delete", index=3)
        self.sync()
        place = self.home.must(f"cat {self.home.cursor('git')}")
        self.home.must(every_hour)
        last = log()[0].splitlines()
        self.steps.check(
            len(log()) == 2 and last[0].startswith("2 files changed") and last[1] == ""
            and sorted(last[2:]) == [f"deleted {deleted}", "edited Rye 'bread' $(x) # with \"seeds\""],
            "an hour is one commit, whose message says what has changed")
        names = self.home.must("git -C ~/prsnl show --format= --name-status").split("\n")[:-1]
        self.steps.check(sorted(name[0] for name in names) == ["D", "M"], "one file is changed in it, and one is gone")
        self.home.put(self.home.cursor("git"), place, 0o600)
        self.home.must(every_hour)
        self.steps.check(len(log()) == 2, "the same changes again are no commit, and no failure")
        failing = [("full", "the export"), ("prsnl/.git/hooks/pre-commit", "git")]
        for number, (file, what) in enumerate(failing, start=1):
            self.home.put(file, "#!/bin/sh\nexit 1\n")
            self.edit(number, f"While {what} fails")
            code, _ = self.home.run(every_hour)
            self.steps.check(code == 1 and len(log()) == 2, f"where {what} fails, the changes are kept")
            self.home.take(file)
        self.edit(3, "And after it")
        self.home.must(every_hour)
        self.steps.check(
            log()[0].splitlines()[2:] == [f"edited {title}" for title in ("While the export fails", "While git fails", "And after it")],
            "and are in the next commit")
        self.steps.check(self.home.must("git -C ~/prsnl status --porcelain") == "", "nothing is left to commit")

    def mail(self):
        self.steps.start("A mail a day")
        [every_day], [setup] = self.prepare("A mail a day", "mail")
        self.home.must(setup)

        def mails():
            return [mail.split("\n\n")[1].splitlines() for mail in re.split("(?m)^To: ", self.home.take("mails"))[1:]]

        self.home.must(every_day)
        self.steps.check(mails() == [], "without changes there is no mail")
        self.edit(0, "Monday – naïve")
        self.home.must(every_day)
        self.steps.check(mails() == [["edited  Monday – naïve"]], "a change is in the next mail")
        self.home.must(every_day)
        self.steps.check(mails() == [], "and in no other")
        self.home.put("weather", "down")
        self.edit(0, "Tuesday")
        code, _ = self.home.run(every_day)
        self.home.put("weather", "fine")
        self.server.post("/__dev/delete", index=4)
        self.sync()
        self.home.must(every_day)
        [mail] = mails()
        self.steps.check(
            code == 1 and mail[0] == "edited  Tuesday" and len(mail) == 2 and mail[1].startswith("deleted  "),
            "a day on which no mail could be sent is in the next one")
        self.home.put("weather", "crash")
        self.edit(0, "Wednesday")
        self.home.run(every_day)
        self.home.put("weather", "fine")
        self.home.must(every_day)
        self.home.must(every_day)
        self.steps.check(mails() == [["edited  Wednesday"]] * 2, "after a kill behind the sending it is mailed twice, and never lost")
        self.home.must("prsnlctl note --wait 'What I write'")
        self.server.post("/__dev/add")
        self.sync()
        self.home.must(every_day)
        [mail] = mails()
        self.steps.check(sum(line.startswith("added") for line in mail) == 1, "what was written here is no news")

    def notify(self):
        self.steps.start("Something for each new item")
        _, [setup] = self.prepare("Something for each new item", "notify")
        self.home.must(setup.splitlines()[0])
        # The unit of the recipe does this with --follow.
        hand = "prsnlctl changes --cursor notify -- ~/.config/prsnld/hooks/notify"
        self.server.post("/__dev/add", count=2)
        self.edit(0, "A title of a new item")
        self.home.must("prsnlctl note --wait 'What I write is no news to me'")
        self.home.put("deaf", "")
        code, _ = self.home.run(hand)
        self.steps.check(code == 1 and self.home.take("notes") == "", "no one can be told")
        self.home.take("deaf")
        self.home.must(hand)
        self.steps.check(len(self.home.take("notes").splitlines()) == 2, "two new items of the server are told, then")
        self.home.must(hand)
        self.steps.check(self.home.take("notes") == "", "and once only")

    def tag(self):
        self.steps.start("Tags by rule")
        self.prepare("Tags by rule", "tag")
        hand = "prsnlctl changes --cursor tag -- ~/.config/prsnld/hooks/tag"
        self.home.must("prsnlctl changes --since \"$(date -u +%FT%TZ)\" --cursor tag")
        self.home.must("prsnlctl capture --wait https://arxiv.org/abs/1 --tag mine && prsnlctl capture --wait https://notarxiv.org/")
        self.home.must(hand)

        def tags():
            return self.setting.query("SELECT url, tags FROM timeline WHERE url LIKE '%arxiv.org/%' ORDER BY url")

        expected = [("https://arxiv.org/abs/1", '["mine","paper"]'), ("https://notarxiv.org/", "[]")]
        self.steps.check(tags() == expected, "the item of that host has the tag, and the other does not")
        self.sync()
        self.home.must(hand)
        self.steps.check(tags() == expected, "its own change changes nothing more")


def run():
    for program in ("jq", "git"):
        if shutil.which(program) is None:
            sys.exit(f"there is no {program}: `make recipes` installs it")
    with tempfile.TemporaryDirectory(prefix="prsnl-recipes-") as folder:
        with tour.DevServer(folder, "--items", "30", "--seed", "7", "--settle", "0.1", "--patch-works") as server:
            setting = tour.Setting(folder, server.url, server.token_file, poll_interval="60s")
            with setting.daemon():
                tour.wait_until(lambda: setting.query("SELECT 1 FROM change WHERE kind = 'pulled'"), "the copy")
                tour.wait_until(lambda: setting.control("sync", "--texts", "--wait")[0] == 0, "the texts")
                recipes = Recipes(server, setting, Home(os.path.join(folder, "home"), setting))
                recipes.git()
                recipes.mail()
                recipes.notify()
                recipes.tag()
    print("\nEach recipe did what the page says.")
    return 0


if __name__ == "__main__":
    sys.exit(tour.main(run))
