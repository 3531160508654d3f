/// What is the same for every request of a client.
struct CurlOptions: Sendable {
    var proxy: String?
    var caFile: String?
    var connectTimeout: Duration = .seconds(10)
    var stallTimeout: Duration = .seconds(30)
    var userAgent = "prsnld"
    /// Takes the wire trace; `nil` for none.
    var trace: (@Sendable (String) -> Void)?

    init() {}

    init(_ configuration: ClientConfiguration) {
        proxy = configuration.proxy
        caFile = configuration.caFile
        connectTimeout = configuration.connectTimeout
        stallTimeout = configuration.stallTimeout
        userAgent = configuration.userAgent
    }
}
