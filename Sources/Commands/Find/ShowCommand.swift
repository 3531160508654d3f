import Console
import Glibc
import PRSNLCore
import Reports
import Store

/// `prsnlctl show`: one item with its text, from the file, whether the daemon runs or not.
enum ShowCommand {
    static let command = Command(
        "show", "Show one item with its text.", operands: .one("ID"),
        options: [
            CommandOption("--raw", nil, "Print the text alone, as the server has it."),
            CommandOption("--no-pager", nil, "Print a long text at once, also on a terminal."),
        ]
    ) { context, arguments throws(UserFacingError) in
        let report = ItemReport(try StoreReader(path: context.paths.database).item(arguments.operands[0]))
        guard arguments.has("--raw") else {
            try Pager.print(context, report, isWanted: !arguments.has("--no-pager"))
            return .fine
        }
        if !context.isText { throw arguments.failure("--raw and --json exclude each other") }
        // On a terminal, what the terminal would obey is made visible.
        try context.print(isatty(STDOUT_FILENO) == 1 ? ItemReport.harmless(report.rawText) + "\n" : report.rawText)
        return .fine
    }
}

/// Shows a text that does not fit on the terminal page by page, as git and man do.
private enum Pager {
    static func print(_ context: CommandContext, _ report: ItemReport, isWanted: Bool) throws(UserFacingError) {
        let text = try context.format.render(report, context.unit)
        guard isWanted, context.isText, let rows = terminalRows, text.count(where: { $0 == "\n" }) >= rows else {
            return try context.print(text)
        }
        let environment = context.environment.variables
        // A person who may only run prsnlctl as root must not get a shell of root's: less(1), "SECURITY".
        let isLent = ["SUDO_UID", "DOAS_USER", "PKEXEC_UID"].contains { environment[$0] != nil }
        if isLent || geteuid() == 0 { setenv("LESSSECURE", "1", 1) }
        let chosen = isLent ? nil : environment["PAGER"].flatMap { $0.isEmpty ? nil : $0 }
        let program = chosen ?? "less -R"
        // A person who leaves the pager early closes the pipe.
        signal(SIGPIPE, SIG_IGN)
        guard program != "cat", let pipe = popen(program, "w") else { return try context.print(text) }
        fputs(text, pipe)
        // 127: the shell has not found it.
        if pclose(pipe) >> 8 == 127 { try context.print(text) }
    }

    private static var terminalRows: Int? {
        guard isatty(STDIN_FILENO) == 1 else { return nil }
        return TextStyle.rows(of: STDOUT_FILENO)
    }
}
