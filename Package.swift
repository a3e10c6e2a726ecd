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

/// What tests of shards and the simulation drive.
let relayAndParts: [Target.Dependency] = [
    "PostriderRelay", "PostriderNotifications", "PostriderCrypto", "PostriderHTTP2", "PostriderCourier",
    "PostriderTransport", "PostriderEndpoints", "PostriderStorage", "PostriderSeededRandom",
    "PostriderMetrics",
]

let package = Package(
    name: "postrider",
    products: [
        .executable(name: "postrider", targets: ["postrider"]),
        .executable(name: "postrider-example-app", targets: ["postrider-example-app"]),
        .library(name: "PostriderKit", targets: ["PostriderKit"]),
    ],
    targets: [
        // 0 · C modules: headers and one-line shims, no logic.
        .systemLibrary(name: "CPostriderCrypto"),
        .systemLibrary(name: "CPostriderFileAccess"),
        .systemLibrary(name: "CPostriderGetopt"),
        .systemLibrary(name: "CPostriderLinux"),
        .systemLibrary(name: "CPostriderMicrohttpd"),
        .systemLibrary(name: "CPostriderNghttp2"),
        .systemLibrary(name: "CPostriderSQLite"),
        .systemLibrary(name: "CPostriderSSL"),
        .systemLibrary(name: "CPostriderSystemd"),
        .systemLibrary(name: "CPostriderYAML"),

        // 1 · C libraries made safe, the words, who may touch a file, and numbers that a seed repeats.
        library("PostriderNotifications"),
        library("PostriderFileTrust", ["CPostriderFileAccess"]),
        library("PostriderCrypto", ["CPostriderCrypto", "PostriderFileTrust"]),
        library("PostriderDBus", ["CPostriderSystemd"]),
        library("PostriderHTTP2", ["CPostriderNghttp2"]),
        library("PostriderMetrics"),
        library("PostriderOptions", ["CPostriderGetopt"]),
        library("PostriderSeededRandom"),
        library("PostriderYAML", ["CPostriderYAML"]),

        // 2 · Sockets, the device protocol, rows, when local notifications are due, the JSON of payloads.
        library("PostriderTransport", ["CPostriderLinux"]),
        library("PostriderCourier", ["PostriderNotifications"]),
        library("PostriderStorage", ["CPostriderSQLite", "PostriderNotifications"]),
        library("PostriderSchedules", ["PostriderNotifications"]),
        library("PostriderJSON", ["PostriderNotifications"]),

        // What `postrider dev` is told to do to pushes, and what it has been sent.
        library("PostriderCaptures", ["PostriderNotifications", "PostriderJSON"]),
        library("PostriderRules", ["PostriderNotifications", "PostriderJSON", "PostriderSeededRandom"]),
        library(
            "PostriderRuleFiles",
            ["PostriderNotifications", "PostriderHTTP2", "PostriderRules", "PostriderYAML"]),

        // 3 · TLS for connections, an HTTP/2 session on a wire.
        library("PostriderTLS", ["CPostriderSSL", "PostriderCrypto", "PostriderTransport"]),
        library("PostriderEndpoints", ["PostriderTransport", "PostriderHTTP2"]),
        library("PostriderHTTP1", ["CPostriderMicrohttpd", "PostriderTransport"]),

        // 4 · The far ends of both sockets, and the library that an app links.
        library(
            "PostriderClients",
            [
                "PostriderNotifications", "PostriderCrypto", "PostriderTLS", "PostriderTransport",
                "PostriderHTTP2", "PostriderCourier", "PostriderEndpoints",
            ]),
        library(
            "PostriderKit",
            [
                "PostriderNotifications", "PostriderTransport", "PostriderHTTP2", "PostriderCourier",
                "PostriderEndpoints", "PostriderSchedules", "PostriderJSON",
            ]
        ),

        // 5 · The server, the device agent, fleets of providers and devices.
        library(
            "PostriderLoad",
            [
                "PostriderNotifications", "PostriderCrypto", "PostriderSeededRandom", "PostriderYAML",
                "PostriderTLS", "PostriderTransport", "PostriderHTTP2", "PostriderCourier",
                "PostriderClients",
            ]),
        library(
            "PostriderRelay",
            [
                "PostriderNotifications", "PostriderCrypto", "PostriderTLS", "PostriderTransport",
                "PostriderHTTP2", "PostriderCourier", "PostriderEndpoints", "PostriderJSON",
                "PostriderCaptures", "PostriderRules", "PostriderMetrics",
            ]),
        library(
            "PostriderAgent",
            [
                "PostriderClients", "PostriderCourier", "PostriderCrypto", "PostriderDBus",
                "PostriderEndpoints", "PostriderHTTP2", "PostriderTLS", "PostriderTransport",
                "PostriderStorage", "PostriderSchedules", "PostriderNotifications", "PostriderJSON",
                "PostriderFileTrust",
            ]
        ),

        // 6 · The commands; the only place where everything meets.
        .executableTarget(
            name: "postrider",
            dependencies: [
                "PostriderNotifications", "PostriderCrypto", "PostriderFileTrust", "PostriderHTTP2",
                "PostriderOptions", "PostriderYAML", "PostriderTLS", "PostriderTransport", "PostriderCourier",
                "PostriderCaptures", "PostriderRules", "PostriderRuleFiles",
                "PostriderStorage", "PostriderClients", "PostriderDBus", "PostriderRelay", "PostriderAgent",
                "PostriderLoad", "PostriderMetrics", "PostriderHTTP1",
            ],
            swiftSettings: house
        ),
        .executableTarget(
            name: "postrider-example-app", dependencies: ["PostriderOptions", "PostriderKit"],
            swiftSettings: house
        ),

        tests("NotificationsTests", "Units/Notifications", ["PostriderNotifications"]),
        tests("CryptoTests", "Units/Crypto", ["PostriderCrypto"]),
        tests(
            "TLSTests", "Units/TLS",
            ["PostriderTLS", "PostriderCrypto", "PostriderTransport", "CPostriderSSL"]),
        tests("FileTrustTests", "Units/FileTrust", ["PostriderFileTrust", "CPostriderFileAccess"]),
        tests("DBusTests", "Units/DBus", ["PostriderDBus", "CPostriderSystemd", "PostriderTransport"]),
        tests("HTTP2Tests", "Units/HTTP2", ["PostriderHTTP2", "PostriderSeededRandom"]),
        tests("HTTP1Tests", "Units/HTTP1", ["PostriderHTTP1", "PostriderCrypto", "PostriderTransport"]),
        tests("MetricsTests", "Units/Metrics", ["PostriderMetrics"]),
        tests("OptionsTests", "Units/Options", ["PostriderOptions"]),
        tests(
            "LoadTests", "Units/Load",
            [
                "PostriderLoad", "PostriderClients", "PostriderCourier", "PostriderCrypto",
                "PostriderEndpoints", "PostriderHTTP2", "PostriderNotifications", "PostriderSeededRandom",
                "PostriderTLS", "PostriderTransport", "PostriderYAML",
            ]),
        tests("SeededRandomTests", "Units/SeededRandom", ["PostriderSeededRandom"]),
        tests("YAMLTests", "Units/YAML", ["PostriderYAML"]),
        tests("CapturesTests", "Units/Captures", ["PostriderCaptures", "PostriderNotifications"]),
        tests("RulesTests", "Units/Rules", ["PostriderNotifications", "PostriderRules"]),
        tests(
            "RuleFilesTests", "Units/RuleFiles",
            ["PostriderNotifications", "PostriderRuleFiles", "PostriderRules", "PostriderYAML"]),
        tests(
            "TransportTests", "Units/Transport",
            ["PostriderTLS", "PostriderTransport", "PostriderCrypto", "PostriderSeededRandom"]),
        tests(
            "EndpointsTests", "Units/Endpoints",
            ["PostriderEndpoints", "PostriderHTTP2", "PostriderTransport"]),
        tests(
            "CourierTests", "Units/Courier",
            ["PostriderCourier", "PostriderNotifications", "PostriderSeededRandom"]),
        tests(
            "StorageTests", "Units/Storage",
            ["CPostriderSQLite", "PostriderStorage", "PostriderNotifications"]),
        tests(
            "SchedulesTests", "Units/Schedules",
            ["PostriderNotifications", "PostriderSchedules", "PostriderSeededRandom"]),
        tests(
            "PostriderJSONTests", "Units/PostriderJSON",
            ["PostriderNotifications", "PostriderJSON", "PostriderSeededRandom"],
            exclude: ["payloads.json"]
        ),
        tests(
            "PostriderKitTests", "Units/PostriderKit",
            ["PostriderNotifications", "PostriderKit", "PostriderCourier"]),
        tests("RelayTests", "Units/Relay", relayAndParts),
        tests("SimulationTests", "Simulation", relayAndParts, exclude: ["Command", "run.sh"]),
        tests(
            "ClientsTests", "Units/Clients",
            [
                "PostriderClients", "PostriderCourier", "PostriderCrypto", "PostriderEndpoints",
                "PostriderHTTP2", "PostriderNotifications", "PostriderRelay", "PostriderStorage",
                "PostriderTLS", "PostriderTransport",
            ]),
        tests(
            "AgentTests", "Units/Agent",
            [
                "PostriderAgent", "PostriderClients", "PostriderCourier", "PostriderCrypto", "PostriderDBus",
                "PostriderEndpoints", "PostriderHTTP2", "PostriderNotifications",
                "PostriderJSON", "PostriderKit", "PostriderRelay", "PostriderSeededRandom",
                "PostriderStorage", "PostriderTLS", "PostriderTransport",
            ]),
        tests(
            "PostriderTests", "Units/postrider",
            [
                "postrider", "PostriderAgent", "PostriderClients", "PostriderCourier", "PostriderCrypto",
                "PostriderDBus", "PostriderNotifications", "PostriderOptions",
                "PostriderRelay", "PostriderStorage", "PostriderTLS", "PostriderTransport",
                "PostriderMetrics", "PostriderHTTP1",
            ]),
        tests(
            "EndToEndTests", "EndToEnd", ["postrider", "postrider-example-app", "store-under-fire"],
            exclude: ["Programs", "requirements.txt", "requirements-aapns.txt"]
        ),
        tests(
            "FuzzTests", "Fuzz",
            [
                "PostriderRelay", "PostriderNotifications", "PostriderCrypto", "PostriderHTTP2",
                "PostriderCourier", "PostriderEndpoints", "PostriderJSON",
                "PostriderSeededRandom", "PostriderTLS", "PostriderTransport",
            ],
            exclude: ["CFuzzer", "Corpora", "Dictionaries", "Driver", "run.sh"]
        ),
        // Works on a store whose disk fails: `make torture`.
        .executableTarget(
            name: "store-under-fire",
            dependencies: ["PostriderNotifications", "PostriderSeededRandom", "PostriderStorage"],
            path: "Tests/Torture/Store", swiftSettings: house
        ),
        // The benchmark's client for brokers with other protocols: `make bench`.
        .executableTarget(
            name: "peer-load",
            dependencies: [
                "PostriderCrypto", "PostriderEndpoints", "PostriderHTTP2", "PostriderLoad",
                "PostriderNotifications", "PostriderSeededRandom", "PostriderTLS", "PostriderTransport",
            ],
            path: "Tests/Benchmark/Peers", swiftSettings: house
        ),
        // Makes the stores that the benchmark starts a relay on.
        .executableTarget(
            name: "fill-store",
            dependencies: ["PostriderNotifications", "PostriderSeededRandom", "PostriderStorage"],
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
                "CFuzzer", "PostriderRelay", "PostriderNotifications", "PostriderCrypto", "PostriderHTTP2",
                "PostriderCourier", "PostriderEndpoints", "PostriderJSON", "PostriderTLS",
                "PostriderTransport",
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
            dependencies: relayAndParts,
            path: "Tests/Simulation",
            exclude: ["Replay", "run.sh"],
            swiftSettings: house
        )
    )
}
