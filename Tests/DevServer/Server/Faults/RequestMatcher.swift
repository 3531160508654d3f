/// Which requests a fault or a wait is about.
package struct RequestMatcher: Sendable {
    package let matches: @Sendable (LoggedRequest) -> Bool

    package init(_ matches: @escaping @Sendable (LoggedRequest) -> Bool) {
        self.matches = matches
    }

    /// Every request.
    package static let any = RequestMatcher { _ in true }
    package static let timeline = path("/api/timeline")
    /// `GET /api/items/{id}` of any item.
    package static let item = RequestMatcher { $0.method == "GET" && $0.path.hasPrefix("/api/items/") }
    /// Creating an item, in any dialect.
    package static let capture = RequestMatcher {
        $0.method == "POST" && ($0.path == "/api/capture" || $0.path == "/api/items")
    }
    package static let checkDuplicate = path("/api/capture/check-duplicate", method: "POST")
    package static let account = path("/api/auth/me")
    package static let login = path("/api/auth/login")
    package static let refresh = path("/api/auth/refresh")
    package static let health = path("/api/health")
    /// Creating, editing or deleting an item, in any dialect: what is applied.
    package static let change = RequestMatcher { request in
        capture.matches(request)
            || ["PATCH", "PUT", "DELETE"].contains(request.method) && request.path.hasPrefix("/api/items/")
    }
    /// Anything but GET and HEAD, questions and logins included.
    package static let write = RequestMatcher { $0.method != "GET" && $0.method != "HEAD" }

    /// A path without its query, exactly. `method` `nil` for any.
    package static func path(_ path: String, method: String? = nil) -> RequestMatcher {
        RequestMatcher { $0.path == path && (method == nil || $0.method == method) }
    }

    /// A path that begins so.
    package static func path(prefix: String, method: String? = nil) -> RequestMatcher {
        RequestMatcher { $0.path.hasPrefix(prefix) && (method == nil || $0.method == method) }
    }

    /// Narrows.
    package func and(_ condition: @escaping @Sendable (LoggedRequest) -> Bool) -> RequestMatcher {
        let matches = matches
        return RequestMatcher { matches($0) && condition($0) }
    }
}
