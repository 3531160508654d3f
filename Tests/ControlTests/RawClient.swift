import CLinux
import Console
import Control
import Glibc
import PRSNLCore
import TestSupport

/// A client of the control socket that sends whatever it likes, as no proper client would.
final class RawClient: Sendable {
    let descriptor: Int32

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let code = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else { throw Failure(description: "connect: errno \(errno)") }
    }

    deinit { close(descriptor) }

    /// False when the other side has closed.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func endOfInput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The next line; `nil` at the end. Fails the test after a minute.
    func line() throws -> String? {
        var bytes: [UInt8] = []
        while true {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 60_000) == 1 else { throw Failure(description: "no answer") }
            var byte: UInt8 = 0
            guard read(descriptor, &byte, 1) == 1 else {
                return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
    }

    /// The next line, where it is an error.
    func error() throws -> UserFacingError? { try Self.error(try line()) }

    static func error(_ line: String?) throws -> UserFacingError? {
        struct Line: Decodable { let error: UserFacingError? }
        guard let line else { return nil }
        return try JSONOutput.decode(Line.self, from: Array(line.utf8)).error
    }
}
