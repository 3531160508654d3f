import PRSNLClient
import PRSNLCore
import Testing

/// The API contract's table of answers, row by row, through a real socket.
struct ErrorTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var reply: ScriptedServer.Reply
        var kind: APIError.Kind
        var message: String
        var code: ErrorCode
        var heading = "Something went wrong"
        var serverCode: String?
        var requests = 1
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(
            name: "401", reply: .json(#"{"detail":"Token has expired"}"#, status: 401), kind: .unauthorized,
            message: "Invalid or expired API key. Please check your settings.", code: .unauthorized,
            heading: "Authentication required"),
        Row(
            name: "403", reply: .json(#"{"detail":"Not yours"}"#, status: 403), kind: .forbidden,
            message: "Access denied: the server does not let this key or login do this.", code: .forbidden),
        Row(
            name: "404 of an item",
            reply: .json(
                #"{"detail":"Item with ID 7 not found"}"#, status: 404, headers: ["X-Error-Code": "ITEM_NOT_FOUND"]),
            kind: .notFound(resource: "Item"), message: "Item not found.", code: .notFound, serverCode: "ITEM_NOT_FOUND"
        ),
        Row(
            name: "404 of a route", reply: .answer(404, ["Content-Type": "text/html"], "<pre>Cannot GET /api</pre>"),
            kind: .notFound(resource: "Resource"), message: "Resource not found.", code: .notFound),
        Row(
            name: "400 that quotes a title",
            reply: .json(
                #"{"detail":"This URL already exists in your knowledge base. Item: 'It's mine' (created 2026-11-21)"}"#,
                status: 400, headers: ["X-Error-Code": "INVALID_INPUT"]),
            kind: .invalidInput(
                message: "This URL already exists in your knowledge base. Item: … (created 2026-11-21)"),
            message:
                "Invalid input: This URL already exists in your knowledge base. Item: … (created 2026-11-21).",
            code: .invalidInput, serverCode: "INVALID_INPUT"),
        Row(
            name: "422 names field and reason, not the input",
            reply: .json(
                #"""
                {"detail":[{"type":"string_too_long","loc":["body","title"],"msg":"String should have at most 500 \#
                characters","input":"A secret thought","ctx":{"max_length":500}},\#
                {"type":"value_error","loc":["body","tags",3],"msg":"Value error, A bad tag","input":"A bad tag"}]}
                """#, status: 422),
            kind: .invalidInput(message: "title: String should have at most 500 characters; tags.3: Value error, …"),
            message: "Invalid input: title: String should have at most 500 characters; tags.3: Value error, …",
            code: .invalidInput),
        Row(
            name: "422 that echoes 50 KB",
            reply: .json(
                #"{"detail":[{"loc":["body","content"],"msg":"too long","input":""#
                    + String(repeating: "x", count: 50_000) + #""}]}"#, status: 422),
            kind: .invalidInput(message: "content: too long"), message: "Invalid input: content: too long.",
            code: .invalidInput),
        Row(
            name: "413", reply: .answer(413, ["Content-Type": "text/html"], "<h1>Payload too large</h1>"),
            kind: .invalidInput(message: "Content Too Large"), message: "Invalid input: Content Too Large.",
            code: .invalidInput),
        Row(
            name: "409",
            reply: .json(#"{"error":{"code":"STALE","message":"Changed meanwhile","details":{}}}"#, status: 409),
            kind: .conflict(message: "Changed meanwhile"), message: "Conflict: Changed meanwhile.", code: .conflict,
            serverCode: "STALE"),
        Row(
            name: "429 that waits too long",
            reply: .json(
                #"{"error":"rate_limit_exceeded","message":"30 per 1 minute","retry_after":null}"#, status: 429,
                headers: ["Retry-After": "61"]),
            kind: .rateLimitExceeded(retryAfter: .seconds(61)),
            message: "Too many requests. Try again in 61 seconds.", code: .rateLimited, heading: "Slow down",
            serverCode: "rate_limit_exceeded"),
        Row(
            name: "500",
            reply: .json(
                #"{"detail":"Failed to retrieve timeline: 400: Invalid cursor format."}"#, status: 500,
                headers: ["X-Error-Code": "INTERNAL_SERVER_ERROR"]),
            kind: .serverError(message: "Failed to retrieve timeline: 400: Invalid cursor format."),
            message: "Server error: Failed to retrieve timeline: 400: Invalid cursor format.", code: .serverError,
            serverCode: "INTERNAL_SERVER_ERROR"),
        Row(
            name: "500 with a row of the database in it",
            reply: .json(
                #"{"detail":"(psycopg2.Error) duplicate key\n[SQL: INSERT INTO items] [parameters: {'title': 'Mine'}]"}"#,
                status: 500),
            kind: .serverError(message: "(psycopg2.Error) duplicate key"),
            message: "Server error: (psycopg2.Error) duplicate key.", code: .serverError),
        Row(
            name: "500 without a body", reply: .answer(500, [:], ""),
            kind: .serverError(message: "Internal Server Error"), message: "Server error: Internal Server Error.",
            code: .serverError),
        Row(
            name: "502 of a proxy", reply: .answer(502, ["Content-Type": "text/html"], "<h1>Bad Gateway</h1>"),
            kind: .serviceUnavailable(reason: "Bad Gateway", retryAfter: nil),
            message: "Service temporarily unavailable: Bad Gateway.", code: .serviceUnavailable, requests: 3),
        Row(
            name: "503 not ready",
            reply: .json(#"{"detail":{"status":"not ready","checks":{"database":false}}}"#, status: 503),
            kind: .serviceUnavailable(reason: "not ready", retryAfter: nil),
            message: "Service temporarily unavailable: not ready.", code: .serviceUnavailable, requests: 3),
        Row(
            name: "503 with a long wait",
            reply: .json(
                #"{"error":{"code":"SERVICE_UNAVAILABLE","message":"maintenance"}}"#, status: 503,
                headers: ["Retry-After": "7200"]),
            kind: .serviceUnavailable(reason: "maintenance", retryAfter: .seconds(3_600)),
            message: "Service temporarily unavailable: maintenance.", code: .serviceUnavailable,
            serverCode: "SERVICE_UNAVAILABLE"),
        Row(
            name: "504", reply: .answer(504, [:], ""),
            kind: .serviceUnavailable(reason: "Gateway Timeout", retryAfter: nil),
            message: "Service temporarily unavailable: Gateway Timeout.", code: .serviceUnavailable, requests: 3),
        Row(
            name: "418",
            reply: .json(#"{"detail":{"error":{"code":"TEAPOT","message":"short and stout"}}}"#, status: 418),
            kind: .unknown(statusCode: 418, message: "short and stout"), message: "Error 418: short and stout.",
            code: .unexpectedStatus, serverCode: "TEAPOT"),
        Row(
            name: "a status that contradicts X-Error-Code wins",
            reply: .json(#"{"detail":"No"}"#, status: 401, headers: ["X-Error-Code": "ITEM_NOT_FOUND"]),
            kind: .unauthorized, message: "Invalid or expired API key. Please check your settings.",
            code: .unauthorized, heading: "Authentication required", serverCode: "ITEM_NOT_FOUND"),
        Row(
            name: "200 that is empty", reply: .json(""), kind: .decodingError(.empty),
            message: "Unable to process server response. The answer is empty.", code: .unexpectedShape),
        Row(
            name: "200 of a portal, by type",
            reply: .answer(200, ["Content-Type": "text/html; charset=utf-8"], "Log in"),
            kind: .decodingError(.portal),
            message:
                "Unable to process server response. A web page came instead of data: a network login page, or another "
                + "web site.", code: .portal),
        Row(
            name: "200 of a portal, by content", reply: .answer(200, [:], "\n <!doctype html>"),
            kind: .decodingError(.portal),
            message:
                "Unable to process server response. A web page came instead of data: a network login page, or another "
                + "web site.", code: .portal),
        Row(
            name: "200 that is not JSON", reply: .json(#"{"items":[}"#),
            kind: .decodingError(.notJSON("no JSON value at byte 10")),
            message: "Unable to process server response. It is not JSON: no JSON value at byte 10.",
            code: .unexpectedShape),
        Row(
            name: "200 without items", reply: .json("{}"),
            kind: .decodingError(.unexpectedShape("no items in the timeline")),
            message: "Unable to process server response. It is not what was asked for: no items in the timeline.",
            code: .unexpectedShape),
    ]

    @Test func aWrongKeyIsSaidToBeWrongAndWhereTheRightOneGoes() async throws {
        let server = try ScriptedServer(always: .json(#"{"error":"Invalid API key"}"#, status: 403))
        let test = try TestClient(server.url, .apiKey("fake-key"))
        let error = try #require(
            await apiError { () async throws(APIError) in try await test.client.session().account() })
        #expect(error.kind == .forbidden && error.code == .unauthorized)
        let told = error.userFacing
        #expect(told.message == "Wrong key: the server answers that it does not know this API key.")
        #expect(told.heading == "Authentication required")
        #expect(told.recoverySuggestion.description.contains("api_key_file"))
        #expect(told.recoverySuggestion.description.contains("prsnlctl whoami"))
    }

    @Test(arguments: [
        ScriptedServer.Reply.answer(403, ["Content-Type": "text/html"], "<h1>Forbidden: Invalid API key</h1>"),
        .json(#"{"message":"Invalid API key","request":"7"}"#, status: 403), .answer(403, [:], ""),
    ])
    func a403OfAProxyIsNoWrongKey(_ reply: ScriptedServer.Reply) async throws {
        let server = try ScriptedServer(always: reply)
        let test = try TestClient(server.url, .apiKey("fake-key"))
        let error = try #require(
            await apiError { () async throws(APIError) in try await test.client.session().account() })
        #expect(error.kind == .forbidden && error.code == .forbidden)
        #expect(error.userFacing.message.contains("perhaps not the server but a proxy"))
        #expect(!error.userFacing.recoverySuggestion.description.contains("api_key_file"))
    }

    @Test(arguments: rows)
    func anAnswerIsMappedAsTheTableSays(_ row: Row) async throws {
        let server = try ScriptedServer(always: row.reply)
        let test = try TestClient(server.url)
        let error = try #require(
            await apiError { () async throws(APIError) in
                try await test.client.session().timeline(TimelineRequest(.page(1), limit: 20))
            })
        #expect(error.kind == row.kind)
        #expect(error.code == row.code)
        #expect(error.serverCode == row.serverCode)
        #expect(error.mayHaveReachedServer)
        #expect(error.endpoint == "GET /api/timeline")
        #expect(error.userFacing.message == row.message)
        #expect(error.userFacing.heading == row.heading)
        #expect(error.userFacing.recoverySuggestion == row.code.recoverySuggestion)
        #expect(error.userFacing.consequence == "The copy stays as it is.")
        #expect(server.requests.count == row.requests, "the contract says what is asked again")
        let shown = "\(error) \(error.userFacing) \(test.log.all)"
        for secret in ["It's mine", "A secret thought", "Mine", "xxxxxxxx", "A bad tag"] {
            #expect(!shown.contains(secret))
        }
    }

    @Test func theRequestIDOfTheErrorIsTheOneThatWasSent() async throws {
        let server = try ScriptedServer(always: .json("{}", status: 500))
        let test = try TestClient(server.url)
        let error = await apiError { () async throws(APIError) in try await test.client.session().account() }
        #expect(error?.requestID == server.requests[0].headers["x-request-id"])
        #expect(error?.requestID.utf8.count == 36)
        #expect(error?.userFacing.cause?.contains("GET /api/auth/me, status 500") == true)
    }

    @Test func aRefusedLoginIsNotCalledAKey() {
        var error = APIError(
            kind: .unauthorized, endpoint: "POST /api/capture", status: 401, requestID: "r", mayHaveReachedServer: true)
        #expect(error.userFacing.message.contains("API key"))
        error.isOfLogin = true
        #expect(error.userFacing.message == "The server refuses the login.")
        #expect(error.userFacing.nextCommand == "prsnlctl login" && error.userFacing.code == .unauthorized)
    }
}
