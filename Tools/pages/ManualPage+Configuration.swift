import Configuration

extension ManualPage {
    static func configuration(date: String) -> String {
        var page = ManualPage("prsnld.conf", section: 5, date: date)
        page.name("prsnld.conf", "configuration of prsnld and prsnlctl")
        page.section("SYNOPSIS")
        page.usage(
            [DefaultPaths.systemConfiguration, "~/.config/prsnld/prsnld.conf"].map(Roff.italic).joined(separator: ", "))

        page.section("DESCRIPTION")
        page.paragraph(
            "One `key = value` per line. `#` begins a comment, at the start of a line and after white space. A value "
                + "may stand in quotation marks, which are not part of it; a key stands once. `prsnld --check-config` reports everything "
                + "that is wrong at once, else every value with where it comes from.")
        page.paragraph(
            "Of the two files, a person's own is read, and the machine's where there is none; `--config` names another."
        )
        page.paragraph(
            "Durations are seconds (`300`) or numbers with units, the larger first: `d`, `h`, `m`, `s`, `ms` (`1h30m`). "
                + "Sizes are bytes or have a unit: `B`, `KiB`, `MiB`, `GiB`, `kB`, `MB`, `GB`. Paths are relative to the "
                + "working directory at the start.")

        page.section("KEYS")
        for key in ConfigurationKey.all {
            let moment = key.effect == .reload ? "at a reload" : "at a restart"
            page.term(
                "\(Roff.bold(key.name)) (\(Roff.text(key.type)))", key.summary,
                "Default: \(key.defaultText). Allowed: \(key.allowed). A change takes effect \(moment).")
        }

        page.section("FILES")
        page.term(
            Roff.italic("/usr/share/doc/prsnld/examples/prsnld.conf"), "Every key with its default, to be copied from.")

        page.section("ENVIRONMENT")
        page.paragraph(
            "Each key is also a variable, in capitals and with `\(ConfigurationKey.variablePrefix)` in front; `prsnld(8)` "
                + "lists them. A variable stands above the file; an empty one counts as not set.")

        page.section("EXAMPLES")
        page.example(
            "A server with an API key:", "server_url   = https://prsnl.example.org",
            "api_key_file = /etc/prsnld/api-key   # mode 0600")

        page.seeAlso(
            [("prsnld", 8), ("prsnlctl", 1)],
            besides: "`/usr/share/doc/prsnld/docs/configuration.md` has more about each.")
        return page.source
    }
}
