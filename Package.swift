// swift-tools-version: 6.0
import PackageDescription

// Every module is compiled the same way: Swift 6 language mode (from the tools version), and imports that are
// internal unless said otherwise. The Makefile makes warnings errors.
let strict: [SwiftSetting] = [.enableUpcomingFeature("InternalImportsByDefault")]

let package = Package(
    name: "prsnld",
    products: [
        .executable(name: "prsnld", targets: ["prsnld"]),
        .executable(name: "prsnlctl", targets: ["prsnlctl"]),
        .executable(name: "prsnl-devserver", targets: ["prsnl-devserver"]),
    ],
    targets: [
        // System libraries: headers, and shims for what Swift cannot import. Each has one importer.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // libcurl, loaded at run time.
        .target(name: "CCurl"),
        // Linux for Swift. What glibc declares for _GNU_SOURCE only, Swift's Glibc module does not have.
        .target(name: "CLinux", cSettings: [.define("_GNU_SOURCE")]),

        // Libraries for the formats of other programs, each loaded by the command that needs it.
        // libxml2's headers are below a folder of their own, also of a system for which is built.
        .target(name: "CFormats", cSettings: [.unsafeFlags(["-iwithsysroot/usr/include/libxml2"])]),

        .target(name: "PRSNLCore", dependencies: ["CLinux"], swiftSettings: strict),
        .target(name: "Store", dependencies: ["PRSNLCore", "CSQLite", "CLinux"], swiftSettings: strict),
        .target(
            name: "PRSNLClient", dependencies: ["PRSNLCore", "Configuration", "CCurl", "CLinux"], swiftSettings: strict),
        .target(
            name: "SyncEngine", dependencies: ["PRSNLCore", "Store", "PRSNLClient", "NetMonitor", "Configuration"],
            swiftSettings: strict
        ),
        .target(name: "NetMonitor", dependencies: ["PRSNLCore", "CLinux"], swiftSettings: strict),
        .target(name: "Configuration", dependencies: ["PRSNLCore", "CLinux"], swiftSettings: strict),
        .target(name: "Formats", dependencies: ["PRSNLCore", "CFormats"], swiftSettings: strict),
        .target(name: "Console", dependencies: ["PRSNLCore", "CLinux"], swiftSettings: strict),
        .target(name: "Control", dependencies: ["Console", "PRSNLCore", "CLinux"], swiftSettings: strict),
        .target(
            name: "Requests",
            dependencies: [
                "PRSNLCore", "Store", "PRSNLClient", "NetMonitor", "SyncEngine", "Configuration", "Control", "Console",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "prsnld",
            dependencies: [
                "PRSNLCore", "Store", "PRSNLClient", "NetMonitor", "SyncEngine", "Configuration", "Control", "Requests",
                "Console", "CLinux",
            ],
            swiftSettings: strict),
        .executableTarget(name: "prsnlctl", dependencies: ["Commands"], swiftSettings: strict),
        .target(
            name: "Commands",
            dependencies: [
                "PRSNLCore", "Store", "PRSNLClient", "NetMonitor", "Configuration", "Control", "Requests", "Console",
                "Formats", "CLinux",
            ],
            swiftSettings: strict),

        // A PRSNL server with the quirks of real ones: for the tests, the demo and `make run`.
        .target(
            name: "DevServer", dependencies: ["PRSNLCore", "CLinux"], path: "Tests/DevServer/Server",
            swiftSettings: strict),
        .executableTarget(
            name: "prsnl-devserver", dependencies: ["DevServer", "PRSNLCore", "CLinux"],
            path: "Tests/DevServer/Program", swiftSettings: strict),

        // Manual pages, completions and the example configuration, written from the tables of the programs.
        .executableTarget(
            name: "prsnl-pages", dependencies: ["Commands", "Console", "Configuration", "Store", "PRSNLCore"],
            path: "Tools/pages", swiftSettings: strict),

        // Figures of the benchmarks that need the engine itself, and a clock of its own.
        .executableTarget(
            name: "prsnl-simulate-day",
            dependencies: [
                "SyncEngine", "Store", "PRSNLClient", "Configuration", "PRSNLCore", "DevServer", "TestSupport",
            ],
            path: "Tests/Benchmarks/SimulateDay", swiftSettings: strict),
        .executableTarget(
            name: "prsnl-simulate-queue",
            dependencies: [
                "SyncEngine", "Store", "PRSNLClient", "Configuration", "PRSNLCore", "DevServer", "TestSupport",
            ],
            path: "Tests/Benchmarks/SimulateQueue", swiftSettings: strict),
        .executableTarget(
            name: "prsnl-simulate-return",
            dependencies: [
                "SyncEngine", "Store", "PRSNLClient", "Configuration", "PRSNLCore", "DevServer", "TestSupport",
            ],
            path: "Tests/Benchmarks/SimulateReturn", swiftSettings: strict),
        .executableTarget(
            name: "prsnl-watch-network", dependencies: ["NetMonitor", "PRSNLCore"],
            path: "Tests/Benchmarks/WatchNetwork", swiftSettings: strict),
        .target(
            name: "TestSupport", dependencies: ["PRSNLCore", "CLinux", "CTestSupport"], path: "Tests/TestSupport",
            swiftSettings: strict),
        .target(name: "CTestSupport", path: "Tests/CTestSupport", cSettings: [.define("_GNU_SOURCE")]),
        .testTarget(
            name: "PRSNLCoreTests", dependencies: ["PRSNLCore", "TestSupport", "CTestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ConfigurationTests", dependencies: ["Configuration", "Control", "PRSNLCore", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "StoreTests", dependencies: ["Store", "PRSNLCore", "TestSupport"], exclude: ["Fixtures"],
            swiftSettings: strict),
        .testTarget(
            name: "FormatsTests", dependencies: ["Formats", "Control", "PRSNLCore", "TestSupport"],
            exclude: ["Fixtures"],
            swiftSettings: strict),
        .testTarget(
            name: "PRSNLClientTests", dependencies: ["PRSNLClient", "PRSNLCore", "DevServer", "TestSupport", "CLinux"],
            swiftSettings: strict),
        .testTarget(
            name: "SyncEngineTests",
            dependencies: [
                "SyncEngine", "NetMonitor", "Store", "PRSNLClient", "Configuration", "PRSNLCore", "DevServer",
                "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "NetMonitorTests", dependencies: ["NetMonitor", "PRSNLCore", "TestSupport", "CLinux"],
            swiftSettings: strict),
        .testTarget(
            name: "ConsoleTests", dependencies: ["Commands", "Console", "PRSNLCore"], swiftSettings: strict),
        // One of each request and report.
        .target(
            name: "CommandSamples",
            dependencies: ["Commands", "Requests", "Control", "Console", "Store", "NetMonitor", "PRSNLCore"],
            path: "Tests/CommandSamples", swiftSettings: strict),
        .testTarget(
            name: "ControlTests",
            dependencies: [
                "Commands", "Requests", "CommandSamples", "Control", "Console", "Configuration", "Store", "NetMonitor",
                "PRSNLCore", "TestSupport", "CTestSupport", "CLinux",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CommandsTests",
            dependencies: [
                "Commands", "Requests", "CommandSamples", "Control", "Console", "Configuration", "Store", "NetMonitor",
                "PRSNLClient", "PRSNLCore", "TestSupport", "CLinux",
            ],
            exclude: ["Screens"], swiftSettings: strict),
        .testTarget(name: "prsnldTests", dependencies: ["prsnld", "PRSNLCore", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "DevServerTests", dependencies: ["DevServer", "PRSNLCore", "TestSupport", "CLinux"],
            swiftSettings: strict),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "DevServer", "Store", "NetMonitor", "PRSNLCore", "Control", "Console", "Commands", "Requests",
                "TestSupport", "CTestSupport", "CLinux",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ServiceTests",
            dependencies: [
                "DevServer", "Store", "PRSNLCore", "Control", "Console", "Commands", "Requests", "TestSupport",
                "CLinux",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PackageTests",
            dependencies: ["Commands", "Configuration", "Console", "Store", "PRSNLCore", "TestSupport"],
            swiftSettings: strict),
    ])

// `make fuzz` alone sets this, and builds in a folder of its own: libFuzzer wants every module instrumented, and a
// target that needs that setting has no place in `swift build`.
if let runtime = Context.environment["PRSNL_FUZZER_RUNTIME"] {
    package.targets.append(
        .executableTarget(
            name: "prsnl-fuzz",
            dependencies: [
                "NetMonitor", "PRSNLClient", "Configuration", "Control", "Commands", "Requests", "Console", "Store",
                "Formats", "PRSNLCore", "CLinux",
            ],
            path: "Tests/Fuzz", exclude: ["Corpus", "Dictionaries", "run"], swiftSettings: strict,
            linkerSettings: [.unsafeFlags([runtime]), .linkedLibrary("stdc++")]))
}

// `make build` sets this: it builds the programs, and of Tests/ the server alone. `make run` leaves out the tools too, and
// `make bench` what a release cannot build, because it looks into modules.
if let programs = Context.environment["PRSNL_PROGRAMS_ONLY"] {
    package.targets.removeAll { target in
        guard let path = target.path else { return target.type == .test }
        if programs == "bench" { return path == "Tests/CommandSamples" }
        return !path.hasPrefix("Tests/DevServer/") && !(path.hasPrefix("Tools/") && programs != "run")
    }
}

// `make test TARGETS=StoreTests` builds and runs these test targets alone, with what they are made of and the programs that
// they start.
if let chosen = Context.environment["PRSNL_TEST_TARGETS"], !chosen.isEmpty {
    let programs: [String: Set<String>] = [
        "DaemonTests": ["prsnld", "prsnlctl"], "DevServerTests": ["prsnl-devserver"],
        "PackageTests": ["prsnld", "prsnlctl", "prsnl-pages"],
        "ServiceTests": ["prsnld", "prsnlctl", "prsnl-devserver", "prsnl-pages"],
    ]
    var added = Set(chosen.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init))
    var needed: Set<String> = []
    while !added.isEmpty {
        needed.formUnion(added)
        var names: Set<String> = []
        for target in package.targets where added.contains(target.name) {
            names.formUnion(programs[target.name] ?? [])
            for case .byNameItem(let name, _) in target.dependencies { names.insert(name) }
        }
        added = names.subtracting(needed)
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { !needed.contains($0.name) }
}
