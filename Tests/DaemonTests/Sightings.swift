import CLinux
import Glibc
import TestSupport

/// Everything of the two programs that another user could get to see, by where it was seen, to be searched for secrets.
struct Sightings {
    private(set) var places: [(place: String, bytes: [UInt8])] = []

    mutating func add(_ place: String, _ text: String) { places.append((place, Array(text.utf8))) }

    mutating func add(_ place: String, _ ended: DaemonFixture.Ended) {
        add(place + ": stdout", ended.stdout)
        add(place + ": stderr", ended.stderr)
    }

    /// What proc(5) shows of a process to this user: the environment of one that is not dumpable, to root alone.
    mutating func add(processID: Int32, _ name: String) throws {
        for file in ["cmdline", "comm"] + (geteuid() == 0 ? ["environ"] : []) {
            places.append(("/proc of \(name): \(file)", try TestFile.read("/proc/\(processID)/\(file)")))
        }
    }

    /// Every file in a folder and below it, as bytes, except those that hold the secrets on purpose.
    mutating func add(folder: String, except kept: [String]) throws {
        guard let stream = opendir(folder) else { throw WaitedInVain("\(folder): errno \(errno)") }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let path = "\(folder)/\(name)"
            var information = stat()
            guard name != ".", name != "..", !kept.contains(path), lstat(path, &information) == 0 else { continue }
            switch information.st_mode & S_IFMT {
            case S_IFDIR: try add(folder: path, except: kept)
            case S_IFREG: places.append((path, try TestFile.read(path)))
            default: continue
            }
        }
    }

    /// Where a secret stands, as it is or in the encoding of HTTP's Basic scheme.
    func places(of secret: String) -> [String] {
        let forms = [Array(secret.utf8), Array(Self.base64(secret).utf8)]
        return places.filter { _, bytes in forms.contains { bytes.firstRange(of: $0) != nil } }.map(\.place)
    }

    private static func base64(_ text: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var bits = 0
        var count = 0
        var result = ""
        for byte in text.utf8 {
            bits = (bits << 8 | Int(byte)) & 0xFFFF
            count += 8
            while count >= 6 {
                count -= 6
                result.append(alphabet[bits >> count & 63])
            }
        }
        // The last, partial character depends on what follows.
        return result
    }
}

extension DaemonFixture {
    /// What every command says that only looks, in both forms, and what the raw answers on the socket are.
    func look(_ commands: [[String]], into seen: inout Sightings) async throws {
        for command in commands {
            for form in [[], ["--json"]] {
                let child = try startControl(command + form)
                _ = try await child.waitForExit()
                seen.add((command + form).joined(separator: " "), (.status(0), child.stdout, child.stderr))
            }
        }
    }

    static let looks = [
        ["status"], ["history"], ["queue", "--all"], ["net"], ["ping"], ["errors"], ["whoami"], ["account"],
        ["queue", "show", "1"], ["queue", "show", "2"],
    ]
}
