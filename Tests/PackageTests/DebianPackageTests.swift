import Console
import Control
import TestSupport
import Testing

/// What is in the Debian package.
@Suite struct DebianPackageTests {
    @Test func itsFieldsAreThoseOfTheSourcesAndTheLibraries() async throws {
        let package = try await DebianPackage.current.value.path
        let architecture = Tool.lines(try await Tool.run("dpkg", ["--print-architecture"]).output)[0]
        let version = try await Tool.packageVersion()
        #expect(package.hasSuffix("/prsnld_\(version)_\(architecture).deb"))
        #expect(try await Tool.packageField("Package", of: package) == "prsnld")
        #expect(try await Tool.packageField("Version", of: package) == version)
        #expect(version == ProductVersion.current || version.hasPrefix("\(ProductVersion.current)+git"))
        #expect(try await Tool.packageField("Architecture", of: package) == architecture)
        let depends = try await Tool.packageField("Depends", of: package).split(separator: ",").map {
            String($0.drop { $0 == " " })
        }
        for library in ["libc6 (>= ", "libcurl4 (>= ", "libsqlite3-0 (>= ", "ca-certificates", "procps", "systemd | "] {
            #expect(depends.contains { $0.hasPrefix(library) }, "\(library) in \(depends)")
        }
        let installed = try #require(Int(try await Tool.packageField("Installed-Size", of: package)))
        #expect((1_000...200_000).contains(installed))
    }

    /// `make install` into /usr, with what Debian wants besides; all of it root's, and nothing that others may write.
    @Test func itsFilesAreThoseOfInstallAndWhatDebianWantsBesides() async throws {
        let folder = TemporaryDirectory("package")
        let package = try await DebianPackage.current.value.path
        let binaries = try Tool.binaries()
        let installed = folder.file("installed")
        try await Tool.run(
            "make", ["--no-print-directory", "install", "PREFIX=/usr", "DESTDIR=\(installed)", "BINARIES=\(binaries)"])
        let expected = try await Tool.tree(installed).map { line in
            line.replacing("zsh/site-functions/", with: "zsh/vendor-completions/")
                .replacing(/(man\/man.*)/) { "\($0.1).gz" }
        }.filter { !$0.hasSuffix("/manifest") && !$0.hasSuffix(" etc/prsnld/prsnld.conf") }
        let besides = [
            "f 644 usr/share/doc/prsnld/changelog.gz", "f 644 usr/share/doc/prsnld/copyright",
            "f 644 usr/share/lintian/overrides/prsnld",
        ]

        let unpacked = folder.file("unpacked")
        try await Tool.run("dpkg-deb", ["--raw-extract", package, unpacked])
        let files = try await Tool.tree(unpacked).filter { !$0.contains(" DEBIAN/") }
        #expect(Set(files) == Set(expected + besides))
        let control = try await Tool.tree("\(unpacked)/DEBIAN")
        #expect(
            control == [
                "f 644 control", "f 644 md5sums", "f 755 postinst", "f 755 postrm", "f 755 prerm",
            ])

        let listing = Tool.lines(try await Tool.run("dpkg-deb", ["--contents", package]).output)
        #expect(listing.allSatisfy { $0.contains(" root/root ") })
        #expect(!listing.contains { $0.hasPrefix("d") && !$0.hasPrefix("drwxr-xr-x") })
        try await Tool.run("env", ["-C", unpacked, "md5sum", "--check", "--strict", "--quiet", "DEBIAN/md5sums"])
    }

    /// In a repository of its own, with the script that decides.
    @Test func whatIsBuiltLaterIsAnUpgradeAndAReleaseHasItsVersionAlone() async throws {
        let folder = TemporaryDirectory("versions")
        let script = """
            set -eu
            cd "$1"
            mkdir -p systemd/debian Sources/Console outer/systemd/debian outer/Sources/Console
            cp "$2/systemd/debian/build" systemd/debian/build
            cp "$2/Sources/Console/ProductVersion.swift" Sources/Console
            cp -r systemd Sources outer
            say() { env -u VERSION "${2:-.}/systemd/debian/build" version | sed "s/^/$1 /"; }
            say bare
            git init --quiet --initial-branch main .
            git config user.name Test
            git config user.email test@example.org
            export GIT_COMMITTER_DATE GIT_AUTHOR_DATE
            n=0
            commit() {
                n=$((n + 1))
                GIT_COMMITTER_DATE="2026-01-0$n 12:00:00 +0000" GIT_AUTHOR_DATE=$GIT_COMMITTER_DATE
                git add systemd Sources
                git commit --quiet --message "$n"
            }
            commit
            say first
            say first
            echo '// changed' >>Sources/Console/ProductVersion.swift
            say changed
            commit
            say second
            git tag v"$3"
            say release
            echo >outer/notes
            say elsewhere outer
            """
        let said = try await Tool.run(
            "bash", ["-c", script, "versions", folder.path, Tool.repository, ProductVersion.current])
        let versions = Tool.lines(said.output).map { $0.split(separator: " ").map(String.init) }
        try #require(versions.allSatisfy { $0.count == 2 }, "\(said)")
        func all(_ name: String) -> [String] { versions.filter { $0[0] == name }.map { $0[1] } }
        let release = ProductVersion.current
        #expect(all("bare") == [release] && all("release") == [release] && all("elsewhere") == [release], "\(versions)")
        let first = try #require(all("first").first)
        #expect(first.hasPrefix("\(release)+git20260101120000.") && all("first") == [first, first], "\(versions)")
        let rising = try [release, first, #require(all("changed").first), #require(all("second").first)]
        for (older, newer) in zip(rising, rising.dropFirst()) {
            try await Tool.run("dpkg", ["--compare-versions", older, "lt", newer])
        }
    }

    @Test func thePackedProgramsSayTheirVersion() async throws {
        let folder = TemporaryDirectory("package")
        try await Tool.run("dpkg-deb", ["--extract", try await DebianPackage.current.value.path, folder.path])
        for program in ["prsnld", "prsnlctl"] {
            let said = try await Tool.run(folder.file("usr/bin/\(program)"), ["--version"]).output
            #expect(said == "\(program) \(ProductVersion.current)\n")
        }
    }

    @Test func theSameBinariesGiveTheSamePackageByteForByte() async throws {
        let first = try await DebianPackage.current.value.path
        // Built again, whatever is there.
        try await Tool.run("rm", ["-rf", "\(Tool.binaries())/package-tests-again"])
        let second = try await DebianPackage(folder: "package-tests-again").path
        #expect(first != second)
        try await Tool.run("cmp", [first, second])
    }

    @Test func lintianFindsNothing() async throws {
        let package = try await DebianPackage.current.value.path
        // Tests pack a debug build, which finds the toolchain's libraries by a path of this machine. Debian's Swift links those
        // without relro; a release is linked by lld, with it.
        let said = try await Tool.run(
            "lintian",
            [
                "--allow-root", "--no-cfg", "--fail-on", "error,warning", "--suppress-tags",
                "custom-library-search-path,hardening-no-relro", package,
            ])
        #expect(said.output == "")
    }

    @Test func theScriptsAreSoundShell() async throws {
        let folder = "\(Tool.repository)/systemd"
        for script in ["postinst", "prerm", "postrm"].map({ "\(folder)/debian/\($0)" }) {
            try await Tool.run("sh", ["-n", script])
            try await Tool.run("shellcheck", ["--shell=dash", script])
        }
        let scripts = "systemd/install systemd/debian/* .make/* .ci/run Tests/Fuzz/run"
        let own = "cd '\(Tool.repository)' && grep -lx '#!/usr/bin/env bash' \(scripts)"
        let names = Tool.lines(try await Tool.run("sh", ["-c", own]).output)
        #expect(names.count > 10)
        try await Tool.run("shellcheck", names.map { "\(Tool.repository)/\($0)" })
    }
}
