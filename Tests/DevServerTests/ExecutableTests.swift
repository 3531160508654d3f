import CLinux
import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

@Suite struct ExecutableTests {
    /// A running prsnl-devserver.
    private struct Running {
        let process: ChildProcess
        let port: UInt16

        init(_ arguments: [String]) async throws {
            process = try ChildProcess(try BuiltProducts.executable("prsnl-devserver"), arguments)
            let line = try await process.waitForLine(containing: "listening on http://127.0.0.1:")
            port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
        }

        func client() throws -> RawClient { try RawClient(port: port) }
    }

    @Test func servesItsOwnListUntilItIsTold() async throws {
        let running = try await Running(["--items", "250", "--ties", "3", "--seed", "4", "--others", "5"])
        let expected = DevItem.generate(count: 250, seed: 4, tieGroup: 3)
        let client = try running.client()
        let lines = try client.get("/__dev/items.tsv").text.split(separator: "\n")
        #expect(Set(lines.map { $0.prefix(36) }.map(String.init)) == Set(expected.map(\.id)))
        #expect(try client.get("/__dev/items").text.split(separator: "\n").count == 250)
        #expect(try client.page("?limit=100").ids.count == 100)
        #expect(try member("endpoints", "GET /api/timeline", of: client.get("/__dev/requests").body) == "1")
        #expect(try await running.process.terminate() == .status(0))
        #expect(running.process.stderr.isEmpty)
    }

    @Test func dumpsWhatItWouldServe() async throws {
        let arguments = ["--items", "50", "--seed", "9", "--dump"]
        let result = try await ChildProcess.run(try BuiltProducts.executable("prsnl-devserver"), arguments)
        #expect(result.exit == .status(0))
        let first = DevItem.generate(count: 50, seed: 9)[0]
        #expect(result.stdout.hasPrefix("\(first.id)\t\(first.createdAt)\t\(first.updatedAt)\n"))
        #expect(result.stdout.split(separator: "\n").count == 50)
    }

    @Test func writesCredentialsThatItAccepts() async throws {
        let folder = TemporaryDirectory()
        let (token, key, ready) = (folder.file("token"), folder.file("key"), folder.file("ready"))
        let cursor = try await Running(
            ["--items", "3", "--others", "2", "--token", token, "--ready-file", ready])
        let header = "Bearer " + (try TestFile.text(token).split(separator: "\n")[0])
        #expect(try cursor.client().page("", headers: ["Authorization": header]).ids.count == 3)
        #expect(try cursor.client().page("").ids.count == 7)
        try await eventually("the ready file") { TestFile.exists(ready) }
        #expect(try TestFile.text(ready) == "http://127.0.0.1:\(cursor.port)\n")
        var status = stat()
        #expect(stat(token, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)

        let page = try await Running(["--items", "3", "--dialect=P", "--api-key", "k-1", "--api-key-file", key])
        #expect(try TestFile.text(key) == "k-1\n")
        #expect(try page.client().page("", headers: ["X-API-Key": "k-1"]).total == 3)
    }

    @Test func shellScriptsChangeItemsAndScriptFaults() async throws {
        let running = try await Running(["--items", "30", "--log"])
        let client = try running.client()
        let before = try client.page("?limit=100").ids

        let added = try client.request("POST", "/__dev/add?count=2")
        #expect(try client.page("?limit=100").ids.count == 32)
        let newest = try #require(try member("ids", "1", of: added.body))
        #expect(try client.page("?limit=1").ids == [newest])
        let late = try client.request("POST", "/__dev/add?at=2024-01-01T00:00:00Z")
        #expect(try client.page("?limit=100").ids.last == member("ids", "0", of: late.body))

        _ = try client.request("POST", "/__dev/edit?id=\(before[4])&title=New+title")
        #expect(try client.page("?limit=7").titles.last == "New title")
        _ = try client.request("POST", "/__dev/delete?index=2&count=3")
        #expect(try client.page("?limit=100").ids[2] == before[3])
        _ = try client.request("POST", "/__dev/hide?id=\(before[3])")
        #expect(try client.page("?limit=100").ids[2] == before[4])
        #expect(try client.request("POST", "/__dev/edit?id=missing").status == 404)

        _ = try client.request("POST", "/__dev/fault?kind=status&status=502&times=2&skip=1")
        #expect(try (0..<4).map { _ in try client.get("/api/timeline").status } == [200, 502, 502, 200])
        _ = try client.request("POST", "/__dev/fault?kind=portal&times=0&path=/api/*")
        #expect(try client.get("/api/health").text.contains("<html>"))
        _ = try client.request("POST", "/__dev/clear-faults")
        #expect(try client.get("/api/health").text.contains("healthy"))
        #expect(try client.request("POST", "/__dev/fault?kind=nonsense").status == 400)

        let line = try await running.process.waitForErrorLine(containing: "-> 502")
        #expect(line == "GET /api/timeline -> 502 (none) [answer]")
    }

    @Test func shellScriptsSeeWhatWasWrittenWhateverWasAnswered() async throws {
        let folder = TemporaryDirectory()
        let token = folder.file("token")
        let running = try await Running(
            ["--items", "1", "--token", token, "--capture-limit", "0", "--patch-works", "--hide-captured"])
        let headers = ["Authorization": "Bearer " + (try TestFile.text(token).split(separator: "\n")[0])]
        let client = try running.client()
        let first = try client.page("?limit=1").ids[0]
        for number in 1...31 {
            let body = #"{"content":"Note \#(number)","tags":["a"]}"#
            #expect(try client.request("POST", "/api/capture", headers: headers, body: body).status == 201)
        }
        #expect(try client.page("?limit=100").ids == [first], "hidden")
        let edit = try client.request("PATCH", "/api/items/\(first)", headers: headers, body: #"{"title":"B"}"#)
        #expect(edit.status == 200)
        _ = try client.request("POST", "/__dev/fault?kind=error-after&status=502&path=/api/items/*")
        #expect(try client.request("DELETE", "/api/items/\(first)", headers: headers).status == 502)
        _ = try client.request("POST", "/__dev/random-fault?probability=1&seed=3")
        #expect(throws: RawClient.Closed.self) {
            for _ in 0..<100 {
                _ = try running.client().request(
                    "PATCH", "/api/items/\(first)", headers: headers, body: #"{"title":"C"}"#)
            }
        }
        _ = try client.request("POST", "/__dev/clear-faults")
        #expect(try client.get("/__dev/writes").text == #"{"created":31,"updated":1,"deleted":1}"# + "\n")
        let captures = try client.get("/__dev/captures").text.split(separator: "\n")
        #expect(captures.count == 31)
        #expect(try member("content", of: Array(captures[30].utf8)) == "Note 31")
    }

    @Test func itsRowsOutliveAKill() async throws {
        let folder = TemporaryDirectory()
        let arguments = ["--items", "3", "--token", folder.file("token"), "--state", folder.file("journal")]
        let first = try await Running(arguments)
        let headers = ["Authorization": "Bearer " + (try TestFile.text(folder.file("token")).split(separator: "\n")[0])]
        let body = #"{"content":"A note of mine"}"#
        #expect(try first.client().request("POST", "/api/capture", headers: headers, body: body).status == 201)
        first.process.signal(SIGKILL)
        #expect(try await first.process.waitForExit() == .signal(SIGKILL))
        let second = try await Running(arguments + ["--storm", "5", "--storm-rate", "0"])
        #expect(try second.client().page("?limit=100", headers: headers).ids.count == 4)
    }

    /// Made-up texts are the same for the same seed, and a cache keeps what it has answered.
    @Test func itMakesUpTextsAndCachesThem() async throws {
        let arguments = ["--items", "5", "--seed", "6", "--texts", "1K-2k", "--item-cache", "1800"]
        let running = try await Running(arguments)
        let client = try running.client()
        let item = try #require(DevItem.generate(count: 5, seed: 6).first { $0.content == nil })
        let text = try client.get("/__dev/text?id=\(item.id)").text
        #expect((1_024...2_048).contains(text.utf8.count))
        #expect(try member("content", of: client.get("/api/items/\(item.id)").body) == text)
        let other = try await Running(arguments)
        #expect(try other.client().get("/__dev/text?id=\(item.id)").text == text)
        let version = "/__dev/text?id=\(item.id)&version="
        #expect(try client.get(version + "\(item.updatedAt.microseconds)").text == text)
        #expect(try client.get(version + "1").text != text)

        _ = try client.request("POST", "/__dev/edit?id=\(item.id)&content=New")
        #expect(try client.get("/__dev/text?id=\(item.id)").text == "New")
        #expect(try member("content", of: client.get("/api/items/\(item.id)").body) == text)
        _ = try client.request("POST", "/__dev/clear-cache")
        #expect(try member("content", of: client.get("/api/items/\(item.id)").body) == "New")
    }

    @Test func badArgumentsAreUsageErrors() async throws {
        let binary = try BuiltProducts.executable("prsnl-devserver")
        for arguments in [
            ["--nope"], ["--items"], ["--items", "many"], ["--dialect", "X"], ["--port", "70000"],
            ["--texts", "8M-100"], ["--texts", "100"], ["--texts", "1-2G"],
        ] {
            let result = try await ChildProcess.run(binary, arguments)
            #expect(result.exit == .status(2), "\(arguments)")
            #expect(result.stderr.contains("--help"))
            #expect(result.stdout.isEmpty)
        }
        let help = try await ChildProcess.run(binary, ["--help"])
        #expect(help.exit == .status(0))
        #expect(help.stdout.contains("--dialect"))
    }

    @Test func aPortThatIsTakenIsSaidPlainly() async throws {
        let server = try DevServer.start()
        let result = try await ChildProcess.run(
            try BuiltProducts.executable("prsnl-devserver"), ["--port", "\(server.port)"])
        #expect(result.exit == .status(1))
        #expect(result.stderr.contains("127.0.0.1:\(server.port)"))
    }
}
