import Configuration

/// A configuration file with every key in it, all of them comments.
enum ExampleConfiguration {
    static var text: String {
        var lines = [
            "# Every key of prsnld.conf(5) with its default; what is needed goes into \(DefaultPaths.systemConfiguration)."
        ]
        for key in ConfigurationKey.all {
            lines += [
                "", "# \(plain(key.summary))", "# Allowed: \(plain(key.allowed)). Default: \(plain(key.defaultText)).",
            ]
            lines.append("#\(key.name) =\(key.defaultValue.map { " \($0)" } ?? "")")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func plain(_ text: String) -> String { text.filter { $0 != "`" } }
}
