// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target is compiled with these. Warnings are errors, and a use of an unsafe construct that is
/// not marked as such is a warning: "no pointers above the owners of the C modules" is checked by the
/// compiler and by `TidyTests`.
let house: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A library of the house. The imports that the design allows are exactly the dependencies named here.
func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: house)
}

/// A test target in the folder of its kind: Units, Simulation, EndToEnd, Fuzz or Tidy. Excluded is what is not Swift.
func tests(
    _ name: String, _ path: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/" + path, exclude: exclude, swiftSettings: house)
}

let package = Package(
    name: "postrider",
    products: [
        .executable(name: "postrider", targets: ["postrider"]),
        .executable(name: "postrider-example-app", targets: ["postrider-example-app"]),
        .library(name: "PostriderKit", targets: ["PostriderKit"]),
    ],
    targets: [
        // 0 · C modules: headers and one-line shims, no logic.
        .systemLibrary(name: "CFileAccess"),
        .systemLibrary(name: "CGetopt"),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CNghttp2"),
        .systemLibrary(name: "COpenSSL"),
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CSystemd"),
        .systemLibrary(name: "CYAML"),

        // 1 · C libraries made safe, the words, who may touch a file, and numbers that a seed repeats.
        library("Notifications"),
        library("FileTrust", ["CFileAccess"]),
        library("Crypto", ["COpenSSL", "FileTrust"]),
        library("DBus", ["CSystemd"]),
        library("HTTP2", ["CNghttp2"]),
        library("Options", ["CGetopt"]),
        library("SeededRandom"),
        library("YAML", ["CYAML"]),

        // 2 · Sockets, the device protocol, rows, when local notifications are due, the JSON of payloads.
        library("Transport", ["CLinux", "Crypto"]),
        library("Courier", ["Notifications"]),
        library("Storage", ["CSQLite", "Notifications"]),
        library("Schedules", ["Notifications"]),
        library("PostriderJSON", ["Notifications"]),

        // 3 · An HTTP/2 session on a wire.
        library("Endpoints", ["Transport", "HTTP2"]),

        // 4 · The far ends of both sockets, and the library that an app links.
        library("Clients", ["Notifications", "Crypto", "Transport", "HTTP2", "Courier", "Endpoints"]),
        library(
            "PostriderKit",
            ["Notifications", "Transport", "HTTP2", "Courier", "Endpoints", "Schedules", "PostriderJSON"]
        ),

        // 5 · The server, the device agent, fleets of providers and devices.
        library(
            "Load",
            [
                "Notifications", "Crypto", "SeededRandom", "YAML", "Transport", "HTTP2", "Courier", "Clients",
            ]
        ),
        library(
            "Relay",
            ["Notifications", "Crypto", "Transport", "HTTP2", "Courier", "Endpoints", "PostriderJSON"]
        ),
        library(
            "Agent",
            [
                "Clients", "Courier", "Crypto", "DBus", "Endpoints", "HTTP2", "Transport", "Storage",
                "Schedules", "Notifications", "PostriderJSON",
            ]
        ),

        // 6 · The commands; the only place where everything meets.
        .executableTarget(
            name: "postrider",
            dependencies: [
                "Notifications", "Crypto", "FileTrust", "HTTP2", "Options", "YAML", "Transport", "Courier",
                "Storage", "Clients", "DBus", "Relay", "Agent", "Load",
            ],
            swiftSettings: house
        ),
        .executableTarget(
            name: "postrider-example-app", dependencies: ["Options", "PostriderKit"], swiftSettings: house
        ),

        tests("NotificationsTests", "Units/Notifications", ["Notifications"]),
        tests("CryptoTests", "Units/Crypto", ["Crypto", "COpenSSL"]),
        tests("FileTrustTests", "Units/FileTrust", ["FileTrust", "CFileAccess"]),
        tests("DBusTests", "Units/DBus", ["DBus", "CSystemd", "Transport"]),
        tests("HTTP2Tests", "Units/HTTP2", ["HTTP2", "SeededRandom"]),
        tests("OptionsTests", "Units/Options", ["Options"]),
        tests(
            "LoadTests", "Units/Load",
            [
                "Load", "Clients", "Courier", "Crypto", "Endpoints", "HTTP2", "Notifications", "SeededRandom",
                "Transport", "YAML",
            ]
        ),
        tests("SeededRandomTests", "Units/SeededRandom", ["SeededRandom"]),
        tests("YAMLTests", "Units/YAML", ["YAML"]),
        tests("TransportTests", "Units/Transport", ["Transport", "Crypto", "SeededRandom"]),
        tests("EndpointsTests", "Units/Endpoints", ["Endpoints", "HTTP2", "Transport"]),
        tests("CourierTests", "Units/Courier", ["Courier", "Notifications", "SeededRandom"]),
        tests("StorageTests", "Units/Storage", ["CSQLite", "Storage", "Notifications"]),
        tests("SchedulesTests", "Units/Schedules", ["Notifications", "Schedules", "SeededRandom"]),
        tests(
            "PostriderJSONTests", "Units/PostriderJSON", ["Notifications", "PostriderJSON", "SeededRandom"],
            exclude: ["payloads.json"]
        ),
        tests("PostriderKitTests", "Units/PostriderKit", ["Notifications", "PostriderKit", "Courier"]),
        tests(
            "RelayTests", "Units/Relay",
            [
                "Relay", "Notifications", "Crypto", "HTTP2", "Courier", "Transport", "Endpoints", "Storage",
                "SeededRandom",
            ]
        ),
        tests(
            "SimulationTests", "Simulation",
            [
                "Relay", "Notifications", "Crypto", "HTTP2", "Courier", "Transport", "Endpoints", "Storage",
                "SeededRandom",
            ],
            exclude: ["Command", "run.sh"]
        ),
        tests(
            "ClientsTests", "Units/Clients",
            [
                "Clients", "Courier", "Crypto", "Endpoints", "HTTP2", "Notifications", "Relay", "Storage",
                "Transport",
            ]
        ),
        tests(
            "AgentTests", "Units/Agent",
            [
                "Agent", "Clients", "Courier", "Crypto", "DBus", "Endpoints", "HTTP2", "Notifications",
                "PostriderJSON", "PostriderKit", "Relay", "SeededRandom", "Storage", "Transport",
            ]
        ),
        tests(
            "PostriderTests", "Units/postrider",
            [
                "postrider", "Agent", "Clients", "Courier", "Crypto", "DBus", "Notifications", "Options",
                "Relay", "Storage", "Transport",
            ]
        ),
        tests(
            "EndToEndTests", "EndToEnd", ["postrider", "postrider-example-app", "store-under-fire"],
            exclude: ["Programs", "requirements.txt", "requirements-aapns.txt"]
        ),
        tests(
            "FuzzTests", "Fuzz",
            [
                "Relay", "Notifications", "Crypto", "HTTP2", "Courier", "Endpoints", "PostriderJSON",
                "SeededRandom", "Transport",
            ],
            exclude: ["CFuzzer", "Corpora", "Dictionaries", "Driver", "run.sh"]
        ),
        // Works on a store whose disk fails: `make torture`.
        .executableTarget(
            name: "store-under-fire", dependencies: ["Notifications", "SeededRandom", "Storage"],
            path: "Tests/Torture/Store", swiftSettings: house
        ),
        // The benchmark's client for brokers with other protocols: `make bench`.
        .executableTarget(
            name: "peer-load",
            dependencies: [
                "Crypto", "Endpoints", "HTTP2", "Load", "Notifications", "SeededRandom", "Transport",
            ],
            path: "Tests/Benchmark/Peers", swiftSettings: house
        ),
        // Makes the stores that the benchmark starts a relay on.
        .executableTarget(
            name: "fill-store", dependencies: ["Notifications", "SeededRandom", "Storage"],
            path: "Tests/Benchmark/Filler", swiftSettings: house
        ),
        tests("TidyTests", "Tidy"),
    ],
    swiftLanguageModes: [.v6]
)

// `POSTRIDER_FUZZ=1` (`make fuzz`) makes a program of the fuzz tests: libFuzzer feeds what the tests feed with files.
// Everything is compiled for it and for AddressSanitizer, optimised but with its assertions.
if Context.environment["POSTRIDER_FUZZ"] != nil {
    let sanitizers = "-sanitize=fuzzer,address"
    package.targets.removeAll { $0.name == "FuzzTests" }
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer", "Relay", "Notifications", "Crypto", "HTTP2", "Courier", "Endpoints",
                "PostriderJSON", "Transport",
            ],
            path: "Tests/Fuzz",
            exclude: ["CFuzzer", "Corpora", "Dictionaries", "Replay", "run.sh"],
            swiftSettings: house,
            linkerSettings: [.unsafeFlags([sanitizers, "-use-ld=lld"])]
        ),
    ]
    for target in package.targets where target.type != .system {
        target.swiftSettings?.append(.unsafeFlags([sanitizers, "-O", "-assert-config", "Debug"]))
    }
}

// `POSTRIDER_SIMULATE=1` (`make simulate`) makes a program of the simulation: seeds for as long as one wants.
if Context.environment["POSTRIDER_SIMULATE"] != nil {
    package.targets.removeAll { $0.name == "SimulationTests" }
    package.targets.append(
        .executableTarget(
            name: "simulate",
            dependencies: [
                "Relay", "Notifications", "Crypto", "HTTP2", "Courier", "Transport", "Endpoints", "Storage",
                "SeededRandom",
            ],
            path: "Tests/Simulation",
            exclude: ["Replay", "run.sh"],
            swiftSettings: house
        )
    )
}
