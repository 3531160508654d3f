package import PRSNLCore

extension DevItem {
    /// The time of the oldest generated item: 2025-01-01T00:00:00Z.
    package static let generationStart = Timestamp(microseconds: 1_735_689_600_000_000)

    /// Realistic items, about 800 bytes of JSON each, newest first. The same for the same arguments.
    ///
    /// One time in eight has no fraction of a second. Times lie about 20 s apart. Any field that may be null
    /// sometimes is.
    ///
    /// - Parameters:
    ///   - tieGroup: so many items share each createdAt. The newest group may be smaller.
    ///   - start: the time of the oldest item.
    package static func generate(
        count: Int, seed: UInt64 = 1, tieGroup: Int = 1, start: Timestamp = generationStart,
        owner: String = DevAccount.owner.id
    ) -> [DevItem] {
        (0..<count).reversed().map { index in
            let group = index / max(1, tieGroup)
            var random = ItemRandom(state: mix(seed) ^ UInt64(group) &* 0xD6E8_FEB8_6659_FD93)
            let fraction = random.below(8) == 0 ? 0 : Int64(random.below(1_000_000))
            let time = Timestamp(microseconds: start.microseconds + Int64(group) * 20_000_000 + fraction)
            return generate(index: index, seed: seed, createdAt: time, owner: owner)
        }
    }

    /// One item, by its number and a time.
    static func generate(index: Int, seed: UInt64, createdAt: Timestamp, owner: String) -> DevItem {
        var random = ItemRandom(state: mix(seed &+ 0x5851_F42D) ^ UInt64(index) &* 0x2545_F491_4F6C_DD1D)
        let id = random.uuid()
        let words = 4 + random.below(6)
        let place = random.below(ItemText.wordCount)
        let title = ItemText.sentence(place, words: words) + random.pick(titleEnds)
        var item = DevItem(id: id, createdAt: createdAt, title: title, type: random.pick(types), owner: owner)
        for _ in 0..<random.below(5) {
            let tag = random.pick(tagNames)
            if !item.tags.contains(tag) { item.tags.append(tag) }
        }
        if random.below(4) == 0 {
            item.updatedAt = createdAt.advanced(by: .microseconds(1_000_000 + random.below(3_000_000_000)))
        }
        item.platform = random.below(6) == 0 ? nil : random.pick(platforms)
        item.category = random.below(6) == 0 ? nil : random.pick(categories)
        item.status = random.pick(statuses)
        if item.type != "note" {
            let slug = ItemText.slug(place, words: words)
            item.url = "https://\(random.pick(hosts))/\(item.platform ?? "web")/\(slug)?id=\(index)&ref=feed"
            item.thumbnailURL = random.below(5) == 0 ? nil : "/media/thumbnails/\(id).jpg"
        } else {
            item.content = item.title + "\n" + random.words(30)
        }
        if random.below(8) != 0 {
            let place = random.below(ItemText.wordCount)
            item.summary = ItemText.sentence(place, words: 34 + random.below(16)) + random.pick(summaryEnds)
        }
        if item.type == "video" { item.duration = 20 + random.below(7_200) }
        for text in texts {
            if let draw = text.draw { item[keyPath: text.here] = draw(&random, item) }
        }
        return item
    }

    private static let types = ["article", "article", "video", "note", "link", "tutorial", "document", "image"]
    private static let statuses = [
        "completed", "completed", "completed", "completed", "bookmark", "processed", "failed",
    ]
    private static let platforms = ["youtube", "github", "medium", "web", "twitter"]
    private static let categories = ["learning", "work", "reading", "design", "music"]
    private static let hosts = ["example.org", "blog.example.com", "videos.example.net", "docs.example.org"]
    private static let tagNames = [
        "swift", "linux", "sqlite", "reading list", "to-do", "work", "garden", "recipes", "networking", "tag-8",
        "tag-5",
    ]
    private static let titleEnds = ["", "", "", ": notes", " (2025)", " – part 2", " \"revisited\"", " ☕"]
    private static let summaryEnds = [
        ".", ".", ".", "\nSecond line.", " \\o/", " “quoted” text.", " Größe, naïve, 日本語.",
    ]
}

/// SplitMix64 with the few draws that items are made of.
struct ItemRandom {
    var state: UInt64

    mutating func next() -> UInt64 {
        let value = mix(state)
        state &+= 0x9E37_79B9_7F4A_7C15
        return value
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func pick(_ choices: [String]) -> String { choices[below(choices.count)] }

    mutating func words(_ count: Int) -> String { ItemText.words(below(ItemText.wordCount), count) }

    /// A version 4 UUID.
    mutating func uuid() -> String {
        let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = Array("0123456789abcdef".utf8)
        return String(unsafeUninitializedCapacity: 36) { buffer in
            var at = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    buffer[at] = UInt8(ascii: "-")
                    at += 1
                }
                let word = index < 16 ? high : low
                buffer[at] = digits[Int(word >> UInt64(60 - index % 16 * 4) & 15)]
                at += 1
            }
            return at
        }
    }
}
