/// Why a value is not taken, to be read after the key's name: "is not a duration".
package struct Rejection: Error, Sendable, Equatable {
    package let reason: String
    package init(_ reason: String) { self.reason = reason }
}
