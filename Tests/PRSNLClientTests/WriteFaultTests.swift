import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

/// What a client knows about a write whose answer did not come as it should, and that it was sent once.
struct WriteFaultTests {
    enum Write: String, CaseIterable, Sendable { case create, update, delete }

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var fault: Fault
        var code: ErrorCode
        /// Whether the server did what was asked.
        var isApplied: Bool
        var isPRSNLError = false
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(name: "cut before it was applied", fault: .closeBeforeAnswering, code: .cutOff, isApplied: false),
        Row(name: "answer lost", fault: .closeAfterApplying, code: .cutOff, isApplied: true),
        Row(name: "answer cut off", fault: .truncate(after: 3), code: .cutOff, isApplied: true),
        Row(
            name: "500 after it was applied",
            fault: .answerAfterApplying(status: 500, body: #"{"detail":"oops"}"#), code: .serverError,
            isApplied: true, isPRSNLError: true),
        Row(
            name: "a proxy's 504", fault: .answerAfterApplying(status: 504, body: "<html>Gateway Timeout</html>"),
            code: .serviceUnavailable, isApplied: true),
        Row(
            name: "PRSNL's own 503",
            fault: .answer(
                status: 503, headers: ["x-error-code": "SERVICE_UNAVAILABLE"], body: #"{"detail":"starting"}"#),
            code: .serviceUnavailable, isApplied: false, isPRSNLError: true),
        Row(name: "portal", fault: .portal, code: .portal, isApplied: false),
        Row(name: "empty 200", fault: .emptyBody, code: .unexpectedShape, isApplied: false),
        Row(name: "garbage", fault: .garbage, code: .unexpectedShape, isApplied: false),
    ]

    @Test(arguments: rows, Write.allCases)
    func aWriteIsSentOnceAndSaysThatItMayHaveArrived(_ row: Row, _ write: Write) async throws {
        for dialect in Dialect.allCases {
            // A 204 has no body that could be cut.
            if case .truncate = row.fault, dialect == .express, write == .delete { continue }
            let fixture = try WriteCallTests.Fixture(dialect)
            let item = fixture.server.addNew()[0]
            fixture.server.script(row.fault, on: .change)
            let error = await apiError { () async throws(APIError) in try await perform(write, fixture, item.id) }
            #expect(error?.code == row.code)
            #expect(error?.mayHaveReachedServer == true)
            #expect(error?.isPRSNLError == row.isPRSNLError)
            #expect(fixture.server.requests(.change).count == 1)
            #expect(fixture.server.appliedWrites.total == (row.isApplied ? 1 : 0))
            #expect(fixture.test.time.waits.isEmpty && fixture.test.usage.all.map(\.attempts) == [1])
        }
    }

    @Test(arguments: Write.allCases)
    func aKeptConnectionThatDiesAfterApplyingDoesNotDoubleTheWrite(_ write: Write) async throws {
        let fixture = try WriteCallTests.Fixture(.page)
        let item = fixture.server.addNew()[0]
        fixture.server.script(.dieKeptAlive, on: .health)
        try await fixture.client.health()
        let error = await apiError { () async throws(APIError) in try await perform(write, fixture, item.id) }
        #expect(error?.kind == .networkError(.cutOff) && error?.mayHaveReachedServer == true)
        #expect(fixture.server.appliedWrites.total == 1)
        #expect(fixture.server.requests(.change).count == 1)
    }

    @Test(arguments: Write.allCases)
    func aServerThatIsNotThereCertainlyDidNothing(_ write: Write) async throws {
        let fixture = try WriteCallTests.Fixture(.cursor)
        fixture.server.refuseConnections()
        let error = await apiError { () async throws(APIError) in try await perform(write, fixture, "x") }
        #expect(error?.kind == .networkError(.connectFailed) && error?.mayHaveReachedServer == false)
    }

    /// A 2xx of a creation without an id, and of an edit of another item: something was done, and it is unknown what.
    @Test func anAnswerWithoutItsItemIsAnUnknownOutcome() async throws {
        for dialect in Dialect.allCases {
            for body in ["{}", #"{"id":null}"#, #"{"id":7}"#, #"{"id":""}"#] {
                let server = try ScriptedServer(always: .json(body, status: 201))
                let test = try TestClient(server.url)
                let error = await apiError { () async throws(APIError) in
                    try await test.client.session().create(WriteCallTests.link, dialect: dialect, key: "k")
                }
                #expect(error?.kind == .decodingError(.unexpectedShape("the created item has no id")))
                #expect(error?.mayHaveReachedServer == true)
            }
        }
        let server = try ScriptedServer(always: .json(#"{"id":"other"}"#))
        let test = try TestClient(server.url)
        let error = await apiError { () async throws(APIError) in
            try await test.client.session().update("mine", ItemEdit(title: "T"), dialect: .page, key: "k")
        }
        #expect(error?.kind == .decodingError(.unexpectedShape("it is another item")))
    }

    /// Whether it was applied, the item itself tells then.
    @Test func anEditThatIsAnsweredWithoutTheItemIsLookedUp() async throws {
        for reply in [
            ScriptedServer.Reply.json(#"{"message":"ok"}"#), .json(#"{"error":"database is locked"}"#),
            .raw("HTTP/1.1 204 No Content\r\n\r\n", .keepOpen),
        ] {
            let server = try ScriptedServer(always: reply)
            let test = try TestClient(server.url)
            let error = await apiError { () async throws(APIError) in
                _ = try await test.client.session().update("mine", ItemEdit(title: "T"), dialect: .page, key: "k")
            }
            #expect(error?.code == .unexpectedShape, "\(String(describing: error))")
            #expect(error?.mayHaveReachedServer == true)
        }
    }

    @Test func aDeletionIsDoneWhereTheAnswerSaysSo() async throws {
        for body in [#"{"message":"Item deleted successfully","id":"mine"}"#, #"{"id":"mine"}"#] {
            let server = try ScriptedServer(always: .json(body))
            let test = try TestClient(server.url)
            try await test.client.session().delete("mine", dialect: .cursor, key: "k")
        }
        for body in [#"{"error":"database is locked"}"#, #"{"message":"no","detail":"locked"}"#, #"{"status":"ok"}"#] {
            let server = try ScriptedServer(always: .json(body))
            let test = try TestClient(server.url)
            let error = await apiError { () async throws(APIError) in
                try await test.client.session().delete("mine", dialect: .cursor, key: "k")
            }
            #expect(error?.mayHaveReachedServer == true && error?.code == .unexpectedShape)
        }
    }

    @Test func anEmptyObjectSaysNothingOfAWrite() async throws {
        let server = try ScriptedServer(always: .json("{}"))
        let test = try TestClient(server.url)
        let answers = [
            await apiError { () async throws(APIError) in
                _ = try await test.client.session().update("mine", ItemEdit(title: "T"), dialect: .page, key: "k")
            },
            await apiError { () async throws(APIError) in
                try await test.client.session().delete("mine", dialect: .page, key: "k")
            },
        ]
        for error in answers {
            #expect(error?.code == .unexpectedShape)
            #expect(error?.mayHaveReachedServer == true)
        }
    }

    private func perform(_ write: Write, _ fixture: WriteCallTests.Fixture, _ id: String) async throws(APIError) {
        switch write {
        case .create: _ = try await fixture.create(NewItem(url: "https://example.org/", title: "T"))
        case .update:
            _ = try await fixture.client.session().update(id, ItemEdit(title: "T"), dialect: fixture.dialect, key: "k")
        case .delete: try await fixture.client.session().delete(id, dialect: fixture.dialect, key: "k")
        }
    }
}
