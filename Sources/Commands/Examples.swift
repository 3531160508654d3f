import Console

/// Whole commands and what they do, as `prsnlctl help COMMAND` and the manual show them.
enum Examples {
    static func of(_ command: String) -> [CommandDescription.Term] { byCommand[command] ?? [] }

    /// Read once: each command that is started makes the whole table.
    private static let byCommand = text.split(separator: "\n").reduce(into: [String: [CommandDescription.Term]]()) {
        all, line in
        let parts = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
        let typed = ["prsnlctl", parts[0], parts[1]].filter { !$0.isEmpty }.joined(separator: " ")
        all[parts[0], default: []].append(("`\(typed)`", parts[2]))
    }

    /// The command, the rest of the line, and what it does.
    private static let text = #"""
        search | sourdough starter | Items with both words.
        search | '"rye bread" -wheat' | These two words in a row, without wheat.
        search | 'title:swift OR title:rust' | One of them in the title.
        search | 'tag:recipe (bread OR "hot cake")' | Recipes of one of them.
        search | is:untagged before:2026 | Kept before 2026, without a tag.
        related | 59ec6da4 | Items that have rare words in common with it.
        list | --since today | What was saved today.
        list | --type note --count | How many notes there are.
        tags | | Each tag, with the number of its items.
        show | 59ec6da4 | The item whose id begins so, with its text.
        open | 59ec6da4 07d81c3e | Two pages in the browser.
        export | ~/prsnl | A Markdown file for each item.
        changes | --cursor mail --batch 50 | The next 50 that this reader has not had.
        changes | --cursor log --follow ./hook | Hand each new one to a command.
        status | | Whether the copy is complete, and how old.
        metrics | | The metrics on stdout.
        sync | --wait | Look for new items, and say what came.
        verify | --texts=week/7 | Compare a seventh of the texts, too: another one each week.
        history | | When was pulled, and what came.
        ping | | How long the server takes to answer.
        net | --watch | Each change of the network.
        capture | https://example.org/ https://example.net/ --tag later | Save two pages.
        capture | --stdin <urls.txt | Save many.
        note | 'Call Ada' --tag todo | Save a short note.
        edit | 59ec6da4 --title 'Rye bread' | Change the title.
        tag | +read -later 59ec6da4 | Add one tag and remove another.
        tag | +bread $(prsnlctl search --ids rye) | Tag what a search finds.
        delete | 59ec6da4 | Delete it, after a question.
        restore | 59ec6da4 | Capture it again.
        undo | | Take the last command back, if it was not sent.
        queue | | What waits to be sent, and why.
        queue show | 12 | Its content, its attempts, what helps.
        queue drop | 12 | Give this write up.
        retry-queue | 12 | Send it now.
        errors | | What went wrong, and what to do.
        errors | rate_limited | What a code means.
        doctor | | Check everything.
        mcp | --allow-writes | Let a model save and tag, too.
        login | --server https://prsnl.example.org | Log in for the first time.
        logout | | Forget the login.
        whoami | | Ask the server.
        account | --accept-new --dry-run | What a new account would do to the copy.
        """#
}
