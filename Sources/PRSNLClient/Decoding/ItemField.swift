import Glibc

/// The members of an item that have a meaning here, under every name that a dialect gives them.
enum ItemField {
    case id, createdAt, updatedAt, type, title, url, summary, content, platform, category, thumbnailURL, duration
    case filePath, status, tags, permalink, accessCount, accessedAt

    /// By length first: a comparison of bytes is made for a few candidates at most.
    init?(_ name: UnsafeBufferPointer<UInt8>) {
        guard let start = name.baseAddress else { return nil }
        func matches(_ candidate: StaticString) -> Bool {
            memcmp(start, candidate.utf8Start, candidate.utf8CodeUnitCount) == 0
        }
        switch name.count {
        case 2 where matches("id"): self = .id
        case 3 where matches("url"): self = .url
        case 4 where matches("tags"): self = .tags
        case 4 where matches("type"): self = .type
        case 5 where matches("title"): self = .title
        case 6 where matches("status"): self = .status
        case 7 where matches("summary"): self = .summary
        case 7 where matches("content"): self = .content
        case 8 where matches("platform"): self = .platform
        case 8 where matches("category"): self = .category
        case 8 where matches("duration"): self = .duration
        case 8 where matches("itemType"): self = .type
        case 8 where matches("filePath"): self = .filePath
        case 9 where matches("createdAt"): self = .createdAt
        case 9 where matches("updatedAt"): self = .updatedAt
        case 9 where matches("file_path"): self = .filePath
        case 9 where matches("permalink"): self = .permalink
        case 9 where matches("item_type"): self = .type
        case 10 where matches("created_at"): self = .createdAt
        case 10 where matches("updated_at"): self = .updatedAt
        case 10 where matches("accessedAt"): self = .accessedAt
        case 11 where matches("accessCount"): self = .accessCount
        case 12 where matches("thumbnailUrl"): self = .thumbnailURL
        case 13 where matches("thumbnail_url"): self = .thumbnailURL
        default: return nil
        }
    }
}
