import Glibc

/// Threads and descriptors that this process holds.
package struct ProcessResources: Sendable {
    /// How many there are of each name.
    package var threads: [String: Int] = [:]
    /// How many there are of each kind, numbers left out: "socket:[]", "anon_inode:[eventfd]", a file's path.
    package var descriptors: [String: Int] = [:]

    package var descriptorCount: Int { descriptors.values.reduce(0, +) }

    /// As it is now.
    package init() {
        for task in Self.names(in: "/proc/self/task") {
            threads[Self.text("/proc/self/task/\(task)/comm"), default: 0] += 1
        }
        for descriptor in Self.names(in: "/proc/self/fd") {
            var target = [CChar](repeating: 0, count: 256)
            guard readlink("/proc/self/fd/\(descriptor)", &target, target.count - 1) > 0 else { continue }
            let bytes = target.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }
            let kind = String(decoding: bytes, as: UTF8.self).filter { !$0.isNumber }
            // The one that this look itself has opened.
            if kind != "/proc//fd" { descriptors[kind, default: 0] += 1 }
        }
    }

    private static func names(in folder: String) -> [String] {
        guard let opened = opendir(folder) else { return [] }
        defer { closedir(opened) }
        var names: [String] = []
        while let entry = readdir(opened) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func text(_ path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        guard fgets(&line, Int32(line.count), file) != nil else { return "" }
        let bytes = line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(truncatingIfNeeded: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What is held here beyond `before`: a line for each kind.
    package func growth(since before: ProcessResources, threads names: [String]) -> [String] {
        names.filter { threads[$0, default: 0] > before.threads[$0, default: 0] }.map { "thread \($0)" }
            + descriptors.keys.filter { descriptors[$0, default: 0] > before.descriptors[$0, default: 0] }.sorted()
    }
}

/// Makes and ends the same thing several times, and throws where anything of it is left: a thread of these names, or a
/// descriptor. For tests that run one at a time.
package func expectNothingLeft(threads names: String..., times: Int = 20, _ body: () async throws -> Void) async throws
{
    // libdispatch makes its timer once, with the first sleep that is not over before it is armed.
    try await eventually("libdispatch's timer") {
        try await Task.sleep(for: .milliseconds(1))
        return ProcessResources().descriptors["anon_inode:[timerfd]"] != nil
    }
    // What an earlier test has left is not this one's.
    let start = ProcessResources()
    try await body()
    try await eventually("the first of \(names) to end", within: .seconds(10)) {
        let now = ProcessResources()
        return names.allSatisfy { now.threads[$0, default: 0] <= start.threads[$0, default: 0] }
    }
    let before = ProcessResources()
    for _ in 0..<times { try await body() }
    // What ended on its own thread needs a moment more.
    var left: [String] = []
    do {
        try await eventually("an end", within: .seconds(10)) {
            left = ProcessResources().growth(since: before, threads: names)
            return left.isEmpty
        }
    } catch is WaitedInVain {
        throw WaitedInVain("after \(times) of them, more is held than before: \(left.joined(separator: ", "))")
    }
}

/// Throws where this process holds more descriptors than tests need at one time: something does not end.
package func expectFewDescriptors() throws {
    let held = ProcessResources()
    guard held.descriptorCount <= 200 else { throw WaitedInVain("too many descriptors are open: \(held.descriptors)") }
}
