import PRSNLCore

// Rows that outlive the server.
extension ServerState {
    /// A server that goes on with the rows of its journal. Where there are none, with these items.
    init(configuration: DevServer.Configuration, journaling items: [DevItem]) throws(DevServer.Failure) {
        guard let path = configuration.journal else {
            self.init(configuration: configuration, items: items)
            begin(configuration.storm)
            return
        }
        let journal = try RowJournal(
            path: path, now: configuration.now, ahead: configuration.clockAhead)
        let contents = journal.contents()
        self.init(configuration: configuration, items: [])
        if contents.rows.isEmpty {
            self.items.journal = journal
            self.items.add(contentsOf: items)
        } else {
            restore(contents, journal: journal)
        }
        begin(configuration.storm)
    }

    private mutating func begin(_ plan: DevServer.StormPlan?) {
        storm = plan.map { Storm($0, dialect: configuration.dialect) }
    }

    private mutating func restore(_ contents: RowJournal.Contents, journal: RowJournal) {
        items.add(contentsOf: contents.rows.map(\.item))
        for row in contents.rows where row.isHidden { items.change(row.item.id, hidden: true) }
        items.journal = journal
        for (text, token) in contents.tokens {
            guard let account = configuration.accounts.first(where: { $0.id == token.account }) else { continue }
            let token = Token(account: account, expiresAt: token.expiresAt)
            if contents.tokens[text]?.isRefresh == true {
                refreshTokens[text] = token
            } else {
                accessTokens[text] = token
            }
        }
        tokenCount = contents.lineCount
        // Ids are made from these numbers, and no id may come again.
        captureCount = contents.lineCount
        mutationCount = contents.lineCount
        lastCreatedAt = contents.rows.map(\.item.createdAt).filter { $0 <= now }.max() ?? .earliest
        resume(contents.rows)
    }

    private mutating func resume(_ rows: [RowJournal.Row]) {
        unsettled = Queue()
        for row in rows.sorted(by: { $0.item.createdAt < $1.item.createdAt }) where row.item.status == "pending" {
            resume(row)
        }
    }

    /// A backup of the database is put back: the rows are what they were when the journal was so long. Caches and logins
    /// are no part of it.
    mutating func restoreBackup(size: Int) {
        guard let journal = items.journal else { return }
        journal.restored(to: size)
        let then = journal.contents(size: size).rows
        let ids = Set(then.map(\.item.id))
        for item in items.everyItem where !ids.contains(item.id) { items.remove(item.id) }
        for row in then {
            var now = items.item(row.item.id)
            // Reading an item changes no row of the journal.
            now?.accessCount = row.item.accessCount
            now?.accessedAt = row.item.accessedAt
            if now == row.item, items.isHidden(row.item.id) == row.isHidden { continue }
            items.add(row.item, hidden: row.isHidden)
        }
        resume(then)
    }

    /// What the server was processing when it was killed is visible afterwards. Half of it is taken up again, the rest stays
    /// `pending`.
    private mutating func resume(_ row: RowJournal.Row) {
        if row.isHidden { items.change(row.item.id, hidden: false) }
        guard let digit = row.item.id.utf8.last, digit & 1 == 0 else { return }
        var entry = Unsettled(id: row.item.id, number: 1)
        switch configuration.settling {
        case .onCommand: break
        case .afterRequests(let count): entry.dueRequest = count
        case .after(let delay): entry.dueTime = now.advanced(by: delay)
        }
        unsettled.append(entry)
    }
}
