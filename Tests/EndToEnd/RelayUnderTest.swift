import Foundation
import Testing

/// A relay that was started with `postrider dev --json`, and its addresses for clients.
struct RelayUnderTest {
    /// The relay's description of itself; the programs in Python read the same file.
    struct Description: Decodable {
        let host: String
        let providerPort: Int
        let developmentProviderPort: Int
        let devicePort: Int
        let authorityFile: String
        let providerCertificateFile: String
        let enrolmentKeyFile: String
        let topics: [String]
        let metricsAddress: String?
        let capturesAddress: String?
        let controlAddress: String
    }

    let program: Program
    let description: Description
    /// The path of the file with the description.
    let file: String

    /// The only topic.
    var topic: String { description.topics[0] }

    /// The URL of the provider API for a device token, in one environment.
    func url(_ token: String, isDevelopment: Bool = false) -> String {
        let port = isDevelopment ? description.developmentProviderPort : description.providerPort
        return "https://\(description.host):\(port)/3/device/\(token)"
    }
}

extension Stage {
    /// Starts `postrider serve` with the certificate of a relay that `startRelay` has started on this stage.
    ///
    /// - Parameters:
    ///   - data: the data directory; that of the other relay, which must have ended, if nil.
    ///   - options: options besides those for the certificate, the data and the addresses.
    func startServe(
        data: String? = nil, deviceAddress: String = "127.0.0.1:0", options: [String]
    ) throws -> Program {
        let folder = path("dev")
        let needed = [
            "serve", "--certificate", folder + "/relay.pem", "--private-key", folder + "/relay.key",
            "--data-directory", data ?? folder + "/data", "--provider-address", "127.0.0.1:0",
            "--device-address", deviceAddress,
        ]
        return try start("postrider", needed + options)
    }

    /// Starts a relay and returns when it listens. A second start on the same stage has the same store.
    ///
    /// - Parameters:
    ///   - ports: for providers and for devices; 0 for any free port.
    ///   - options: options of `postrider dev`.
    func startRelay(
        _ ports: [String] = ["0", "0"], options: [String] = []
    ) async throws -> RelayUnderTest {
        let program = try start(
            "postrider",
            ["dev", "--json", "--log-level", "info", "--directory", path("dev")]
                + ["--provider-port", ports[0], "--development-port", "0", "--device-port", ports[1]]
                + options)
        let line = try await program.line { $0.hasPrefix("{") && $0.contains(#""providerPort":"#) }
        let description = try JSONDecoder().decode(RelayUnderTest.Description.self, from: Data(line.utf8))
        return RelayUnderTest(
            program: program, description: description, file: try write(line, to: "relay.json"))
    }

    /// Returns two ports that stay reserved while a relay restarts.
    func lastingPorts() async throws -> [String] {
        let line = try await python("ports.py", []).line { !$0.isEmpty }
        return line.split(separator: " ").map(String.init)
    }

    /// Starts a grpcio device and returns when it is registered.
    func startDevice(
        of relay: RelayUnderTest, isDevelopment: Bool = false
    ) async throws -> DeviceUnderTest {
        let program = try python("receive.py", [relay.file] + (isDevelopment ? ["--development"] : []))
        return DeviceUnderTest(
            program: program,
            bearer: "bearer " + (try await program.line(startingWith: "bearer ")),
            token: try await program.line(startingWith: "token ")
        )
    }
}

/// The number of pushes that a relay has accepted, and their results.
struct Counters: Decodable {
    let accepted: Int
    let delivered: Int
    let pending: Int
    let expired: Int
    let replaced: Int
    let discarded: Int
    let dropped: [String: Int]

    var isBalanced: Bool {
        let ends = delivered + pending + expired + replaced + discarded
        return accepted == ends + dropped.values.reduce(0, +)
    }
}

extension Stage {
    /// Returns the counters of `postrider status` for a relay.
    func counters(of relay: RelayUnderTest) async throws -> Counters {
        struct Status: Decodable {
            let counters: Counters
        }
        let program = try start(
            "postrider", ["status", "--json", "--control", relay.description.controlAddress])
        #expect(try await program.exitCode() == 0, "\(program.transcript)")
        let text = program.output.joined(separator: "\n")
        return try JSONDecoder().decode(Status.self, from: Data(text.utf8)).counters
    }
}

/// A grpcio device that prints what it receives.
struct DeviceUnderTest {
    let program: Program
    /// The value of `authorization` for pushes to the device.
    let bearer: String
    /// The device token of its app.
    let token: String

    /// Waits for the notification of this identity, and returns its payload.
    func payload(of identity: UUID) async throws -> String {
        try await program.line(startingWith: "received \(identity.uuidString.lowercased()) ")
    }
}
