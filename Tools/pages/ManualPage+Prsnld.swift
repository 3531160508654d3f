import Configuration
import Console

extension ManualPage {
    static func prsnld(date: String) -> String {
        let table = CommandTable.prsnld
        var page = ManualPage("prsnld", section: 8, date: date)
        page.name("prsnld", "keep a copy of a PRSNL timeline in one SQLite file")
        page.section("SYNOPSIS")
        page.usage(Roff.usage("prsnld [OPTION]..."))

        page.section("DESCRIPTION")
        page.paragraph(
            "`prsnld` pulls the timeline of a PRSNL server into one SQLite file, and carries what is captured, edited and "
                + "deleted on this machine to the server. It runs in the foreground, as systemd wants it, until it is told "
                + "to stop; an interruption at any moment loses nothing.")
        page.paragraph(
            "Any number of programs may read the file while it runs or not: `sqlite3 -readonly`. Members of the group "
                + "`prsnld` may do so where the machine's own service keeps it, and may ask the daemon with `prsnlctl`."
        )
        page.paragraph(
            "Credentials are a login (`prsnlctl login`), or an API key in a file or a systemd credential named `api-key`."
        )

        page.section("OPTIONS")
        page.options(table.options)

        page.daemonFiles()
        page.daemonEnvironment()

        page.section("SIGNALS")
        page.term(
            Roff.bold("SIGTERM") + ", " + Roff.bold("SIGINT"),
            "End within two seconds, with everything committed or rolled back.")
        page.term(
            Roff.bold("SIGHUP"),
            "Read the configuration, the key file and the login again (`systemctl reload prsnld`). The log says which of "
                + "the changed keys wait for a restart; a credential of systemd's always does.")

        page.exitStatus(table)

        page.section("EXAMPLES")
        page.example(
            "The first copy on a machine where the package is installed:",
            "sudo prsnlctl login --server https://prsnl.example.org --email ada@example.org",
            "sudo systemctl start prsnld", "prsnlctl status")
        page.example(
            "A second account, beside the first; the login makes its configuration:",
            "sudo prsnlctl --instance work login --server https://prsnl.example.org --email ada@work.example.org",
            "sudo systemctl enable --now prsnld@work")
        page.example("What the machine's service would use:", "sudo prsnld --service --check-config")
        page.example("Pull once and end, from cron:", "prsnld --once --config ~/prsnl.conf")

        page.seeAlso(
            [("prsnlctl", 1), ("prsnld.conf", 5), ("systemctl", 1), ("sqlite3", 1)],
            besides:
                "The documents in `/usr/share/doc/prsnld/docs`: `schema.md` has the tables and columns of the copy.")
        return page.source
    }

    private mutating func daemonFiles() {
        section("FILES")
        term(Roff.italic(DefaultPaths.systemConfiguration), "The configuration of the machine's own service.")
        term(
            Roff.italic("~/.config/prsnld/prsnld.conf"),
            "Your own file; it replaces the machine's.")
        term(
            Roff.italic(DefaultPaths.systemDatabase),
            "The copy, with the writes that wait. The files beside it whose names begin with its own belong to it, and "
                + "stay when the daemon stops. Elsewhere than in the service: `~/.local/state/prsnld/prsnl.sqlite`.")
        term(Roff.italic(DefaultPaths.systemControlSocket), "Where `prsnlctl` reaches the daemon.")
        term(
            Roff.italic("/etc/prsnld/NAME.conf"),
            "The configuration of the instance `prsnld@NAME`: another account, with its own copy and socket.")
        term(
            Roff.italic("/etc/credstore/prsnld.api-key"),
            "An API key that systemd hands to the service, mode 0600; of an instance: `prsnld@NAME.api-key`.")
    }

    private mutating func daemonEnvironment() {
        section("ENVIRONMENT")
        paragraph(
            "Each key of the configuration, in capitals and with `\(ConfigurationKey.variablePrefix)` in front, stands "
                + "above the file:")
        for key in ConfigurationKey.all { term(Roff.bold(key.variable), key.summary) }
        paragraph("Besides, from systemd and others:")
        term(
            Roff.bold("STATE_DIRECTORY") + ", " + Roff.bold("RUNTIME_DIRECTORY"),
            "Where copy and socket are put when the configuration does not say.")
        term(Roff.bold("CREDENTIALS_DIRECTORY"), "Where a credential named `api-key` is looked for.")
        term(
            Roff.bold("NOTIFY_SOCKET") + ", " + Roff.bold("WATCHDOG_USEC"),
            "Where systemd is told that the daemon is ready, how it is doing, and that it lives.")
        term(Roff.bold("JOURNAL_STREAM"), "Where stderr is the journal, each line has its priority in front.")
        term(
            Roff.bold("XDG_CONFIG_HOME") + ", " + Roff.bold("XDG_STATE_HOME") + ", " + Roff.bold("XDG_RUNTIME_DIR"),
            "Where a person's own files are.")
        term(
            Roff.bold("https_proxy") + ", " + Roff.bold("http_proxy") + ", " + Roff.bold("all_proxy") + ", "
                + Roff.bold("no_proxy"),
            "The way to the server, unless the key `proxy` says another; see `curl(1)`.")
    }
}
