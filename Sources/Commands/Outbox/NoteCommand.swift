import Console
import PRSNLCore

/// `prsnlctl note`: a text.
enum NoteCommand {
    static let command = Command(
        "note", "Save a note on the server; `-` reads the text from stdin.", operands: .one("TEXT"),
        options: [.text("--title", "TITLE", "The note's title."), .tag, .wait]
    ) { context, arguments throws(UserFacingError) in
        let text = try TextInput.read(arguments.operands.first ?? "", field: "note")
        let item = NewItem(title: arguments.value("--title"), note: text, tags: arguments.values("--tag"))
        return try WriteFlow.run(context, arguments, [.create(item)], names: ["note"])
    }
}
