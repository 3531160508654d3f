import PRSNLCore

/// Faults that a storm needs besides the scripted ones.
package enum StormFault: Sendable, Equatable {
    /// A capture is checked at once and inserted so much later, whether or not the client still waits, and without another
    /// look at what is there by then: the real server fetches videos and previews in between.
    case slowInsert(Duration)
    /// Applied at once, and answered so much later.
    case lateAnswer(Duration)
    /// The item is inserted with so many of its tags, and 500 answered: item and tags are separate statements.
    case halfInsert(tags: Int)
    /// A page of the timeline that says two things at once.
    case contradiction(Contradiction)

    package enum Contradiction: String, Sendable, CaseIterable {
        /// No items, and there is more.
        case emptyWithMore
        /// The first half of the items, and there is more.
        case halfWithMore
        /// The cursor is not the last item's time. On the other dialects the total is another one.
        case otherPlace
        /// A full page, and nothing after it. On the other dialects fewer items in all than the page has.
        case fullAndLast
    }

    var name: String {
        switch self {
        case .slowInsert: "slowInsert"
        case .lateAnswer: "lateAnswer"
        case .halfInsert: "halfInsert"
        case .contradiction(let kind): kind.rawValue
        }
    }
}

extension HTTPRequest {
    /// Its body with only the first of its tags.
    func keepingTags(_ count: Int) -> HTTPRequest {
        guard let value = try? JSONValue(body), case .object(var members) = value,
            case .array(let tags)? = members["tags"]
        else { return self }
        var request = self
        members["tags"] = .array(Array(tags.prefix(count)))
        request.body = Array(JSONValue.object(members).text.utf8)
        return request
    }
}

extension HTTPResponse {
    /// Makes a page of the timeline contradict itself. One that is no page stays as it is.
    mutating func contradict(_ kind: StormFault.Contradiction) {
        guard status == 200, let value = try? JSONValue(body), case .object(var members) = value,
            case .array(let items)? = members["items"]
        else { return }
        let cursor = items.last.flatMap { item -> JSONValue? in
            guard case .object(let fields) = item else { return nil }
            return fields["createdAt"]
        }
        let isCursor = members["next_cursor"] != nil
        switch kind {
        case .emptyWithMore:
            members["items"] = .array([])
            if isCursor, let cursor { members["next_cursor"] = cursor }
        case .halfWithMore:
            members["items"] = .array(Array(items.prefix(items.count / 2)))
            if isCursor, let cursor { members["next_cursor"] = cursor }
        case .otherPlace:
            if isCursor {
                members["next_cursor"] = .string("2025-01-01T00:00:10+00:00")
            } else {
                for name in ["total", "totalResults"] where members[name] != nil { members[name] = .number("3") }
            }
        case .fullAndLast:
            if isCursor {
                members["next_cursor"] = .null
            } else {
                for name in ["total", "totalResults"] where members[name] != nil {
                    members[name] = .number("\(max(0, items.count - 1))")
                }
            }
        }
        set(200, JSONValue.object(members).text)
        headers.removeAll { $0.name == "etag" }
    }
}
