/// Numbers as people read them.
package enum Count {
    /// `12,345`
    package static func text(_ number: Int) -> String {
        var digits = Array(String(number.magnitude))
        var at = digits.count - 3
        while at > 0 {
            digits.insert(",", at: at)
            at -= 3
        }
        return (number < 0 ? "-" : "") + String(digits)
    }

    /// `1 item`, `2 items`
    package static func text(_ number: Int, _ noun: String) -> String {
        "\(text(number)) \(noun)\(number == 1 ? "" : "s")"
    }
}
