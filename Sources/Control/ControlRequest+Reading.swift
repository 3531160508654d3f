import Console
import PRSNLCore
import Store

extension ControlRequest {
    /// Why a line is no request.
    struct Refusal: Error, Equatable {
        let reason: String
    }

    /// Reads a line. Members that the command does not know are ignored, except inside of drafts.
    init(line: [UInt8]) throws(Refusal) {
        // The reader repairs what is not UTF-8; a write must not change on its way.
        guard String(validating: line, as: UTF8.self) != nil else { throw Refusal(reason: "it is not UTF-8") }
        do {
            let members = try JSONReader.read(line) { reader in
                let members = try Members(&reader)
                try reader.end()
                return members
            }
            self = try members.request()
        } catch let refusal as Refusal {
            throw refusal
        } catch let failure as JSONReader.Failure {
            throw Refusal(reason: failure.description)
        } catch {
            throw Refusal(reason: "it cannot be understood")
        }
    }

    private struct Members {
        var command: String?
        var booleans: [String: Bool] = [:]
        var numbers: [String: Int64] = [:]
        var filter: OutboxFilter = .open
        var entries: [Int64]?
        var writes: [WriteRequest] = []
        /// Of a login.
        var texts: [String: String] = [:]

        init(_ reader: inout JSONReader) throws {
            guard try reader.enterObject() else { return }
            repeat {
                let name = try reader.string()
                try reader.colon()
                guard try reader.null() == false else { continue }
                try read(name, &reader)
            } while try reader.nextMember()
        }

        private mutating func read(_ name: String, _ reader: inout JSONReader) throws {
            switch name {
            case "command": command = try reader.string()
            case "full", "wait", "accept_deletions", "brief", "parked", "dry_run", "with_dependents",
                "watch", "clear", "check", "accept_new":
                booleans[name] = try reader.bool()
            case "limit", "entry", "at_most_milliseconds": numbers[name] = try Self.number(name, &reader)
            case "filter":
                guard let found = OutboxFilter(name: try reader.string()) else {
                    throw Refusal(reason: "filter must be open, all or a state")
                }
                filter = found
            case "entries":
                var found: [Int64] = []
                try reader.array { reader in found.append(try Self.number("entries", &reader)) }
                entries = found
            case "writes": try readWrites(&reader)
            case let name where LoginHandover.memberNames.contains(name): texts[name] = try reader.string()
            default: try reader.skip()
            }
        }

        private mutating func readWrites(_ reader: inout JSONReader) throws {
            guard try reader.enterArray() else { return }
            repeat {
                guard writes.count < mostWrites else { throw Refusal(reason: "writes has more than \(mostWrites)") }
                do {
                    writes.append(try DraftMembers.write(&reader))
                } catch let failure as DraftFailure {
                    throw Refusal(reason: "writes[\(writes.count)]: \(failure.reason)")
                }
            } while try reader.nextElement()
        }

        private static func number(_ name: String, _ reader: inout JSONReader) throws -> Int64 {
            guard let number = Int64(try reader.numberText()), number >= 0 else {
                throw Refusal(reason: "\(name) must be a whole number")
            }
            return number
        }

        private func someEntries() throws(Refusal) -> [Int64] {
            guard let entries, !entries.isEmpty, entries.count <= mostWrites else {
                throw Refusal(reason: "entries must have 1 to \(mostWrites) numbers")
            }
            return entries
        }

        private func has(_ name: String) -> Bool { booleans[name] ?? false }

        func request() throws(Refusal) -> ControlRequest {
            switch command {
            case "status": return .status
            case "history": return .history
            case "ping": return .ping
            case "net": return .net(watch: has("watch"))
            case "errors": return .errors(clear: has("clear"))
            case "sync":
                return .sync(full: has("full"), wait: has("wait"), acceptDeletions: has("accept_deletions"))
            case "write":
                guard !writes.isEmpty else { throw Refusal(reason: "writes must have 1 to \(mostWrites) objects") }
                return .write(writes, isBrief: has("brief"))
            case "queue":
                let limit = numbers["limit"].map { Int(clamping: $0) } ?? usuallyListed
                return .queue(filter, limit: min(limit, mostListed))
            case "entry":
                guard let entry = numbers["entry"] else { throw Refusal(reason: "entry is missing") }
                return .entry(entry)
            case "retry":
                let entries = entries == nil ? nil : try someEntries()
                return .retry(entries, parked: has("parked"), dryRun: has("dry_run"))
            case "drop":
                return .drop(try someEntries(), withDependents: has("with_dependents"), dryRun: has("dry_run"))
            case "wait":
                // A century is for ever, and can be reckoned with.
                let limit = numbers["at_most_milliseconds"].map { min($0, 100 * 366 * 86_400_000) }
                return .wait(try someEntries(), atMost: limit.map { .milliseconds($0) })
            case "login": return has("check") ? .loginCheck : .login(try LoginHandover(members: texts))
            case "logout": return .logout
            case "whoami": return .whoami
            case "account": return .account(acceptNew: has("accept_new"), dryRun: has("dry_run"))
            case let other?:
                throw Refusal(reason: "\"\(SafeText.harmless(String(other.prefix(40))))\" is not a command")
            case nil: throw Refusal(reason: "command is missing")
            }
        }
    }
}
