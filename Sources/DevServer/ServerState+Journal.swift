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
        let journal = try RowJournal(path: path, now: configuration.now)
        let contents = journal.contents()
        self.init(configuration: configuration, items: [])
        if contents.lineCount == 0 {
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
        items.journal = journal
        // Ids are made from these numbers, and no id may come again.
        captureCount = contents.lineCount
        mutationCount = contents.lineCount
        lastCreatedAt = contents.rows.map(\.item.createdAt).max() ?? .earliest
        for row in contents.rows.sorted(by: { $0.item.createdAt < $1.item.createdAt })
        where row.item.status == "pending" {
            resume(row)
        }
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
