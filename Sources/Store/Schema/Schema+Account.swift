extension Schema {
    /// Whom the login token names: tells a login of another account before anything is asked with it.
    static let migration4 = """
        ALTER TABLE copy ADD COLUMN account_subject TEXT;
        """
}
