import Commands
import Console
import Glibc

/// `prsnl-pages FOLDER DATE`: writes what is installed beside the programs, from the tables that the programs follow
/// themselves. For `make install` and `make deb`; it is not installed.
@main
enum PrsnlPages {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let folder = arguments.first, let date = arguments.last, !folder.isEmpty else {
            StandardStream.error.write("usage: prsnl-pages FOLDER DATE\n")
            exit(2)
        }
        do throws(WriteFailure) {
            for (path, text) in files(date: date) { try write(text, to: "\(folder)/\(path)") }
        } catch {
            StandardStream.error.write("prsnl-pages: \(error.path): \(String(cString: strerror(error.number)))\n")
            exit(1)
        }
    }

    private static func files(date: String) -> [(path: String, text: String)] {
        let programs: [CommandTable] = [.prsnld, .prsnlctl]
        return [
            ("man/prsnld.8", ManualPage.prsnld(date: date)),
            ("man/prsnlctl.1", ManualPage.prsnlctl(date: date)),
            ("man/prsnld.conf.5", ManualPage.configuration(date: date)),
            ("prsnld.conf", ExampleConfiguration.text),
        ]
            + programs.flatMap { table in
                [
                    ("bash/\(table.program)", BashCompletion(table).script),
                    ("zsh/_\(table.program)", ZshCompletion(table).script),
                    ("fish/\(table.program).fish", FishCompletion(table).script),
                ]
            }
    }

    private struct WriteFailure: Error {
        let path: String
        let number: Int32
    }

    private static func write(_ text: String, to path: String) throws(WriteFailure) {
        var folder = ""
        for name in path.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
            folder += "\(name)/"
            guard mkdir(folder, 0o755) == 0 || errno == EEXIST else { throw WriteFailure(path: folder, number: errno) }
        }
        guard let file = fopen(path, "we") else { throw WriteFailure(path: path, number: errno) }
        let bytes = Array(text.utf8)
        let written = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, written == bytes.count else { throw WriteFailure(path: path, number: errno) }
    }
}
