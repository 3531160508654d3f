import Control
import TestSupport
import Testing

/// What is in the Debian package.
@Suite struct DebianPackageTests {
    @Test func itsFieldsAreThoseOfTheSourcesAndTheLibraries() async throws {
        let package = try await DebianPackage.current.value
        let architecture = Tool.lines(try await Tool.run("dpkg", ["--print-architecture"]).output)[0]
        #expect(package.hasSuffix("/prsnld_\(ProductVersion.current)_\(architecture).deb"))
        #expect(try await DebianPackage.field("Package", of: package) == "prsnld")
        #expect(try await DebianPackage.field("Version", of: package) == ProductVersion.current)
        #expect(try await DebianPackage.field("Architecture", of: package) == architecture)
        let depends = try await DebianPackage.field("Depends", of: package).split(separator: ",").map {
            String($0.drop { $0 == " " })
        }
        for library in ["libc6 (>= ", "libcurl4", "libsqlite3-0 (>= ", "ca-certificates", "procps", "systemd | "] {
            #expect(depends.contains { $0.hasPrefix(library) }, "\(library) in \(depends)")
        }
        let installed = try #require(Int(try await DebianPackage.field("Installed-Size", of: package)))
        #expect((1_000...200_000).contains(installed))
    }

    /// `make install` into /usr, with what Debian wants besides; all of it root's, and nothing that others may write.
    @Test func itsFilesAreThoseOfInstallAndWhatDebianWantsBesides() async throws {
        let folder = TemporaryDirectory("package")
        let package = try await DebianPackage.current.value
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

    @Test func thePackedProgramsSayTheirVersion() async throws {
        let folder = TemporaryDirectory("package")
        try await Tool.run("dpkg-deb", ["--extract", try await DebianPackage.current.value, folder.path])
        for program in ["prsnld", "prsnlctl"] {
            let said = try await Tool.run(folder.file("usr/bin/\(program)"), ["--version"]).output
            #expect(said == "\(program) \(ProductVersion.current)\n")
        }
    }

    @Test func theSameBinariesGiveTheSamePackageByteForByte() async throws {
        let first = try await DebianPackage.current.value
        let second = try await DebianPackage.make(folder: "package-tests-again")
        #expect(first != second)
        try await Tool.run("cmp", [first, second])
    }

    @Test func lintianFindsNothing() async throws {
        let package = try await DebianPackage.current.value
        // Tests pack a debug build, which finds the toolchain's libraries by a path of this machine.
        let said = try await Tool.run(
            "lintian",
            [
                "--allow-root", "--no-cfg", "--fail-on", "error,warning", "--suppress-tags",
                "custom-library-search-path", package,
            ])
        #expect(said.output == "")
    }

    @Test func theScriptsAreSoundShell() async throws {
        let folder = "\(Tool.repository)/systemd"
        for script in ["postinst", "prerm", "postrm"].map({ "\(folder)/debian/\($0)" }) {
            try await Tool.run("sh", ["-n", script])
            try await Tool.run("shellcheck", ["--shell=dash", script])
        }
        try await Tool.run("shellcheck", ["\(folder)/install", "\(folder)/debian/build"])
    }
}
