import DevServer
import PRSNLCore

/// The command line, read.
struct Arguments {
    struct Invalid: Error {
        let message: String
    }

    static let help = """
        Usage: prsnl-devserver [OPTION]...

        Serves the PRSNL HTTP API from memory: for development, tests, the demo and benchmarks.
        The first line on stdout is "listening on http://ADDRESS:PORT". SIGTERM and SIGINT end it.

          --items N            how many items to make up (default 5000)
          --dialect C|P|E      the form of the API to speak (default C)
          --address IP         where to listen, IPv4 or IPv6 (default 127.0.0.1)
          --port N             0 for any free port (default 0)
          --ties N             so many items share each createdAt (default 1)
          --seed N             other items for another number (default 1)
          --token FILE         write a valid login token to FILE (dialect C), mode 600; one that is there stays valid
          --token-lifetime S   seconds until a login token expires (default 1800; with --token: one year)
          --login-lifetime S   the same for the tokens of a login alone
          --api-key KEY        the key to ask for (dialects P and E; default fake-owner-api-key)
          --api-key-file FILE  write that key to FILE, mode 600
          --bearer-key         accept the key only as "Authorization: Bearer"
          --others N           make up N items of another account and of the test user too
          --page-cost MS       how long each page of the timeline takes
          --item-cost US       how long each page takes for every item there is: 6.6 is like the real server
          --mutate [N]         change something with every N-th page that is read (default 1)
          --settle S           captured items are worked on for S seconds (default 3)
          --capture-limit N    captures in a minute, dialect C (default 30; 0: any number)
          --patch-works        PATCH changes items in place of answering 500 (dialect C)
          --hide-captured      captured items are hidden until they are worked on
          --texts MIN-MAX      make up the texts of items, each of so many bytes: 100-8M (dialects C and P)
          --item-cache S       answers of GET /api/items/ID are kept for S seconds; only PATCH clears them
          --state FILE         keep items and logins in FILE, so that they outlive the server and a kill -9 of it
          --clock-ahead S      the server's clock is S seconds ahead of the machine's, or behind (-S)
          --storm SEED         let requests fail by chance from the start, in all the ways that there are
          --storm-rate P       so many of the writes (default 0.3), and a quarter of it of the other requests
          --storm-slow MS      the longest that an INSERT is late in a storm (default 800)
          --ready-file FILE    write the URL to FILE when ready
          --log                print each request on stderr
          --dump               print all items as ID<TAB>CREATED<TAB>UPDATED, newest first, and exit
          --help               print this

        While it runs:
          GET  /__dev/items              the server's own list, one JSON object a line, newest first
          GET  /__dev/items.tsv          ID<TAB>CREATED<TAB>UPDATED
          GET  /__dev/requests           how many requests were answered, by endpoint
          GET  /__dev/writes             how many writes were applied, answered or not
          GET  /__dev/text?id=ID         the text that the item really has, text/plain; 204 without one; with version=N,
                                         the text that is made up for it when its updatedAt is N µs
          GET  /__dev/captures           what was captured, as it came in, one JSON object a line
          POST /__dev/add?count=N        add new items; with at=TIME, items of that time
          POST /__dev/edit?index=N       change the N-th newest item (or id=ID); title=TEXT, content=TEXT
          POST /__dev/delete?index=N     delete it; count=N for several; cached=1: GET by id still finds it
          POST /__dev/hide?id=ID         hide it as if it was being processed; /__dev/show brings it back
          POST /__dev/settle             finish what was captured
          POST /__dev/expire-tokens      let all login tokens expire
          POST /__dev/clear-cache        GET by id shows what there is now, and no deleted item any more
          POST /__dev/clock?ahead=S      set the server's clock: S seconds ahead of the machine's, or behind (-S)
          POST /__dev/restore?size=N     put a backup back: the items as they were when the FILE of --state had N bytes
          POST /__dev/quirks?NAME=VALUE  capture-limit=N and capture-window=S (seconds, 60 at the start), item-cache=S,
                                         hide-versions=1 (GET by id does not say when the item was updated)
          POST /__dev/fault?kind=KIND    let requests fail: kind=status&status=503, rate-limit&seconds=N, portal,
                                         garbage, empty, empty-object, close, close-after, die, stall,
                                         error-after&status=N (applied, and then an error),
                                         truncate&bytes=N, delay&ms=N, redirect&to=URL,
                                         lie&lie=halfWithCursor (and others), aged&seconds=N;
                                         path=PATH (default /api/timeline; PREFIX* too), method=GET (default
                                         all), times=N (default 1; 0: all), skip=N
          POST /__dev/random-fault?probability=P&seed=N
                                         let writes be lost at random, before or after they are applied
          POST /__dev/storm?seed=N&rate=P&slow=MS
                                         the same as --storm; rate=0 ends it
          POST /__dev/clear-faults       end them

        """

    var items = 5_000
    var ties = 1
    var seed: UInt64 = 1
    var others = 0
    var configuration = DevServer.Configuration()
    var tokenFile: String?
    var tokenLifetime: Int?
    var loginLifetime: Int?
    var apiKeyFile: String?
    var readyFile: String?
    var textSizes: ClosedRange<Int>?
    var stormSeed: UInt64?
    var stormRate = 0.3
    var stormSlow = 800
    var logs = false
    var dumps = false
    var asksForHelp = false

    init(_ words: [String]) throws(Invalid) {
        configuration.settling = .after(.seconds(3))
        configuration.requestLogLimit = 0
        var rest = words[...]
        while let word = rest.popFirst() {
            let option: String
            var attached: String?
            if let equals = word.firstIndex(of: "="), word.hasPrefix("--") {
                option = String(word[..<equals])
                attached = String(word[word.index(after: equals)...])
            } else {
                option = word
            }
            try read(option, attached: attached, rest: &rest)
        }
        configuration.texts = textSizes.map { .init(bytes: $0, seed: seed) }
        if let stormSeed {
            configuration.storm = .init(seed: stormSeed, rate: stormRate, slowest: .milliseconds(stormSlow))
        }
    }

    private mutating func read(_ option: String, attached: String?, rest: inout ArraySlice<String>) throws(Invalid) {
        func value() throws(Invalid) -> String {
            guard let value = attached ?? rest.popFirst() else { throw Invalid(message: "\(option) needs a value") }
            return value
        }
        func number<Number: LosslessStringConvertible & Comparable & ExpressibleByIntegerLiteral>(
            _ type: Number.Type
        ) throws(Invalid) -> Number {
            let text = try value()
            guard let number = Number(text), number >= 0 else {
                throw Invalid(message: "\(option): \"\(text)\" is not a number that can be used")
            }
            return number
        }
        switch option {
        case "--items": items = try number(Int.self)
        case "--dialect": configuration.dialect = try dialect(value())
        case "--address": configuration.address = try value()
        case "--port": configuration.port = try number(UInt16.self)
        case "--ties": ties = max(1, try number(Int.self))
        case "--seed": seed = try number(UInt64.self)
        case "--token": tokenFile = try value()
        case "--token-lifetime": tokenLifetime = try number(Int.self)
        case "--login-lifetime": loginLifetime = try number(Int.self)
        case "--clock-ahead":
            let text = try value()
            guard let ahead = Double(text) else { throw Invalid(message: "--clock-ahead: \"\(text)\" is not a number") }
            configuration.clockAhead = .microseconds(Int64(ahead * 1_000_000))
        case "--api-key": configuration.accounts[0].apiKey = try value()
        case "--api-key-file": apiKeyFile = try value()
        case "--bearer-key": configuration.quirks.bearerKeysOnly = true
        case "--others": others = try number(Int.self)
        case "--page-cost": configuration.pageCost = .fixed(.microseconds(Int64(try number(Double.self) * 1_000)))
        case "--item-cost": configuration.pageCost = .perItem(.nanoseconds(Int64(try number(Double.self) * 1_000)))
        case "--mutate":
            var every = 1
            if let text = attached ?? rest.first, let number = Int(text) {
                every = number
                if attached == nil { rest.removeFirst() }
            }
            configuration.mutation = .init(everyRequests: every, seed: seed)
        case "--settle": configuration.settling = .after(.milliseconds(Int64(try number(Double.self) * 1_000)))
        case "--capture-limit":
            let limit = try number(Int.self)
            configuration.quirks.capturesPerMinute = limit == 0 ? nil : limit
        case "--patch-works": configuration.quirks.patchFails = false
        case "--hide-captured": configuration.quirks.hidesCaptured = true
        case "--texts": textSizes = try sizes(value())
        case "--item-cache":
            configuration.quirks.itemCache = .milliseconds(Int64(try number(Double.self) * 1_000))
        case "--state": configuration.journal = try value()
        case "--storm": stormSeed = try number(UInt64.self)
        case "--storm-rate": stormRate = try number(Double.self)
        case "--storm-slow": stormSlow = try number(Int.self)
        case "--ready-file": readyFile = try value()
        case "--log": logs = true
        case "--dump": dumps = true
        case "--help", "-h": asksForHelp = true
        default: throw Invalid(message: "unknown option \(option)")
        }
    }

    private func dialect(_ text: String) throws(Invalid) -> Dialect {
        guard let dialect = Dialect(rawValue: text.uppercased()) else {
            throw Invalid(message: "--dialect: \"\(text)\" is none of C, P, E")
        }
        return dialect
    }

    /// "100-8M": a K is 1,024 bytes, an M 1,024 K.
    private func sizes(_ text: String) throws(Invalid) -> ClosedRange<Int> {
        let ends = text.split(separator: "-").compactMap { end -> Int? in
            let unit = ["K": 1 << 10, "M": 1 << 20][end.suffix(1).uppercased()]
            guard let number = Int(unit == nil ? end : end.dropLast()), number <= 1 << 30 else { return nil }
            return number * (unit ?? 1)
        }
        guard ends.count == 2, ends[0] <= ends[1] else {
            throw Invalid(message: "--texts: \"\(text)\" is no range of sizes such as 100-8M")
        }
        return ends[0]...ends[1]
    }
}
