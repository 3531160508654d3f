/// The Debian package of the binaries that are tested, as `make deb` builds it. It stays in the build folder, and is built
/// again when anything of it has changed. Test processes that run side by side share it.
package struct DebianPackage: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package let path: String

    /// With the version of the sources.
    package static let current = Task { try await DebianPackage(folder: "package-tests") }
    /// The same programs as an upgrade.
    package static let newer = Task { try await DebianPackage(folder: "package-tests-newer", version: "99.0.0") }

    /// - Parameter folder: beside the binaries.
    package init(folder: String, version: String = "") async throws {
        let binaries = try BuiltProducts.folder()
        let made = try await ChildProcess.run(
            "/bin/bash", ["-c", Self.script, "package", binaries, folder, version],
            environment: [
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": binaries,
                "LC_ALL": "C.UTF-8",
            ], directory: RepositoryFile.root())
        guard made.exit == .status(0), let path = made.stdout.split(separator: "\n").last, path.hasSuffix(".deb") else {
            throw Failure(description: "the package was not built: \(made)")
        }
        self.path = String(path)
    }

    /// gzip, because lintian warns of a package that is not compressed, and xz takes long. The version is a part of the
    /// file's name.
    private static let script = """
        set -euo pipefail
        binaries=$1 folder=$1/$2 version=$3
        mkdir -p "$folder"
        exec 9>"$folder.lock"
        flock 9
        wanted=${version:-$(systemd/debian/build version)}
        made=$(find "$folder" -name "prsnld_${wanted}_*.deb")
        if [ -n "$made" ] && [ -z "$(find "$binaries"/prsnl{d,ctl,-pages} systemd docs ./*.md -newer "$made" -print -quit)" ]
        then
            printf '%s\\n' "$made"
        else
            rm -f "$folder"/*.deb
            make --no-print-directory deb BINARIES="$binaries" DEB_FOLDER="$folder" COMPRESSION=gzip VERSION="$version"
        fi
        """
}
