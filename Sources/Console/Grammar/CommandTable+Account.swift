// Whose copy it is, and how the server knows us.
extension CommandTable {
    package static let accounts = [
        CommandDescription(
            name: "login", summary: "Log in to the server; the password is asked for on the terminal.",
            options: [
                CommandOption("--email", "EMAIL", "Whose account it is; asked for where it is not given."),
                CommandOption("--server", "URL", "The server; written into the configuration where that names none."),
                CommandOption("--password-stdin", nil, "Read the password from the first line of stdin."),
                CommandOption("--json", nil, "Print JSON instead of text."),
                CommandOption("--help", nil, "Print this help."),
            ]),
        CommandDescription(
            name: "logout", summary: "Forget the login, here and on the server; copy and queue stay.",
            options: [
                CommandOption("--json", nil, "Print JSON instead of text."),
                CommandOption("--help", nil, "Print this help."),
            ]),
        CommandDescription(
            name: "whoami", summary: "Ask the server whom it takes the daemon for.",
            options: [
                CommandOption("--json", nil, "Print JSON instead of text."),
                CommandOption("--help", nil, "Print this help."),
            ]),
        CommandDescription(
            name: "account", summary: "Show whose timeline the copy is of, and the credentials.",
            options: [
                CommandOption(
                    "--accept-new", nil,
                    "Set this copy aside, with what was not delivered, and start one of the account or server of now."),
                CommandOption("--dry-run", nil, "Only say what would be done."),
                CommandOption("--json", nil, "Print JSON instead of text."),
                CommandOption("--help", nil, "Print this help."),
            ]),
    ]
}
