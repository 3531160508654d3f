import TestSupport
import Testing

/// What `make` says before it begins.
@Suite struct MakefileTests {
    private func fails(_ script: String, saying words: String, _ arguments: String...) async throws {
        do {
            try await Tool.run("bash", ["-ec", script, "make"] + arguments)
            Issue.record("it was done")
        } catch let error as Tool.Failed {
            #expect(error.description.contains(words))
        }
    }

    @Test func aCheckoutThatWasMovedIsToldToCleanFirst() async throws {
        let folder = TemporaryDirectory("moved")
        try await Tool.run(
            "bash",
            [
                "-ec",
                """
                mkdir "$1/old"
                cp -r "$2/Makefile" "$2/.make" "$1/old"
                make -C "$1/old" --no-print-directory setup-build
                make -C "$1/old" --no-print-directory setup-build
                mv "$1/old" "$1/new"
                """, "make", folder.path, Tool.repository,
            ])
        let moved = "make -C \"$1/new\" --no-print-directory setup-build"
        try await fails(moved, saying: "run make clean first", folder.path)
        try await Tool.run(
            "bash", ["-ec", "make -C \"$1/new\" --no-print-directory clean; " + moved, "make", folder.path])
    }

    @Test func aKeyFileThatIsNotThereIsNamedWithWhatToDo() async throws {
        let script = "SERVER=https://prsnl.example.org API_KEY_FILE=/nonexistent/key exec \"$1/.make/run\""
        try await fails(
            script,
            saying:
                "make: API_KEY_FILE names /nonexistent/key, which is not there: put the API key into a file of mode 0600",
            Tool.repository)
        #expect(!TestFile.exists("\(Tool.repository)/.run/prsnl.example.org"))
    }

    @Test func swiftIsLookedForBeforePackagesAreInstalled() async throws {
        let folder = TemporaryDirectory("no-swift")
        let script = """
            mkdir "$1/bin"
            printf '#!/bin/sh\necho Swift version 5.9\n' >"$1/bin/swift"
            printf '#!/bin/sh\nexit 1\n' >"$1/bin/pkg-config"
            printf '#!/bin/sh\ntouch "%s/asked"\nexit 1\n' "$1" | tee "$1/bin/apt-get" >"$1/bin/sudo"
            chmod +x "$1"/bin/*
            PATH=$1/bin:$PATH make -C "$2" --no-print-directory SWIFT="$1/bin/swift" "$3"
            """
        for target in ["run", "test", "demo", "bench"] {
            try await fails(
                "rm -rf \"$1/bin\"\n" + script, saying: "is needed; \(folder.path)/bin/swift is 5.9", folder.path,
                Tool.repository, target)
            #expect(!TestFile.exists("\(folder.path)/asked"), "make \(target)")
        }
    }
}
