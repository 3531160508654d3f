/// Numbers that others chose: a prepared file, a daemon that was taken over, a server. Arithmetic on them must not end the
/// program (a Swift integer that overflows does), so they are clamped where they are decoded.
package enum ForeignNumber {
    /// More than any count, size or time of ours, and so far from what 64 bits hold that sums and thousands of it fit.
    package static let largest = 1_000_000_000_000_000

    package static func clamp(_ number: Int64) -> Int { min(max(Int(number), -largest), largest) }

    /// Whole; 0 for what is no number.
    package static func clamp(_ number: Double) -> Int {
        number.isNaN ? 0 : Int(min(max(number, -Double(largest)), Double(largest)))
    }
}
