import CCurl

// What libcurl tells of a transfer.
extension Transfer {
    var status: Int? {
        let code = long(CURLINFO_RESPONSE_CODE)
        return code > 0 ? code : nil
    }

    private var requestSize: Int { long(CURLINFO_REQUEST_SIZE) }
    private var uploaded: Int { offset(CURLINFO_SIZE_UPLOAD_T) }
    /// A small body is sent with the headers and counted in both figures, hence not added.
    var bytesSent: Int { max(requestSize, uploaded) }
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
        guard curl_easy_header(easy, name, 0, UInt32(CURLH_HEADER), -1, &found) == CURLHE_OK, let found else {
            return nil
        }
        return String(cString: found.pointee.value)
    }
}
