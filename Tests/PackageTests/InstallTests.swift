import TestSupport
import Testing

/// `make install` and `make uninstall`, in a folder that stands for `/`.
@Suite struct InstallTests {
    private let folder = TemporaryDirectory("destination")
    private var root: String { folder.file("root") }

    @discardableResult
    private func make(_ target: String, _ variables: [String] = []) async throws -> String {
        let own = ["DESTDIR=\(root)", "BINARIES=\(try Tool.binaries())"]
        return try await Tool.run("make", ["--no-print-directory", target] + own + variables).output
    }

    private func names(_ folder: String, _ pattern: String) async throws -> [String] {
        let found = try await Tool.run(
            "find", ["\(Tool.repository)/\(folder)", "-maxdepth", "1", "-name", pattern, "-printf", "%f\\n"])
        return Tool.lines(found.output)
    }

    /// Everything below `PREFIX`, with its mode.
    private func expected(_ prefix: String) async throws -> [String] {
        var files = [
            ("755", "bin/prsnld"), ("755", "bin/prsnlctl"),
            ("644", "lib/sysusers.d/prsnld.conf"), ("644", "lib/tmpfiles.d/prsnld.conf"),
            ("644", "share/bash-completion/completions/prsnld"),
            ("644", "share/bash-completion/completions/prsnlctl"),
            ("644", "share/doc/prsnld/CHANGELOG.md"), ("644", "share/doc/prsnld/README.md"),
            ("644", "share/doc/prsnld/examples/prsnld.conf"),
            ("644", "share/doc/prsnld/examples/prsnld.grafana.json"),
            ("644", "share/doc/prsnld/examples/prsnld.rules.yml"),
            ("644", "share/fish/vendor_completions.d/prsnld.fish"),
            ("644", "share/fish/vendor_completions.d/prsnlctl.fish"),
            ("644", "share/man/man1/prsnlctl.1"), ("644", "share/man/man5/prsnld.conf.5"),
            ("644", "share/man/man8/prsnld.8"), ("644", "share/prsnld/manifest"), ("644", "share/prsnld/prsnld.conf"),
            ("644", "share/zsh/site-functions/_prsnld"), ("644", "share/zsh/site-functions/_prsnlctl"),
        ]
        for kind in ["service", "socket", "timer"] {
            files += try await names("systemd", "*.\(kind)").map { ("644", "lib/systemd/system/\($0)") }
        }
        files += try await names("systemd/user", "*.service").map { ("644", "lib/systemd/user/\($0)") }
        files += try await names("docs", "*.md").map { ("644", "share/doc/prsnld/docs/\($0)") }
        files += try await names("docs/scale", "*.py").map { ("644", "share/doc/prsnld/docs/scale/\($0)") }
        let all = files.map { "f \($0.0) \(prefix)/\($0.1)" } + ["f 644 etc/prsnld/prsnld.conf"]
        return all.sorted { $0.split(separator: " ")[2] < $1.split(separator: " ")[2] }
    }

    @Test func installPutsTheseFilesAndNoOthers() async throws {
        try await make("install")
        #expect(try await Tool.tree(root) == expected("usr/local"))
    }

    @Test func unitsAndPagesNameThePlacesWhereThingsAre() async throws {
        try await make("install", ["PREFIX=/opt/prsnld"])
        #expect(try await Tool.tree(root) == expected("opt/prsnld"))
        for unit in ["system/prsnld.service", "system/prsnld@.service", "user/prsnld.service"] {
            let text = try TestFile.text("\(root)/opt/prsnld/lib/systemd/\(unit)")
            #expect(text.contains("\nExecStart=/opt/prsnld/bin/prsnld"), "\(unit)")
            #expect(!text.contains("/usr/bin/prsnl") && !text.contains("/usr/local"), "\(unit)")
        }
        let page = try TestFile.text("\(root)/opt/prsnld/share/man/man8/prsnld.8")
        #expect(page.contains("/opt/prsnld/share/doc/prsnld") && !page.contains("/usr/share/doc"))
    }

    @Test func uninstallLeavesNothingButTheConfiguration() async throws {
        try await make("install")
        try await Tool.run("mkdir", ["-p", "\(root)/var/lib/prsnld"])
        try TestFile.write("a copy", to: "\(root)/var/lib/prsnld/prsnl.sqlite")
        let said = try await make("uninstall")
        #expect(said.contains("/etc/prsnld") && said.contains("/var/lib/prsnld"))
        let left = try await Tool.tree(root, withFolders: true).map { String($0.split(separator: " ")[2]) }
        #expect(
            left == [
                "etc", "etc/prsnld", "etc/prsnld/prsnld.conf", "var", "var/lib", "var/lib/prsnld",
                "var/lib/prsnld/prsnl.sqlite",
            ])
    }

    @Test func whatOthersPutThereStays() async throws {
        try await Tool.run("mkdir", ["-p", "\(root)/usr/local/bin", "\(root)/usr/local/share/man/man8"])
        try await make("install")
        try TestFile.write("", to: "\(root)/usr/local/lib/theirs")
        try await make("uninstall")
        let left = try await Tool.tree("\(root)/usr", withFolders: true).map { String($0.split(separator: " ")[2]) }
        // Two folders were there before, and another came to hold something.
        #expect(
            left == [
                "local", "local/bin", "local/lib", "local/lib/theirs", "local/share", "local/share/man",
                "local/share/man/man8",
            ])
    }

    @Test func installingAgainKeepsTheConfigurationAndRemovesWhatIsNotPartAnyMore() async throws {
        try await make("install")
        let configuration = "\(root)/etc/prsnld/prsnld.conf"
        try TestFile.write("server_url = https://prsnl.example.org\n", to: configuration, mode: 0o640)
        let manifest = "\(root)/usr/local/share/prsnld/manifest"
        try TestFile.write(
            try TestFile.text(manifest) + "file /usr/local/bin/prsnl-of-old\n", to: manifest, mode: 0o644)
        try TestFile.write("", to: "\(root)/usr/local/bin/prsnl-of-old")

        try await make("install")
        #expect(try TestFile.text(configuration) == "server_url = https://prsnl.example.org\n")
        #expect(!TestFile.exists("\(root)/usr/local/bin/prsnl-of-old"))
        try await make("uninstall")
        #expect(try await Tool.tree(root) == ["f 640 etc/prsnld/prsnld.conf"])
        #expect(!TestFile.exists("\(root)/usr"))
    }

    @Test(.enabled(if: ScratchRoot.canBeMade, "needs root, for an overlay of the file system"))
    func onTheMachineItselfTheUserAndTheStateFolderAreMadeToo() async throws {
        let said = try await ScratchRoot.run(
            """
            # The sources and what was built of them may be on a file system of their own.
            mkdir -p "$root$1" "$root$2"
            mount --bind "$1" "$root$1"
            mount --bind "$2" "$root$2"
            inside env BINARIES="$2" "$1/systemd/install" install
            say "$(inside getent passwd prsnld | cut -d: -f1,6,7)"
            say "$(inside stat -c '%A %U:%G' /var/lib/prsnld)"
            inside systemctl is-enabled prsnld.service >/dev/null || say "not enabled"
            there /usr/local/lib/systemd/system/prsnld.service
            say "$(inside readlink -f "$(inside man --path prsnlctl)")"
            inside "$1/systemd/install" uninstall
            there /usr/local/lib/systemd/system/prsnld.service
            there /usr/local/bin
            there /var/lib/prsnld
            """, Tool.repository, try Tool.binaries())
        #expect(
            said == [
                "prsnld:/var/lib/prsnld:/usr/sbin/nologin", "drwxr-x--- prsnld:prsnld", "not enabled",
                "/usr/local/lib/systemd/system/prsnld.service is there", "/usr/local/share/man/man1/prsnlctl.1",
                "/usr/local/lib/systemd/system/prsnld.service is gone", "/usr/local/bin is there",
                "/var/lib/prsnld is there",
            ])
    }

    @Test(arguments: [
        ("uninstall", "PREFIX=/usr/local", "nothing to remove"), ("install", "PREFIX=usr", "absolute path"),
        ("install", "PREFIX=/usr/", "without a slash at its end"), ("install", "BINARIES=/nowhere", "make build first"),
    ])
    func whatCannotBeDoneIsSaidAndNothingIsDone(target: String, variable: String, words: String) async throws {
        do {
            try await make(target, [variable])
            Issue.record("it was done")
        } catch let error as Tool.Failed {
            #expect(error.description.contains(words))
        }
        #expect(!TestFile.exists(root))
    }
}
