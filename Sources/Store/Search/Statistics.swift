package import PRSNLCore

/// What a timeline is made of.
package struct TimelineStatistics: Sendable, Equatable {
    package struct Part: Sendable, Equatable, Codable {
        package let name: String
        package let items: Int
        /// Of these, with a text.
        package let texts: Int

        package init(name: String, items: Int, texts: Int) {
            (self.name, self.items, self.texts) = (name, items, texts)
        }
    }

    package let months: [Part], types: [Part], sites: [Part], tags: [Part]

    package init(months: [Part], types: [Part], sites: [Part], tags: [Part]) {
        (self.months, self.types, self.sites, self.tags) = (months, types, sites, tags)
    }
}

extension StoreReader {
    /// Reads every item, of one moment. Months are by UTC, the newest first; of the rest, the most used come first.
    package func statistics() throws(UserFacingError) -> TimelineStatistics {
        try readTogether {
            connection.extendDeadline(to: .seconds(600))
            try connection.registerSearch()
            func parts(_ name: String, _ more: String = "", by order: String = "2 DESC, 1") throws
                -> [TimelineStatistics.Part]
            {
                try connection.prepare(
                    """
                    SELECT \(name), count(*), count(body.item_id)
                    FROM timeline LEFT JOIN item_body AS body ON body.item_id = timeline.id \(more)
                    GROUP BY 1 HAVING \(name) IS NOT NULL ORDER BY \(order)
                    """
                ).all { .init(name: $0.text(0) ?? "", items: $0.int(1), texts: $0.int(2)) }
            }
            return TimelineStatistics(
                months: try parts("substr(timeline.created_at, 1, 7)", by: "1 DESC"), types: try parts("timeline.type"),
                sites: try parts("host(timeline.url)"),
                tags: try parts(
                    "tag.value", "JOIN json_each(iif(json_valid(timeline.tags), timeline.tags, '[]')) AS tag"))
        }
    }
}
