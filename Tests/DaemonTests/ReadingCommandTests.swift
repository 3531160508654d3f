import Commands
import Console
import Requests
import TestSupport
import Testing

@testable import Store

/// The commands that only read, as their own flag says, each with an operand where it needs one. `open` is left out: it starts a
/// browser.
func readingCommands(item: String, folder: String) -> [[String]] {
    let operands = ["ID": item, "WORD": "Item", "DIRFILE": folder, "N": "1"]
    return CommandTable.prsnlctl.commands.filter { $0.onlyReads && $0.name != "open" }.map { command in
        let operand = operands[command.operands.usage.filter(\.isLetter)] ?? "1"
        return command.name.split(separator: " ").map(String.init) + (command.operands.minimum > 0 ? [operand] : [])
    }
}

/// As an update leaves them until the daemon has started again.
@Suite struct FormerFileCommandTests {
    @Test(arguments: [1, 5, 8, 9])
    func everyReadingCommandTakesAFormerFile(version: Int) async throws {
        let folder = TemporaryDirectory("former")
        let path = folder.file("prsnl.sqlite")
        do {
            let file = try Connection(path: path, mode: .readWrite)
            try file.execute(try RepositoryFile.text("Tests/StoreTests/Fixtures/schema-\(version).sql"))
        }
        let others = [
            ["verify", "--file"], ["verify", "--digest"], ["show", "item-1", "--json"], ["list", "--deleted"],
        ]
        for command in readingCommands(item: "item-1", folder: folder.file("out")) + others {
            let ended = try await ChildProcess.run(
                BuiltProducts.executable("prsnlctl"), ["--database", path] + command, environment: ["HOME": folder.path]
            )
            // No index and no changes; no daemon.
            let cannotAnswer = ["search", "related", "changes", "ping", "net"].contains(command[0])
            #expect([.status(0), .status(4)].contains(ended.exit) || cannotAnswer, "\(command): \(ended)")
            #expect(!ended.stderr.contains("report this"), "\(command): \(ended)")
            if command.contains("--file") { #expect(ended.exit == .status(0), "\(ended)") }
        }
    }
}
