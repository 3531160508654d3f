import Console
import FoundationEssentials
import TestSupport
import Testing

/// What `make release` makes, in a repository of its own that has these sources as its only commit.
@Suite struct ReleaseTests {
    private let folder = TemporaryDirectory("release")
    private var sources: String { folder.file("sources") }
    private var files: String { "\(sources)/.build/release-files" }
    private let version = ProductVersion.current

    /// The list of what the programs link and load, as far as it is looked at.
    private struct Materials: Codable {
        struct Package: Codable {
            var name: String
            var versionInfo: String
            var SPDXID: String
        }
        struct Relationship: Codable {
            var spdxElementId: String
            var relationshipType: String
            var relatedSpdxElement: String
        }
        var spdxVersion: String
        var packages: [Package]
        var relationships: [Relationship]
    }

    private func inSources(_ script: String, _ arguments: String...) async throws -> String {
        let setUp = """
            set -euo pipefail
            export GIT_COMMITTER_DATE='2026-01-02 03:04:05 +0000' GIT_AUTHOR_DATE='2026-01-02 03:04:05 +0000'
            git() { command git -c user.name=Test -c user.email=test@example.org "$@"; }
            commit() { git add --all && git commit --quiet --message "$1"; }
            cd "$1"
            shift

            """
        return try await Tool.run("bash", ["-c", setUp + script, "release", sources] + arguments).output
    }

    private func makeSources() async throws {
        try await Tool.run("mkdir", [sources])
        _ = try await inSources(
            """
            tar -c --exclude=./.build --exclude=./.run --exclude=./.git -C "$1" . | tar -x
            git init --quiet --initial-branch main .
            commit release
            """, Tool.repository)
    }

    private func release() async throws {
        _ = try await inSources(
            "make --no-print-directory release BINARIES=\"$1\" COMPRESSION=none >&2", try Tool.binaries())
    }

    @Test func itIsWhatItsSumsAndListsSayAndTheSameEachTime() async throws {
        try await makeSources()
        // A package of another architecture that was built of this commit goes along.
        let other = try await inSources(
            """
            mkdir -p .build/other/DEBIAN .build/deb-other
            printf 'Package: prsnld\\nVersion: %s\\nArchitecture: riscv64\\nMaintainer: a\\nDescription: b\\n' "$1" \\
                >.build/other/DEBIAN/control
            dpkg-deb --build .build/other ".build/deb-other/prsnld_$1_riscv64.deb" >&2
            echo '{"created": "2026-01-02T03:04:05Z"}' >".build/deb-other/prsnld_$1_riscv64.spdx.json"
            echo "prsnld_$1_riscv64"
            """, version)
        try await release()
        let architecture = Tool.lines(try await Tool.run("dpkg", ["--print-architecture"]).output)[0]
        let own = "prsnld_\(version)_\(architecture)"
        let names = try await Tool.tree(files).map { String($0.split(separator: " ")[2]) }
        let packages = [own, Tool.lines(other)[0]]
        #expect(
            Set(names.filter { !$0.hasPrefix("apt/") })
                == Set(
                    packages.flatMap { ["\($0).deb", "\($0).spdx.json"] }
                        + ["prsnld-\(version).tar.gz", "release-notes.md", "SHA256SUMS"]))

        let sums = try TestFile.text("\(files)/SHA256SUMS")
        #expect(Tool.lines(sums).count == 6)
        try await Tool.run("env", ["-C", files, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"])

        let materials = try JSONDecoder().decode(
            Materials.self, from: Data(try TestFile.text("\(files)/\(own).spdx.json").utf8))
        #expect(materials.spdxVersion == "SPDX-2.3")
        let found = Set(materials.packages.map(\.name))
        #expect(found.isSuperset(of: ["prsnld", "swift", "libsqlite3-0", "libc6"]), "\(found)")
        #expect(found.contains { $0.hasPrefix("libcurl4") }, "\(found)")
        let wellFormed = materials.packages.allSatisfy {
            $0.versionInfo.contains(/^[0-9][0-9A-Za-z.+~:-]*$/) && $0.SPDXID.contains(/^SPDXRef-[0-9A-Za-z.-]+$/)
        }
        #expect(wellFormed, "\(materials.packages)")
        #expect(Set(materials.packages.map(\.SPDXID)) == Set(materials.relationships.map(\.relatedSpdxElement)))

        let notes = try TestFile.text("\(files)/release-notes.md")
        #expect(notes.hasPrefix("### ") && !notes.contains("## ["))
        #expect(try TestFile.text("\(Tool.repository)/CHANGELOG.md").contains(notes))
        let packed = try await inSources("tar -tzf \"$1\" | sed '/\\/$/d' | sort", "\(files)/prsnld-\(version).tar.gz")
        let kept = try await inSources("git ls-files | sed \"s|^|prsnld-$1/|\" | LC_ALL=C sort", version)
        #expect(packed == kept)

        for package in packages {
            let place = "\(files)/apt/dists/stable/main/binary-\(package.split(separator: "_")[2])/Packages"
            let listed = try TestFile.text(place)
            #expect(listed.contains("\nFilename: pool/main/p/prsnld/\(package).deb\n") && listed.contains("\nSHA256: "))
        }
        let index = try TestFile.text("\(files)/apt/dists/stable/Release")
        #expect(index.contains("\nDate: Fri, 02 Jan 2026 03:04:05 +0000\n") && !index.contains("Valid-Until"))

        try await release()
        #expect(try TestFile.text("\(files)/SHA256SUMS") == sums)
        #expect(try TestFile.text("\(files)/apt/dists/stable/Release") == index)
    }

    private func isRefused(_ change: String, saying words: String) async throws {
        _ = try await inSources(change, version)
        do {
            try await release()
            Issue.record("it was made")
        } catch let error as Tool.Failed {
            #expect(error.description.contains(words), "\(error)")
        }
    }

    @Test func whatWouldNotBeThisReleaseIsRefused() async throws {
        try await makeSources()
        try await isRefused("echo >>README.md", saying: "these files are not as committed:\nmake:  M README.md")
        try await isRefused(
            """
            sed -i "s/^## .$1.*/## [9.9.9]/" CHANGELOG.md
            commit changelog
            """, saying: "CHANGELOG.md has no section \"## [\(version)]\"")
        try await isRefused(
            """
            git checkout --quiet HEAD~ CHANGELOG.md
            commit back
            mkdir -p .build/deb-other
            echo >".build/deb-other/prsnld_$1_riscv64.deb"
            """, saying: "riscv64.deb is not of this commit")
    }
}
