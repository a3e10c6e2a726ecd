import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// A relay that speaks APNs, for tests of code that pushes: the program `postrider dev` on free ports of this machine,
/// with a temporary folder.
///
/// It runs until ``stop()``, until this object is released, or until the test process ends, even if that is killed.
/// Several relays can run at the same time.
///
/// It accepts every device token of 64 to 200 hexadecimal digits. All else is checked as Apple does.
public final class TestRelay: Sendable {
    /// The host of all ports.
    public let host: String
    /// The port for providers of the production environment: HTTP/2 over TLS.
    public let providerPort: Int
    /// The port for providers of the development environment.
    public let developmentProviderPort: Int
    /// The port for devices.
    public let devicePort: Int
    /// The file of the certificate authority that providers must trust, in PEM.
    public let authorityFile: String
    /// The file of the provider's key, in the format of Apple's `.p8`.
    public let keyFile: String
    /// The identifier of the key: `kid` of provider tokens.
    public let keyIdentifier: String
    /// The team that owns the key and the topics: `iss` of provider tokens.
    public let team: String
    /// The apps to which providers can push.
    public let topics: [String]
    /// The file of a client certificate with its key, which a provider can use in place of tokens.
    public let providerCertificateFile: String
    /// The requests that the relay has received.
    public let captures: Captures
    /// The rules that say how the relay handles pushes.
    public let rules: RelayRules
    private let program: String
    private let folder: String
    private let process: TestProcess

    /// The first of ``topics``.
    public var topic: String { topics[0] }

    /// Starts a relay, and returns when it is ready.
    ///
    /// - Parameters:
    ///   - topics: the apps to push to.
    ///   - program: the path of the program, or its name on the `PATH`; nil for the environment variable `POSTRIDER`
    ///     or, if that is not set, `postrider`.
    ///   - options: further options of `postrider dev`, such as `["--apple"]`.
    /// - Throws: ``TestRelayError`` if the relay cannot be started. If it ends early, its own message is on standard
    ///   error.
    public static func start(
        topics: [String] = ["com.example.app"], program: String? = nil, options: [String] = []
    ) async throws(TestRelayError) -> TestRelay {
        precondition(!topics.isEmpty, "a relay needs a topic")
        let environment = ProgramStart.ownEnvironment
        let name = program ?? environment["POSTRIDER"].flatMap { $0.isEmpty ? nil : $0 } ?? "postrider"
        guard let path = ProgramStart.find(name, in: environment) else {
            throw TestRelayError(
                "The program \(name) is not on the PATH: install Postrider, or set the variable POSTRIDER to "
                    + "the program's path.")
        }
        let ports = ["provider", "development", "device"].flatMap { ["--\($0)-port", "0"] }
        let process = try TestProcess.start(
            path,
            ["dev", "--json", "--temporary", "--any-token"] + ports
                + topics.flatMap { ["--topic", $0] } + options)
        guard let line = await process.line(within: .seconds(60), where: { $0.hasPrefix("{") }) else {
            await process.stop()
            throw TestRelayError(
                "'\(path) dev' did not become ready. If it said why, that stands above, on standard error.")
        }
        guard let values = Answer(line), let relay = TestRelay(values, program: path, process) else {
            await process.stop()
            throw TestRelayError("'\(path) dev' is of another version: use the one of this package.")
        }
        return relay
    }

    private init?(_ values: Answer, program: String, _ process: TestProcess) {
        guard let host = values["host"]?.string, let providerPort = values["providerPort"]?.integer,
            let developmentPort = values["developmentProviderPort"]?.integer,
            let devicePort = values["devicePort"]?.integer,
            let authorityFile = values["authorityFile"]?.string, let keyFile = values["keyFile"]?.string,
            let keyIdentifier = values["keyIdentifier"]?.string, let team = values["team"]?.string,
            let topics = values["topics"]?.array?.compactMap(\.string), !topics.isEmpty,
            let certificateFile = values["providerCertificateFile"]?.string,
            let control = values["controlAddress"]?.string,
            let address = try? SocketAddress(control), let folder = Self.folder(of: authorityFile)
        else { return nil }
        self.host = host
        self.providerPort = Int(providerPort)
        self.developmentProviderPort = Int(developmentPort)
        self.devicePort = Int(devicePort)
        self.authorityFile = authorityFile
        self.keyFile = keyFile
        self.keyIdentifier = keyIdentifier
        self.team = team
        self.topics = topics
        providerCertificateFile = certificateFile
        captures = Captures(control: address)
        rules = RelayRules(control: address)
        self.program = program
        self.folder = folder
        self.process = process
    }

    deinit { process.terminate() }

    /// Starts a device that is registered for one app.
    ///
    /// - Parameter topic: the app; nil for the first of ``topics``.
    /// - Throws: ``TestRelayError`` if the device cannot be started or is refused.
    public func device(topic: String? = nil) async throws(TestRelayError) -> TestDevice {
        try await TestDevice.start(program, folder: folder, topic: topic ?? self.topic)
    }

    /// Removes all captures and rules, so that one relay can serve several tests.
    public func reset() async throws(TestRelayError) {
        try await captures.clear()
        try await rules.clear()
    }

    /// Ends the relay, and returns when it has ended and its files are removed.
    public func stop() async { await process.stop() }

    /// Runs a closure with a relay that ends with it.
    public static func with<Outcome>(
        topics: [String] = ["com.example.app"], program: String? = nil, options: [String] = [],
        _ body: (TestRelay) async throws -> Outcome
    ) async throws -> Outcome {
        let relay = try await start(topics: topics, program: program, options: options)
        do {
            let outcome = try await body(relay)
            await relay.stop()
            return outcome
        } catch {
            await relay.stop()
            throw error
        }
    }

    private static func folder(of file: String) -> String? {
        file.lastIndex(of: "/").map { String(file[..<$0]) }
    }
}

/// Why a relay for tests could not be started or asked, or what a test expected of it in vain.
public struct TestRelayError: Error, CustomStringConvertible, Equatable {
    /// The sentence for the author of the test. It may have further lines.
    public let description: String

    init(_ description: String) { self.description = description }
}
