import Control
import Glibc
import PRSNLCore
import Store

/// The database, and what is beside it.
enum GatherFiles {
    /// Longer than a file of some gigabytes takes that is in the page cache.
    static let integrityLimit: Duration = .seconds(30)

    static func files(_ database: String) -> DoctorFiles {
        var facts = DoctorFiles(path: database)
        facts.folder = FileLook.entry(Folder.containing(database))
        facts.database = FileLook.entry(database)
        for suffix in DoctorFiles.suffixes { facts.beside[suffix] = FileLook.entry(database + suffix) }
        return facts
    }

    /// Who reads the file, but for the daemon. Before this process opens it: see `ReaderFiles.readers`.
    static func readers(_ database: String, daemon: Int32?) -> [String] {
        ReaderFiles.readers(path: database).filter { $0 != daemon }.map(processName)
    }

    static func database(_ scene: DoctorScene) -> DoctorDatabase {
        var facts = DoctorDatabase(path: scene.database)
        facts.readers = scene.readers
        do throws(UserFacingError) {
            let figures = try StoreReader(path: scene.database, leavingNoTrace: true).figures()
            facts.schemaVersion = figures.schemaVersion
            facts.size = figures.size
            facts.freeSize = figures.freeSize
            facts.logSize = figures.logSize
        } catch {
            facts.error = error
        }
        return facts
    }

    /// `nil` where there is no file.
    static func integrity(_ scene: DoctorScene) -> DoctorIntegrity? {
        guard let status = FileLook.status(scene.database).status else { return nil }
        let size = Int64(status.st_size)
        let path = scene.database
        let outcome = BoundedCheck<DoctorIntegrity.Outcome>.run(within: integrityLimit) {
            do throws(UserFacingError) {
                let damage = try StoreReader(path: path, leavingNoTrace: true).damage()
                return damage.isEmpty ? .sound : .damaged(damage)
            } catch {
                return .unreadable(error)
            }
        }
        return DoctorIntegrity(path: path, size: size, outcome: outcome ?? .unfinished(integrityLimit))
    }

    /// `sqlite3 (4242)`, by proc(5).
    private static func processName(_ process: Int32) -> String {
        guard let text = SmallText.read("/proc/\(process)/comm") else { return "process \(process)" }
        return "\(text.filter { !$0.isNewline }) (\(process))"
    }
}

/// The small files of proc(5).
enum SmallText {
    /// The first 64 KiB; `nil` where it cannot be read.
    static func read(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
