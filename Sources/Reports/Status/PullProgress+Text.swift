package import Console
import PRSNLCore

extension PullProgress {
    /// `backfill: 12,300 of 50,000 items, 123 pages, 1,230 items/s`
    package var statusText: String {
        // Texts come one by one, and not in pages.
        var parts =
            kind == "texts"
            ? [amount, "\(Figures.rate(rate))"] : [amount, Figures.count(pages, "page"), Figures.rate(rate)]
        if let position { parts.append("at \(Figures.time(position))") }
        return "\(SafeText.harmless(kind)): \(parts.joined(separator: ", "))"
    }

    private var amount: String {
        guard let expectedItems else { return Figures.count(items, "item") }
        return "\(Figures.count(items)) of \(Figures.count(expectedItems, "item"))"
    }

    /// Seconds to go at this rate; `nil` where that cannot be known.
    var remaining: Duration? {
        guard let expectedItems, expectedItems > items, rate.isFinite, rate > 0 else { return nil }
        let seconds = Double(expectedItems - items) / rate
        return seconds < 1e9 ? .seconds(Int(seconds)) : nil
    }

    /// One line to be rewritten in place, no wider than the terminal less one column (a cursor in the last column wraps).
    package func bar(_ style: TextStyle) -> String {
        let limit = style.width - 1
        var figures = "\(amount)  \(Figures.rate(rate))"
        if let remaining { figures += "  \(Figures.duration(remaining)) left" }
        let name = SafeText.harmless(kind)
        let room = limit - name.count - figures.count - 6
        guard let expectedItems, expectedItems > 0, room >= 10 else {
            return String("\(name)  \(figures)".prefix(limit))
        }
        let size = min(room, 30)
        let filled = max(0, min(size, Int(Double(size) * Double(items) / Double(expectedItems))))
        let (full, empty) = style.isUTF8 ? ("█", "░") : ("#", "-")
        let bar = String(repeating: full, count: filled) + String(repeating: empty, count: size - filled)
        return "\(name)  [\(bar)]  \(figures)"
    }
}
