import PRSNLCore

enum NoteTitle { static func derived(from text: String) -> String { String(text.prefix(80)) } }
extension WriteDraft { func checked(dialect: Dialect?) throws(UserFacingError) -> WriteDraft { self } }
