import Commands
import Configuration
import Console

extension ManualPage {
    static func prsnlctl(date: String) -> String {
        let table = CommandTable.prsnlctl
        var page = ManualPage("prsnlctl", section: 1, date: date)
        page.name("prsnlctl", "show and steer prsnld, write to a PRSNL timeline")
        page.section("SYNOPSIS")
        page.usage(Roff.usage("prsnlctl [OPTION]... COMMAND [OPTION]... [ARGUMENT]..."))

        page.section("DESCRIPTION")
        page.paragraph(
            "`prsnlctl` asks the daemon `prsnld(8)` how complete and how fresh its copy of the timeline is, and tells it "
                + "what to do. It finds, lists, shows and exports items from the file alone. Writes are on the disk when it says so, whether the daemon runs or not and whether the server "
                + "can be reached or not.")
        page.paragraph(
            "Options may stand before or after the command, values as `--config FILE` or `--config=FILE`; a value that may "
                + "be left out needs the equals sign. After `--` nothing is an option any more. Data goes to stdout, "
                + "everything else to stderr.")

        page.section("OPTIONS")
        page.options(table.options)

        page.section("COMMANDS")
        for command in table.commands {
            page.subsection("\(table.program) \(command.name)")
            page.usage(
                Roff.bold("\(table.program) \(command.name)")
                    + Roff.usage(" [OPTION]... \(command.operands.usage)"))
            page.paragraph(command.summary)
            for term in command.language + command.examples { page.term(Roff.marked(term.form), term.meaning) }
            page.options(command.options)
        }

        page.controlFiles()

        page.section("SIGNALS")
        page.term(
            Roff.bold("SIGINT") + ", " + Roff.bold("SIGTERM"),
            "End the waiting, not what is waited for: a pull goes on, a write stays on the disk.")

        page.exitStatus(table)

        page.section("EXAMPLES")
        page.example(
            "Save a page, and be told when the server has it:",
            "prsnlctl capture https://example.org/ --title 'For the train' --tag later --wait")
        page.example(
            "Find an item by its words, read it, and open its page:", "prsnlctl search sourdough starter",
            "prsnlctl show 59ec6da4", "prsnlctl open 59ec6da4")
        page.example("Many at once:", "prsnlctl capture --stdin <urls.txt")
        page.example(
            "The writes that wait, and everything about one of them:", "prsnlctl queue", "prsnlctl queue show 12")
        page.example("For scripts:", "prsnlctl status --json")

        page.seeAlso(
            [("prsnld", 8), ("prsnld.conf", 5)],
            besides: "`/usr/share/doc/prsnld/docs/cli.md` has every command at length, and every member of the JSON.")
        return page.source
    }

    private mutating func controlFiles() {
        section("FILES")
        term(Roff.italic(DefaultPaths.systemControlSocket), "Where the machine's own daemon is asked.")
        term(
            Roff.italic(DefaultPaths.systemDatabase), "The copy that is read where no daemon answers.")
        term(
            Roff.italic(DefaultPaths.systemConfiguration) + ", " + Roff.italic("~/.config/prsnld/prsnld.conf"),
            "Where these are looked up; the daemon's own configuration, see `prsnld.conf(5)`.")

        section("ENVIRONMENT")
        term(
            Roff.bold("\(ConfigurationKey.variablePrefix)*"),
            "Keys of the configuration, in capitals; they stand above the file. See `prsnld(8)`.")
        term(Roff.bold("NO_COLOR"), "No colours, also on a terminal. `--color` stands above it.")
        term(Roff.bold("TZ"), "The time zone of what people read, unless it is the machine's.")
        term(
            Roff.bold("LC_ALL") + ", " + Roff.bold("LC_CTYPE") + ", " + Roff.bold("LANG"),
            "The text is ASCII where they do not say UTF-8.")
    }
}
