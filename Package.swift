// swift-tools-version: 6.2
import PackageDescription

/// The settings of every Swift target. Warnings are errors, and an unsafe construct without a mark is a warning. In
/// this way the compiler, together with `TidyTests`, checks that only the owners of C modules use pointers.
let strictSettings: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A library of this package. The dependencies named here are exactly the imports that the design allows.
func library(_ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = []) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strictSettings)
}

/// A test target in the folder of its kind: Unit, Integration, Simulation, EndToEnd, Fuzz or Tidy. It may also import
/// the dependencies of its dependencies. Files that are not Swift are excluded.
func tests(
    _ name: String, _ path: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/" + path, exclude: exclude,
        swiftSettings: strictSettings)
}

/// The dependencies of the fuzz targets, and of the simulation.
let fuzzed: [Target.Dependency] = ["PostriderRelay", "PostriderWeb", "PostriderWebPush"]
let simulated: [Target.Dependency] = ["PostriderRelay", "PostriderStorage"]

let package = Package(
    name: "postrider",
    products: [
        .executable(name: "postrider", targets: ["postrider"]),
        .executable(name: "postrider-agent", targets: ["postrider-agent"]),
        .executable(name: "postrider-example-app", targets: ["postrider-example-app"]),
        .library(name: "PostriderKit", targets: ["PostriderKit"]),
        .library(name: "PostriderTesting", targets: ["PostriderTesting"]),
    ],
    targets: [
        // 0 · C modules: headers and one-line shims, no logic.
        .systemLibrary(name: "CPostriderCrypto"),
        .systemLibrary(name: "CPostriderCurl"),
        .systemLibrary(name: "CPostriderFileAccess"),
        .systemLibrary(name: "CPostriderGetopt"),
        .systemLibrary(name: "CPostriderJournal"),
        .systemLibrary(name: "CPostriderLinux"),
        .systemLibrary(name: "CPostriderMicrohttpd"),
        .systemLibrary(name: "CPostriderNghttp2"),
        .systemLibrary(name: "CPostriderPQ"),
        .systemLibrary(name: "CPostriderSQLite"),
        .systemLibrary(name: "CPostriderSSL"),
        .systemLibrary(name: "CPostriderSystem"),
        .systemLibrary(name: "CPostriderSystemd"),
        .systemLibrary(name: "CPostriderYAML"),

        // 1 · Safe wrappers of C libraries, the shared types, the check of file access, and seeded random numbers.
        library("PostriderNotifications"),
        library("PostriderFileTrust", ["CPostriderFileAccess"]),
        library("PostriderCrypto", ["CPostriderCrypto", "PostriderFileTrust"]),
        library("PostriderCallbacks", ["PostriderNotifications", "PostriderCrypto"]),
        library("PostriderDBus", ["CPostriderSystemd"]),
        library(
            "PostriderConsole", ["PostriderNotifications", "PostriderCrypto"],
            resources: [.embedInCode("Pages")]),
        library("PostriderEvidence", ["PostriderCrypto"]),
        library("PostriderHTTP2", ["CPostriderNghttp2"]),
        library("PostriderJournal", ["CPostriderJournal"]),
        library("PostriderMetrics"),
        library("PostriderOptions", ["CPostriderGetopt"]),
        library("PostriderProxies"),
        library("PostriderWeb", ["PostriderNotifications", "PostriderCrypto"]),
        library("PostriderSeededRandom"),
        library("PostriderYAML", ["CPostriderYAML"]),

        // 2 · Sockets, the device protocol, storage, times of local notifications, the JSON of payloads.
        library("PostriderTransport", ["CPostriderLinux", "PostriderProxies"]),
        library("PostriderCourier", ["PostriderNotifications"]),
        library("PostriderSpans", ["PostriderNotifications", "PostriderCourier"]),
        library("PostriderCluster", ["PostriderNotifications"]),
        library("PostriderStorage", ["CPostriderSQLite", "PostriderNotifications", "PostriderCluster"]),
        library(
            "PostriderPostgres",
            ["CPostriderPQ", "PostriderNotifications", "PostriderCluster", "PostriderStorage"]),
        library("PostriderSchedules", ["PostriderNotifications"]),
        library("PostriderJSON", ["PostriderNotifications"]),

        // The rules of `postrider dev`, and its captured requests.
        library("PostriderCaptures", ["PostriderNotifications", "PostriderJSON"]),
        library("PostriderRules", ["PostriderNotifications", "PostriderJSON", "PostriderSeededRandom"]),
        library(
            "PostriderRuleFiles",
            ["PostriderNotifications", "PostriderHTTP2", "PostriderRules", "PostriderYAML"]),

        // 3 · Further services of the operating system, on a loop; TLS for connections; HTTP/2 on a connection.
        library("PostriderSystem", ["CPostriderSystem", "PostriderTransport"]),
        library("PostriderTLS", ["CPostriderSSL", "PostriderCrypto", "PostriderTransport"]),
        library("PostriderEndpoints", ["PostriderTransport", "PostriderHTTP2"]),
        library("PostriderHTTP1", ["CPostriderMicrohttpd", "PostriderNotifications", "PostriderTransport"]),

        // 4 · The clients of both protocols, links between nodes, the sender of callbacks, and the library for apps.
        library(
            "PostriderCallbackSender",
            [
                "CPostriderCurl", "PostriderCallbacks", "PostriderNotifications", "PostriderSpans",
                "PostriderSystem", "PostriderTransport",
            ]),
        library(
            "PostriderClients",
            [
                "PostriderNotifications", "PostriderCrypto", "PostriderTLS", "PostriderSystem",
                "PostriderTransport", "PostriderHTTP2", "PostriderCourier", "PostriderEndpoints",
            ]),
        library(
            "PostriderNodes",
            [
                "PostriderNotifications", "PostriderTLS", "PostriderTransport", "PostriderHTTP2",
                "PostriderCourier", "PostriderEndpoints", "PostriderCluster",
            ]),
        library(
            "PostriderKit",
            [
                "PostriderNotifications", "PostriderSystem", "PostriderTransport", "PostriderHTTP2",
                "PostriderCourier", "PostriderEndpoints", "PostriderSchedules", "PostriderJSON",
            ]),
        // A relay for the tests of providers.
        library(
            "PostriderTesting",
            [
                "PostriderNotifications", "PostriderSystem", "PostriderTransport", "PostriderHTTP2",
                "PostriderEndpoints", "PostriderJSON",
            ]),

        // The relay's rules without I/O: a device's queue, channels, and which pushes are accepted.
        library("PostriderDeviceQueue", ["PostriderNotifications", "PostriderCourier", "PostriderMetrics"]),
        library("PostriderChannels", ["PostriderNotifications", "PostriderCourier"]),
        library(
            "PostriderProviderAPI",
            [
                "PostriderNotifications", "PostriderCrypto", "PostriderHTTP2", "PostriderJSON",
                "PostriderChannels", "PostriderCallbacks",
            ]),
        library("PostriderWebPush", ["PostriderNotifications", "PostriderCrypto", "PostriderJSON"]),

        // 5 · The relay, the device agent, and the load generator.
        library(
            "PostriderLoad",
            [
                "PostriderNotifications", "PostriderCrypto", "PostriderSeededRandom", "PostriderYAML",
                "PostriderTLS", "PostriderSystem", "PostriderTransport", "PostriderHTTP2", "PostriderCourier",
                "PostriderClients",
            ]),
        library(
            "PostriderRelay",
            [
                "PostriderNotifications", "PostriderCrypto", "PostriderTLS", "PostriderSystem",
                "PostriderTransport", "PostriderHTTP2", "PostriderCourier", "PostriderEndpoints",
                "PostriderJSON", "PostriderCaptures", "PostriderRules", "PostriderMetrics",
                "PostriderDeviceQueue", "PostriderChannels", "PostriderProviderAPI",
                "PostriderEvidence", "PostriderCallbacks", "PostriderConsole", "PostriderWeb",
                "PostriderWebPush", "PostriderCluster", "PostriderNodes", "PostriderSpans",
            ]),
        library(
            "PostriderAgent",
            [
                "PostriderClients", "PostriderCourier", "PostriderCrypto", "PostriderDBus",
                "PostriderEndpoints", "PostriderHTTP2", "PostriderTLS", "PostriderSystem",
                "PostriderTransport", "PostriderStorage", "PostriderSchedules", "PostriderNotifications",
                "PostriderJSON", "PostriderFileTrust",
            ]),

        // 6 · What the programs share.
        library(
            "PostriderCommands",
            [
                "PostriderClients", "PostriderCourier", "PostriderCrypto", "PostriderFileTrust",
                "PostriderHTTP1", "PostriderHTTP2", "PostriderJournal", "PostriderMetrics",
                "PostriderNotifications", "PostriderOptions", "PostriderSystem", "PostriderTransport",
                "PostriderYAML",
            ]),
        // 7 · The programs.
        .executableTarget(
            name: "postrider-agent",
            dependencies: [
                "PostriderAgent", "PostriderClients", "PostriderCommands", "PostriderCourier",
                "PostriderCrypto", "PostriderDBus", "PostriderFileTrust", "PostriderMetrics",
                "PostriderNotifications", "PostriderOptions", "PostriderProxies", "PostriderSystem",
                "PostriderTLS", "PostriderTransport", "PostriderYAML",
            ],
            swiftSettings: strictSettings),
        .executableTarget(
            name: "postrider",
            dependencies: [
                "PostriderCallbackSender", "PostriderCallbacks", "PostriderCaptures", "PostriderClients",
                "PostriderCluster", "PostriderCommands", "PostriderConsole", "PostriderCourier",
                "PostriderCrypto",
                "PostriderEvidence", "PostriderFileTrust", "PostriderHTTP1", "PostriderHTTP2",
                "PostriderJSON", "PostriderLoad", "PostriderMetrics", "PostriderNotifications",
                "PostriderOptions", "PostriderPostgres", "PostriderProviderAPI", "PostriderRelay",
                "PostriderRuleFiles", "PostriderRules", "PostriderSpans", "PostriderStorage",
                "PostriderSystem",
                "PostriderTLS", "PostriderTransport", "PostriderYAML",
            ],
            swiftSettings: strictSettings),
        .executableTarget(
            name: "postrider-example-app", dependencies: ["PostriderOptions", "PostriderKit"],
            swiftSettings: strictSettings),

        // Tests without the kernel: no sockets, files of their own, processes or loops. `make test-unit` runs them.
        tests("AgentTests", "Unit/Agent", ["PostriderAgent", "PostriderSeededRandom"]),
        tests("CallbacksTests", "Unit/Callbacks", ["PostriderCallbacks", "RelayFixtures"]),
        tests("CapturesTests", "Unit/Captures", ["PostriderCaptures"]),
        tests("ChannelsTests", "Unit/Channels", ["PostriderChannels", "RelayFixtures"]),
        tests("ClientsTests", "Unit/Clients", ["PostriderClients"]),
        tests(
            "ClusterTests", "Unit/Cluster",
            ["PostriderCluster", "PostriderStorage", "PostriderSeededRandom"]),
        tests("ConsoleTests", "Unit/Console", ["PostriderConsole"]),
        tests("CourierTests", "Unit/Courier", ["PostriderCourier", "PostriderSeededRandom"]),
        tests("CryptoTests", "Unit/Crypto", ["PostriderCrypto"]),
        tests("DBusTests", "Unit/DBus", ["PostriderDBus"]),
        tests("DeviceQueueTests", "Unit/DeviceQueue", ["PostriderDeviceQueue", "RelayFixtures"]),
        tests("EvidenceTests", "Unit/Evidence", ["PostriderEvidence"]),
        tests("HTTP2Tests", "Unit/HTTP2", ["PostriderHTTP2", "PostriderSeededRandom"]),
        tests("LoadTests", "Unit/Load", ["PostriderLoad"]),
        tests("MetricsTests", "Unit/Metrics", ["PostriderMetrics"]),
        tests("NotificationsTests", "Unit/Notifications", ["PostriderNotifications"]),
        tests("OptionsTests", "Unit/Options", ["PostriderOptions"]),
        tests("PostriderTests", "Unit/postrider", ["postrider", "postrider-agent", "PostriderSeededRandom"]),
        tests(
            "PostriderJSONTests", "Unit/PostriderJSON", ["PostriderJSON", "PostriderSeededRandom"],
            exclude: ["payloads.json"]),
        tests("PostriderKitTests", "Unit/PostriderKit", ["PostriderKit", "PostriderCourier"]),
        tests("ProviderAPITests", "Unit/ProviderAPI", ["PostriderProviderAPI", "RelayFixtures"]),
        tests("ProxiesTests", "Unit/Proxies", ["PostriderProxies"]),
        tests("NodesTests", "Unit/Nodes", ["PostriderNodes"]),
        tests(
            "RelayTests", "Unit/Relay",
            ["PostriderRelay", "PostriderStorage", "PostriderSeededRandom", "RelayFixtures"]),
        tests("RuleFilesTests", "Unit/RuleFiles", ["PostriderRuleFiles"]),
        tests("RulesTests", "Unit/Rules", ["PostriderRules"]),
        tests("SchedulesTests", "Unit/Schedules", ["PostriderSchedules", "PostriderSeededRandom"]),
        tests("SpansTests", "Unit/Spans", ["PostriderSpans", "PostriderCourier", "RelayFixtures"]),
        tests("SeededRandomTests", "Unit/SeededRandom", ["PostriderSeededRandom"]),
        tests("TransportTests", "Unit/Transport", ["PostriderTransport", "PostriderSeededRandom"]),
        tests("WebTests", "Unit/Web", ["PostriderWeb", "PostriderSeededRandom"]),
        tests("WebPushTests", "Unit/WebPush", ["PostriderWebPush"]),
        tests("YAMLTests", "Unit/YAML", ["PostriderYAML"]),
        // Values that the tests of the relay and of its rules share.
        .target(
            name: "RelayFixtures", dependencies: ["PostriderProviderAPI", "PostriderSeededRandom"],
            path: "Tests/Unit/Fixtures", swiftSettings: strictSettings),
        // Programs that tests run, and a PostgreSQL server.
        .target(
            name: "ProgramFixtures",
            dependencies: ["CPostriderSystem", "PostriderSystem", "PostriderTransport"],
            path: "Tests/Integration/Programs", swiftSettings: strictSettings),
        .target(
            name: "DatabaseFixtures", dependencies: ["ProgramFixtures"], path: "Tests/Integration/Database",
            swiftSettings: strictSettings),
        // Tests with loops, sockets, processes and stores in the test process, relays and agents included.
        tests(
            "AgentIntegrationTests", "Integration/Agent",
            ["PostriderAgent", "PostriderKit", "PostriderRelay", "ProgramFixtures"]),
        tests(
            "ClientsIntegrationTests", "Integration/Clients",
            ["PostriderClients", "PostriderRelay", "PostriderStorage"]),
        tests(
            "CallbackSenderIntegrationTests", "Integration/CallbackSender",
            ["PostriderCallbackSender", "PostriderSpans"]),
        tests("DBusIntegrationTests", "Integration/DBus", ["PostriderDBus", "ProgramFixtures"]),
        tests("EndpointsIntegrationTests", "Integration/Endpoints", ["PostriderEndpoints"]),
        tests("FileTrustIntegrationTests", "Integration/FileTrust", ["PostriderFileTrust"]),
        tests("HTTP1IntegrationTests", "Integration/HTTP1", ["PostriderHTTP1", "PostriderCrypto"]),
        tests("LoadIntegrationTests", "Integration/Load", ["PostriderLoad"]),
        tests(
            "PostriderIntegrationTests", "Integration/postrider",
            ["postrider", "postrider-agent", "ProgramFixtures", "DatabaseFixtures"]),
        tests("NodesIntegrationTests", "Integration/Nodes", ["PostriderNodes"]),
        tests("RelayIntegrationTests", "Integration/Relay", ["PostriderRelay"]),
        tests(
            "StorageIntegrationTests", "Integration/Storage",
            ["PostriderStorage", "PostriderPostgres", "DatabaseFixtures"]),
        tests("SystemIntegrationTests", "Integration/System", ["PostriderSystem"]),
        tests("TLSIntegrationTests", "Integration/TLS", ["PostriderTLS", "ProgramFixtures"]),
        tests(
            "TransportIntegrationTests", "Integration/Transport",
            ["PostriderTransport", "PostriderSystem", "PostriderTLS"]),
        tests("SimulationTests", "Simulation", simulated, exclude: ["Command", "run.sh"]),
        tests(
            "EndToEndTests", "EndToEnd",
            [
                "postrider", "postrider-agent", "postrider-example-app", "PostriderTesting",
                "store-under-fire", "DatabaseFixtures",
            ],
            exclude: ["Programs", "requirements.txt", "requirements-aapns.txt"]),
        tests(
            "FuzzTests", "Fuzz", fuzzed, exclude: ["CFuzzer", "Corpora", "Dictionaries", "Driver", "run.sh"]),
        // Uses a store whose disk fails: `make torture`.
        .executableTarget(
            name: "store-under-fire",
            dependencies: ["PostriderNotifications", "PostriderSeededRandom", "PostriderStorage"],
            path: "Tests/Torture/Store", swiftSettings: strictSettings),
        // The benchmark's client for brokers with other protocols: `make bench`.
        .executableTarget(
            name: "peer-load",
            dependencies: [
                "PostriderCrypto", "PostriderEndpoints", "PostriderHTTP2", "PostriderLoad",
                "PostriderNotifications", "PostriderSeededRandom", "PostriderTLS", "PostriderTransport",
            ],
            path: "Tests/Benchmark/Peers", swiftSettings: strictSettings),
        // Makes the stores with which the benchmark starts a relay.
        .executableTarget(
            name: "fill-store",
            dependencies: ["PostriderNotifications", "PostriderSeededRandom", "PostriderStorage"],
            path: "Tests/Benchmark/Filler", swiftSettings: strictSettings),
        tests("TidyTests", "Tidy", ["ProgramFixtures"]),
    ],
    swiftLanguageModes: [.v6]
)

// `POSTRIDER_FUZZ=1` (`make fuzz`) makes a program of the fuzz tests, with input from libFuzzer in place of files.
// Everything is compiled with libFuzzer and AddressSanitizer, optimised but with assertions.
if Context.environment["POSTRIDER_FUZZ"] != nil {
    let sanitizers = "-sanitize=fuzzer,address"
    package.targets.removeAll { $0.name == "FuzzTests" }
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .executableTarget(
            name: "fuzz", dependencies: fuzzed + ["CFuzzer"], path: "Tests/Fuzz",
            exclude: ["CFuzzer", "Corpora", "Dictionaries", "Replay", "run.sh"],
            swiftSettings: strictSettings,
            linkerSettings: [.unsafeFlags([sanitizers, "-use-ld=lld"])]),
    ]
    for target in package.targets where target.type != .system {
        target.swiftSettings?.append(.unsafeFlags([sanitizers, "-O", "-assert-config", "Debug"]))
    }
}

// `POSTRIDER_SIMULATE=1` (`make simulate`) makes a program of the simulation, which runs seeds for any time.
if Context.environment["POSTRIDER_SIMULATE"] != nil {
    package.targets.removeAll { $0.name == "SimulationTests" }
    package.targets.append(
        .executableTarget(
            name: "simulate", dependencies: simulated, path: "Tests/Simulation",
            exclude: ["Replay", "run.sh"], swiftSettings: strictSettings))
}

// `POSTRIDER_UNIT_TESTS=1` (`make test-unit`) leaves only the tests of Tests/Unit. The package then has another name,
// so that their test program does not replace that of all tests.
if Context.environment["POSTRIDER_UNIT_TESTS"] != nil {
    package.name = "postrider-unit"
    package.targets.removeAll { $0.path?.hasPrefix("Tests/Unit/") == false }
}
