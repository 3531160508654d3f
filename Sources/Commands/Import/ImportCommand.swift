package import Console
import Formats
package import PRSNLCore
import Requests
import Store

/// `prsnlctl import`: what another service exported becomes captures in the outbox, each address once.
enum ImportCommand {
    static let command = Command(
        "import", "Capture the links of another service's export, or of a bookmark file; `-` reads it from stdin.",
        examples: [
            ("pocket/ --dry-run", "What would be captured."), ("bookmarks.html --tag browser", "Capture what is new."),
        ], operands: .one("FILE"),
        options: [
            .tag,
            CommandOption("--since", "TIME", "Only what was saved then or later."),
            CommandOption(
                "--only", .required("STATE"), "`unread`, `archived`, `starred` or `feed`; may be given again.",
                isRepeatable: true),
            CommandOption("--map-tags", nil, "Write tags as the server takes them: `C++ & Go` becomes `c go`."),
            CommandOption("--dates", nil, "Keep the date in the remark. No server takes one."),
            CommandOption("--dry-run", nil, "Say what would be captured, and queue nothing."), .wait,
        ]
    ) { context, arguments throws(UserFacingError) in
        let wait = try WaitOption(arguments)
        let choice = try ImportChoice(arguments, context)
        let reader = try context.reader()
        let path = arguments.operands[0]
        let source = try ImportSource.read(path == "-" ? path : context.environment.absolute(path))
        let importing = try Importing(source, choice, reader)
        for line in importing.losses.prefix(20) { context.say("\(line)") }
        if importing.losses.count > 20 { context.say("…, and \(importing.losses.count - 20) more") }
        if arguments.has("--dry-run") {
            for refused in importing.refused { context.say("\(refused.item ?? ""): \(refused.error.message)") }
            return try context.write(importing.plan)
        }
        let lines = importing.plan.text(context.errorStyle).split(separator: "\n")
        if context.isText { for line in lines { context.say("\(line)") } }
        var batch = Batch(RequestClient(context))
        batch.report.plan = importing.plan
        for refused in importing.refused { batch.refuse(refused) }
        // Each group is one transaction: a kill leaves whole groups, and the next run goes on behind them.
        var left = importing.writes.count
        for writes in importing.writes.groups(of: 500) where batch.interruption?.signal == nil {
            do throws(Unwritten) {
                let answers = try batch.outbox.write(TallyRequest(writes.map(\.request)))
                batch.take(answers, of: writes.count) { .init(item: writes[$0].place, error: $1) }
            } catch {
                throw error.error.with(
                    consequence: "\(Count.text(batch.report.accepted, "capture", "is")) on disk.",
                    suggestion: "\(error.error.recoverySuggestion) Then give the command again: it goes on from there.")
            }
            left -= writes.count
            batch.display.show(.capture, batch.report.accepted, of: importing.writes.count)
        }
        if left > 0 { context.say("interrupted: not all was queued; the same command goes on from there") }
        return try batch.end(wait)
    }
}

/// Which entries a person wants, and how.
private struct ImportChoice {
    let tags: [String]
    let since: Timestamp?
    let states: Set<ImportedItem.State>
    let mapsTags: Bool
    let keepsDates: Bool
    let dialect: Dialect?

    init(_ arguments: ParsedArguments, _ context: CommandContext) throws(UserFacingError) {
        dialect = TagWords.dialect(context)
        mapsTags = arguments.has("--map-tags")
        let words = arguments.values("--tag")
        tags = mapsTags ? words.map { Self.mapped($0) ?? $0 } : TagWords.lowered(words, context)
        // Once, and not for each entry.
        _ = try WriteDraft.create(NewItem(url: "https://example.org/", tags: tags)).checked(dialect: dialect)
        since = try arguments.value("--since").map { text throws(UserFacingError) in
            try TimeWord.parse(text, now: TimeSource.system.now(), option: "--since")
        }
        states = Set(
            try arguments.values("--only").map { word throws(UserFacingError) in
                if let state = ImportedItem.State(rawValue: word) { return state }
                let names = ImportedItem.State.allCases.map(\.rawValue).joined(separator: ", ")
                throw arguments.failure("--only \(SafeText.harmless(word)) is none of \(names)")
            })
        keepsDates = arguments.has("--dates")
    }

    /// What a feed brought was chosen by no person, so it has to be asked for.
    func includes(_ item: ImportedItem) -> Bool {
        if let since, item.savedAt.map({ $0 < since }) ?? true { return false }
        return states.isEmpty ? !item.states.contains(.feed) : !item.states.isDisjoint(with: states)
    }

    /// The tags that the server takes, and those that it does not.
    func tags(of item: ImportedItem) -> (taken: [String], lost: [String]) {
        var (taken, lost) = (tags, [String]())
        for tag in item.tags {
            let lowered = dialect == .express ? tag : tag.lowercased()
            let written = Tags.isTaken(lowered, dialect: dialect) ? lowered : mapsTags ? Self.mapped(tag) : nil
            guard let written else {
                lost.append(tag)
                continue
            }
            if !taken.contains(written) { taken.append(written) }
        }
        return (taken, lost)
    }

    /// What the main server takes that is most like it; `nil` where nothing is left.
    private static func mapped(_ tag: String) -> String? {
        let letters = Folding.folded(tag.lowercased()).utf8.map {
            $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") ? $0 : 0x20
        }
        let words = String(decoding: letters, as: UTF8.self).split(separator: " ").joined(separator: " ")
        let cut = String(words.prefix(WriteLimits.tag.upperBound)).trimmingWhiteSpace()
        return cut.contains { $0 != "-" && $0 != " " } ? cut : nil
    }
}

/// What becomes of each entry. Nothing is written here.
private struct Importing {
    private(set) var plan: ImportPlan
    private(set) var writes: [(request: WriteRequest, place: String)] = []
    private(set) var refused: [BatchReport.Refusal] = []
    /// What is left out of entries that are captured, and why.
    private(set) var losses: [String] = []
    private let choice: ImportChoice

    private static let prefix = "import-"
    /// Captures a minute of the main server (docs/outbox.md).
    static let pace = 30.0

    init(_ source: ImportFile, _ choice: ImportChoice, _ reader: StoreReader) throws(UserFacingError) {
        self.choice = choice
        plan = ImportPlan(
            form: source.forms.joined(separator: ", "), files: source.files,
            entries: source.items.count + source.problems.count, otherFiles: source.others)
        for problem in source.problems { refuse(problem.place, problem.reason) }
        let entries = merged(source.items)
        let known = try reader.known(among: Set(entries.map(\.address)), keysWith: Self.prefix)
        for entry in entries { add(entry, known) }
        if choice.dialect != .express { plan.minutes = Int((Double(plan.new) / Self.pace).rounded(.up)) }
    }

    private typealias Entry = (item: ImportedItem, place: String, address: ByteText)

    /// Each address once, with the tags and states of all its entries.
    private mutating func merged(_ items: [(item: ImportedItem, place: String)]) -> [Entry] {
        var entries: [Entry] = []
        var places: [ByteText: Int] = [:]
        for (item, place) in items {
            guard choice.includes(item) else {
                plan.skipped += 1
                continue
            }
            if let problem = item.url.map(URLCheck.problem)
                ?? (item.note == nil ? "neither an address nor a text" : nil)
            {
                refuse(place, problem.withoutFullStop)
                continue
            }
            // A note is known by its text.
            let address = item.url.map(URLCheck.comparable) ?? ByteText("note \(item.note ?? "")")
            guard let first = places[address] else {
                places[address] = entries.count
                entries.append((item, place, address))
                continue
            }
            plan.doubled += 1
            entries[first].item.tags += item.tags.filter { !entries[first].item.tags.contains($0) }
            entries[first].item.note = entries[first].item.note ?? item.note
        }
        return entries
    }

    private mutating func add(_ entry: Entry, _ known: KnownAddresses) {
        var item = entry.item
        // The same address has the same key, so that of two commands one queues it. After an `undo` it has another.
        let name = Self.prefix + Fingerprint(entry.address.text).hexadecimal
        let key = (1...).lazy.map { "\(name)-\($0)" }.first { !known.droppedKeys.contains($0) } ?? name
        if known.addresses.contains(entry.address) || known.keys.contains(key) {
            plan.known += 1
            return
        }
        let (tags, lost) = choice.tags(of: item)
        if choice.keepsDates, item.url != nil, let day = item.savedAt.map({ $0.description.prefix(10) }) {
            let note = item.note.map { "\($0)\n" } ?? ""
            // The remark that fits beats the date.
            let fits = note.unicodeScalars.count + 17 <= WriteLimits.remark.upperBound
            if fits { item.note = "\(note)Saved \(day)." } else { plan.dates += 1 }
        } else if item.savedAt != nil {
            plan.dates += 1
        }
        if item.hasBadTime { losses.append("\(entry.place), left out: a date that cannot be read.") }
        let wanted = NewItem(
            url: item.url, title: item.title, note: item.note, tags: Array(tags.prefix(WriteLimits.tagCount)),
            type: item.type)
        do throws(UserFacingError) {
            let (made, leftOut) = try wanted.taken(dialect: choice.dialect)
            plan.new += 1
            plan.cut += leftOut.isEmpty ? 0 : 1
            losses += leftOut.map { "\(entry.place), left out: \($0)" }
            plan.highlights += item.hasHighlights ? 1 : 0
            plan.texts += item.hasText ? 1 : 0
            plan.manyTags += tags.count > WriteLimits.tagCount ? 1 : 0
            for tag in lost { plan.lostTags[tag, default: 0] += 1 }
            writes.append((WriteRequest(.create(made), key: RequestKey(key)), entry.place))
        } catch { refused.append(.init(item: entry.place, error: error)) }
        plan.refused = refused.count
    }

    private mutating func refuse(_ place: String, _ reason: String) {
        let error = UserFacingError(.writeInvalid, "\(reason).", consequence: "Nothing was queued for it.")
        refused.append(.init(item: place, error: error))
        plan.refused = refused.count
    }
}

/// What an import would queue: the JSON of `prsnlctl import --dry-run --json`.
package struct ImportPlan: Sendable, Equatable, Codable {
    package var schemaVersion = 1
    /// Of the service, as its name is.
    package var form: String
    package var files: Int
    /// The sum of the next five.
    package var entries: Int
    package var new = 0
    /// The copy, the queue or an earlier import has their addresses.
    package var known = 0
    /// They stand in the files more than once.
    package var doubled = 0
    /// Left out by --since and --only; without --only also what came from feeds.
    package var skipped = 0
    /// No address of a page, or not to be read.
    package var refused = 0
    /// Of the new ones: what no capture has a place for.
    package var dates = 0
    package var highlights = 0
    package var texts = 0
    /// With a title or a remark that the server does not take.
    package var cut = 0
    /// Tags that the server does not take, with the entries that have them.
    package var lostTags: [String: Int] = [:]
    /// With more tags than the server takes: the last are left out.
    package var manyTags = 0
    /// Files of the folder that were not read, with the reasons.
    package var otherFiles: [String] = []
    /// How long their delivery takes at the server's pace; `null` where it has none.
    @Nullable package var minutes: Int? = nil
}

extension ImportPlan: Report {
    package func text(_ style: TextStyle) -> String {
        let names = lostTags.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.prefix(10).map(\.key)
        let tags = names.map { "\"\(style.safe($0))\"" }.joined(separator: ", ") + (lostTags.count > 10 ? ", …" : "")
        func number(_ count: Int) -> String { Formatting.count(count, "item") }
        return lines {
            "\(style.safe(form)), \(Formatting.count(files, "file")), \(number(entries)): \(Formatting.count(new)) to be captured."
            for file in otherFiles { "Not read: \(style.safe(file))" }
            if known > 0 { "Known already, in the copy, its trash or the queue: \(number(known))." }
            if doubled > 0 {
                "Twice in the export: \(number(doubled)). Their tags are put together; title and remark are the first's."
            }
            if skipped > 0 { "Not chosen: \(number(skipped))." }
            if refused > 0 { "Left out, because no page can be captured from them: \(number(refused))." }
            if dates > 0 {
                "The server takes no dates, of \(number(dates)). --dates keeps them in the remark, where there is room."
            }
            if !lostTags.isEmpty {
                "The server does not take \(Formatting.count(lostTags.count, "tag")): \(tags). --map-tags writes them otherwise, where that can be done."
            }
            if manyTags > 0 { "More than \(WriteLimits.tagCount) tags, of \(number(manyTags)): the last are left out." }
            if highlights > 0 { "Highlights are left out, of \(number(highlights))." }
            if texts > 0 { "Texts are left out, of \(number(texts)): the server reads the pages itself." }
            if cut > 0 { "A title or a remark is left out, of \(number(cut)): the server does not take it." }
            if let minutes, Double(new) > Importing.pace {
                "The delivery takes about \(Formatting.duration(.seconds(minutes * 60))): the server takes 30 captures a minute."
            }
        }
    }
}
