extension Schema {
    /// What keeps writes and copy true when requests, answers and processes are lost.
    static let migration6 = """
        -- Writes
        -- The copy
        """
}
