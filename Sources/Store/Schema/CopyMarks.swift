/// Step 7: by what a restored or copied file is noticed (`CopyMark`).
///
/// `mark`: the id that the file beside the database has too. `sends`: how many sends were begun, and how often it was marked.
enum CopyMarks {
    static let all = [
        "ALTER TABLE copy ADD COLUMN mark TEXT;", "ALTER TABLE copy ADD COLUMN sends INTEGER NOT NULL DEFAULT 0;",
    ]
}
