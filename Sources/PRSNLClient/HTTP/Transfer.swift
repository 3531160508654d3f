import CCurl
import Glibc
import PRSNLCore

/// One libcurl easy handle with its buffers: a request under way, or waiting in the pool for the next one.
final class Transfer {
    /// How a transfer ended.
    enum End {
        case done(CURLcode)
        case stalled
        case cancelled
        /// The network went away.
        case offline
    }

    /// Of an error's body so much is kept: validation errors echo the input, which may have 50 KB.
    static let keptErrorBytes = 128 << 10
    /// All headers of an answer, those before and after it too: trailers and 1xx have no limit of libcurl's own.
    static let headerLimit = 256 << 10
    /// CPU that this thread may use to read an answer: beyond that, for each byte of it. Ordinary answers take a tenth.
    private static let longestReading: Int64 = 500_000_000  // nanoseconds
    private static let readingOfByte: Int64 = 50
    /// libcurl's receive buffer. The default; larger ones cost memory and save nothing measurable on 84 KB pages.
    private static let receiveBuffer = 32 << 10

    /// How long libcurl remembers an address: its default.
    private static let nameSeconds = 60

    let easy: UnsafeMutableRawPointer
    private(set) var job: CurlLoop.Job?
    /// When the transfer counts as stalled, on the monotonic clock in milliseconds.
    private(set) var stallDeadline: Int64 = .max

    let configuration: ClientConfiguration
    private let lastAddress: CurlLoop.LastAddress
    private let meter: CPUMeter
    let stallMilliseconds: Int64
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var headers: UnsafeMutablePointer<curl_slist>?
    /// What has happened to the request under way.
    private var course = Course()
    private var takesTooLong: Bool {
        course.reading > Self.longestReading + Self.readingOfByte * Int64(course.received)
    }
    /// A connection stood, and the request was about to be sent.
    var hasStarted: Bool { course.starts > 0 }

    private struct Course {
        var body: [UInt8] = []
        var keptLimit = 0
        /// Bytes of the body, decompressed.
        var received = 0
        var isTooLarge = false
        var headerBytes = 0
        var encodings = Encodings()
        /// CPU of this thread since the request was sent, in nanoseconds.
        var reading: Int64 = 0
        /// How often libcurl began to send the request: more than once when it repeats it by itself on a new connection.
        var starts = 0
        var refusedRepeat = false
        /// Bytes of headers and upload when progress was looked at last, and those with the compressed body's.
        var progressMark = 0
        var moved = 0
    }

    /// The transfer that a handle belongs to.
    static func of(_ easy: UnsafeMutableRawPointer?) -> Transfer? {
        var pointer: UnsafeMutableRawPointer?
        guard let easy, prsnl_getinfo_pointer(easy, CURLINFO_PRIVATE, &pointer) == CURLE_OK, let pointer else {
            return nil
        }
        return Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
    }

    init?(_ configuration: ClientConfiguration, lastAddress: CurlLoop.LastAddress, meter: CPUMeter) {
        guard let easy = prsnl_easy_init() else { return nil }
        self.easy = easy
        self.configuration = configuration
        self.lastAddress = lastAddress
        self.meter = meter
        stallMilliseconds = max(1, configuration.stallTimeout.wholeMilliseconds)
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        // An option that cannot be set must not be missing in silence: the protocol limit and the guard against
        // repeated writes are among them.
        guard configure() else { return nil }
    }

    deinit {
        prsnl_easy_cleanup(easy)
        prsnl_slist_free_all(headers)
        errorText.deallocate()
    }

    /// The options that every request has; libcurl keeps them from one transfer to the next.
    private func configure() -> Bool {
        let selfPointer = Unmanaged.passUnretained(self).toOpaque()
        let hasCAFile = configuration.caFile != nil || prsnl_version_info(CURLVERSION_SEVENTH)?.pointee.cainfo != nil
        let codes = [
            prsnl_setopt_pointer(easy, CURLOPT_PRIVATE, selfPointer),
            prsnl_setopt_pointer(easy, CURLOPT_ERRORBUFFER, errorText),
            prsnl_setopt_long(easy, CURLOPT_NOSIGNAL, 1),
            prsnl_setopt_string(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
            prsnl_setopt_long(easy, CURLOPT_FOLLOWLOCATION, 0),
            // What is asked for is asked for: libcurl would take `..` for the folder above.
            prsnl_setopt_long(easy, CURLOPT_PATH_AS_IS, 1),
            prsnl_setopt_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS),
            // Of what libcurl knows besides, an answer may ask for a memory of 128 MiB: a window of zstd.
            prsnl_setopt_string(easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate"),
            prsnl_setopt_long(easy, CURLOPT_BUFFERSIZE, Self.receiveBuffer),
            prsnl_setopt_long(easy, CURLOPT_SSL_VERIFYPEER, 1),
            prsnl_setopt_long(easy, CURLOPT_SSL_VERIFYHOST, 2),
            // Otherwise a cancelled transfer waits for its resolver thread: 9.5 s and more with a dead name server.
            prsnl_setopt_long(easy, CURLOPT_QUICK_EXIT, 1),
            prsnl_setopt_long(
                easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(configuration.connectTimeout.wholeMilliseconds))),
            prsnl_setopt_string(easy, CURLOPT_USERAGENT, configuration.userAgent),
            configuration.proxy.map { prsnl_setopt_string(easy, CURLOPT_PROXY, $0) } ?? CURLE_OK,
            configuration.caFile.map { prsnl_setopt_string(easy, CURLOPT_CAINFO, $0) } ?? CURLE_OK,
            // libcurl shares the parsed certificates between connections only without a directory of them beside the file.
            hasCAFile ? prsnl_setopt_pointer(easy, CURLOPT_CAPATH, nil) : CURLE_OK,
            prsnl_setopt_pointer(easy, CURLOPT_WRITEDATA, selfPointer),
            prsnl_setopt_data(easy, CURLOPT_WRITEFUNCTION) { pointer, size, count, context in
                Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
                    .receive(UnsafeRawBufferPointer(start: pointer, count: size * count))
            },
            prsnl_setopt_pointer(easy, CURLOPT_HEADERDATA, selfPointer),
            prsnl_setopt_header(easy) { pointer, size, count, context in
                Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
                    .receiveHeader(UnsafeRawBufferPointer(start: pointer, count: size * count))
            },
            prsnl_setopt_pointer(easy, CURLOPT_PREREQDATA, selfPointer),
            prsnl_setopt_prereq(easy) { context, address, _, _, _ in
                Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue().begin(address)
            },
            prsnl_setopt_long(easy, CURLOPT_NOPROGRESS, 0),
            prsnl_setopt_pointer(easy, CURLOPT_XFERINFODATA, selfPointer),
            prsnl_setopt_progress(easy) { context, _, downloaded, _, uploaded in
                Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
                    .progress(downloaded: Int(downloaded), uploaded: Int(uploaded))
            },
        ]
        return codes.allSatisfy { $0 == CURLE_OK }
    }

    /// Sets what differs between requests.
    func prepare(_ job: CurlLoop.Job, body spare: [UInt8]) -> Bool {
        self.job = job
        course.body = spare
        errorText[0] = 0
        stallDeadline = .max
        let request = job.request
        for line in request.headers {
            guard let longer = prsnl_slist_append(headers, line) else { return false }
            headers = longer
        }
        var codes = [
            prsnl_setopt_string(easy, CURLOPT_URL, request.url),
            prsnl_setopt_pointer(easy, CURLOPT_HTTPHEADER, headers),
            prsnl_setopt_long(easy, CURLOPT_TIMEOUT_MS, max(1, Int(request.totalTimeout.wholeMilliseconds))),
            prsnl_setopt_off(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(request.answerLimit)),
            prsnl_setopt_long(easy, CURLOPT_FRESH_CONNECT, request.isProbe ? 1 : 0),
            prsnl_setopt_long(easy, CURLOPT_DNS_CACHE_TIMEOUT, request.isProbe ? 0 : Self.nameSeconds),
        ]
        if let content = request.body {
            codes += [
                prsnl_setopt_long(easy, CURLOPT_POST, 1),
                prsnl_setopt_off(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(content.count)),
                content.withUnsafeBytes { prsnl_setopt_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) },
            ]
        } else {
            codes.append(prsnl_setopt_long(easy, CURLOPT_HTTPGET, 1))
        }
        let isPlain = request.method == (request.body == nil ? "GET" : "POST")
        codes.append(prsnl_setopt_string(easy, CURLOPT_CUSTOMREQUEST, isPlain ? nil : request.method))
        return codes.allSatisfy { $0 == CURLE_OK }
    }

    /// Back to the state in which the pool keeps it.
    func reset() {
        job = nil
        course = Course()
        // The list is freed here, so the handle must not point at it.
        _ = prsnl_setopt_pointer(easy, CURLOPT_HTTPHEADER, nil)
        prsnl_slist_free_all(headers)
        headers = nil
    }

    // MARK: Called by libcurl

    /// A connection is there and the request is about to be sent.
    ///
    /// - Parameter address: the other end's: the server's, or the proxy's.
    private func begin(_ address: UnsafePointer<CChar>?) -> Int32 {
        course.starts += 1
        if let address { lastAddress.note(address) }
        if course.starts > 1, job?.request.isWrite == true {
            // A kept-alive connection died before an answer came. libcurl would send the write again and report success,
            // though the first one may have been applied.
            course.refusedRepeat = true
            return CURL_PREREQFUNC_ABORT
        }
        stallDeadline = CurlDriver.monotonicMilliseconds() + stallMilliseconds
        return CURL_PREREQFUNC_OK
    }

    private func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        course.headerBytes += line.count
        course.encodings.read(line)
        // With another number, libcurl ends the transfer with CURLE_WRITE_ERROR.
        return course.headerBytes <= Self.headerLimit && course.encodings.areExpected ? line.count : 0
    }

    private func receive(_ chunk: UnsafeRawBufferPointer) -> Int {
        if course.received == 0 { expectBody() }
        course.received += chunk.count
        guard course.received <= answerLimit else {
            course.isTooLarge = true
            return 0  // likewise
        }
        course.body.append(contentsOf: chunk.prefix(max(0, course.keptLimit - course.body.count)))
        stallDeadline = CurlDriver.monotonicMilliseconds() + stallMilliseconds
        return chunk.count
    }

    private var answerLimit: Int { job?.request.answerLimit ?? 0 }

    private func expectBody() {
        course.keptLimit = status ?? 0 >= 400 ? Self.keptErrorBytes : answerLimit
        var length: curl_off_t = 0
        _ = prsnl_getinfo_off(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length)
        // A claim, and not more: a server that lies must not make us allocate what it says.
        if length > 0 { course.body.reserveCapacity(min(Int(length), course.keptLimit, 1 << 20)) }
    }

    /// Headers and uploads count as progress in the moment in which their bytes move: libcurl calls this whenever any do,
    /// and now and then besides.
    ///
    /// - Returns: other than 0 to end the transfer.
    private func progress(downloaded: Int, uploaded: Int) -> Int32 {
        let mark = uploaded + long(CURLINFO_HEADER_SIZE)
        // Where nothing has come, nothing was read, and the kernel need not be asked for the time that it took.
        if course.starts > 0, mark + downloaded == course.moved { return takesTooLong ? 1 : 0 }
        course.moved = mark + downloaded
        let used = meter.lap()
        // The connection's own cost is not the answer's: certificates are read once.
        guard course.starts > 0 else { return 0 }
        course.reading += used
        if mark != course.progressMark {
            course.progressMark = mark
            stallDeadline = CurlDriver.monotonicMilliseconds() + stallMilliseconds
        }
        return takesTooLong ? 1 : 0
    }
}

// MARK: - The end

extension Transfer {
    /// What became of the request. To be called once, while the handle still belongs to the multi handle.
    func outcome(_ end: End) -> HTTPOutcome {
        var microseconds: curl_off_t = 0
        _ = prsnl_getinfo_off(easy, CURLINFO_TOTAL_TIME_T, &microseconds)
        return HTTPOutcome(
            result: result(end), bytesSent: bytesSent, bytesReceived: bytesReceived,
            duration: .microseconds(Int64(microseconds)),
            connectionReused: course.starts > 0 && long(CURLINFO_NUM_CONNECTS) == 0,
            timings: job?.request.isProbe == true ? timings : nil)
    }

    private func result(_ end: End) -> Result<HTTPAnswer, TransportFailure> {
        switch end {
        case .done(CURLE_OK): .success(answer())
        case .done(let code) where course.refusedRepeat:
            failure(
                .networkError(.cutOff), "the connection was lost before an answer came (code \(code.rawValue))", code)
        case .done where course.isTooLarge:
            failure(
                .networkError(.answerTooLarge(limit: answerLimit)), "the answer is longer than \(answerLimit) bytes")
        case .done where !course.encodings.areExpected:
            failure(
                .decodingError(
                    .notJSON("the answer is encoded more than once, or in a way that was not asked for")), "encoding")
        case .done where takesTooLong:
            failure(.decodingError(.notJSON("to read the answer takes too long")), "more CPU than an answer may use")
        case .done where course.headerBytes > Self.headerLimit:
            failure(
                .decodingError(.notJSON("the answer has more than \(Self.headerLimit >> 10) KiB of headers")),
                "too many headers")
        case .done(let code):
            failure(
                Self.kind(code, hasStarted: hasStarted, hasAddress: hasAddress, answerLimit: answerLimit),
                words(code), code)
        case .stalled:
            failure(.networkError(.timedOut), "no progress for \(stallMilliseconds) ms")
        case .cancelled:
            failure(.networkError(.cancelled), "cancelled")
        case .offline:
            failure(.networkError(.offline), "ended because the network went away")
        }
    }

    private func failure(
        _ kind: APIError.Kind, _ detail: String, _ code: CURLcode? = nil
    ) -> Result<HTTPAnswer, TransportFailure> {
        // PREREQ ran: there was a connection. Whether bytes went over it, libcurl counts as it hands them to the socket.
        let reached = course.starts > 0 && (bytesSent > 0 || status != nil)
        return .failure(
            TransportFailure(
                kind: kind, mayHaveReachedServer: reached, status: status, fault: fault(kind, code), detail: detail))
    }

    private func answer() -> HTTPAnswer {
        var answer = HTTPAnswer(status: status ?? 0, body: course.body)
        course.body = []
        answer.contentType = string(CURLINFO_CONTENT_TYPE)
        answer.etag = header("ETag")
        // With an Age it is the date of a cache's copy, perhaps of half an hour ago: RFC 9111 section 5.1.
        answer.age = header("Age").flatMap { Int($0) }
        answer.date = header("Age") == nil ? header("Date") : nil
        if answer.status >= 300 {
            answer.retryAfter = header("Retry-After")
            answer.errorCode = header("X-Error-Code")
            answer.redirect = string(CURLINFO_REDIRECT_URL)
        }
        return answer
    }
}

// What libcurl tells of a transfer.
extension Transfer {
    var status: Int? {
        let code = long(CURLINFO_RESPONSE_CODE)
        return code > 0 ? code : nil
    }

    /// A small body is sent with the headers and counted in both figures, hence not added.
    var bytesSent: Int { max(long(CURLINFO_REQUEST_SIZE), offset(CURLINFO_SIZE_UPLOAD_T)) }
    var bytesReceived: Int { long(CURLINFO_HEADER_SIZE) + offset(CURLINFO_SIZE_DOWNLOAD_T) }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        _ = prsnl_getinfo_long(easy, info, &value)
        return value
    }

    func offset(_ info: CURLINFO) -> Int {
        var value: curl_off_t = 0
        _ = prsnl_getinfo_off(easy, info, &value)
        return Int(value)
    }

    func string(_ info: CURLINFO) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard prsnl_getinfo_string(easy, info, &value) == CURLE_OK, let value else { return nil }
        return String(cString: value)
    }

    /// The last header of that name in the last answer (not of a proxy's CONNECT, and not a trailer).
    func header(_ name: String) -> String? {
        var found: UnsafeMutablePointer<curl_header>?
        guard prsnl_easy_header(easy, name, 0, UInt32(CURLH_HEADER), -1, &found) == CURLHE_OK, let found else {
            return nil
        }
        return String(cString: found.pointee.value)
    }
}
