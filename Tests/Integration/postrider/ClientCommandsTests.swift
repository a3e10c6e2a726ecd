import Foundation
import PostriderClients
import PostriderCourier
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderStorage
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The commands of a provider and a device")
struct ClientCommandsTests {
    /// Runs a relay in this process, with all the files that `postrider dev` would have made.
    private func withRelay(_ body: (DevFolder, DevValues) async throws -> Void) async throws {
        let folder = DevFolder.fresh()
        defer { folder.remove() }
        let topics = [Topic("com.example.app")].compactMap(\.self)
        let changes = try folder.prepare(topics: topics, now: Moment(milliseconds: 1))
        let configuration = RelayConfiguration(
            providerAddresses: [try SocketAddress("127.0.0.1:0")],
            deviceAddresses: [try SocketAddress("127.0.0.1:0")],
            controlAddress: try SocketAddress(unixPath: folder.controlSocket),
            certificateChainFile: folder.certificateFile, privateKeyFile: folder.privateKeyFile, shards: 1,
            user: getuid())
        let relay = try await Relay.start(configuration, log: .none) {
            let store = MemoryStore()
            store.apply(changes) { _ in }
            return store
        }
        var values = folder.sampleValues
        values.providerPort = relay.providerAddresses[0].port ?? 0
        values.devicePort = relay.deviceAddresses[0].port ?? 0
        try values.write(to: folder)
        try await body(folder, values)
        await relay.stop()
    }

    /// Enrols a device, takes its token and disconnects.
    private func enrol(_ folder: DevFolder, state: String) async throws -> String {
        let options = try DeviceCommand.table.parse(["-d", folder.path, "--state", state])
        let order = try DeviceArguments(options, environment: [:])
        let kept = try await DeviceCommand.enrol(order)
        try order.write(kept)
        return try await LoopThread.run("device") { loop in
            let owner = TokenTaker(loop)
            let client = DeviceClient(
                .init(relays: [order.relay], identity: kept.identity, secret: kept.secret, agent: "test"),
                topics: order.registrations, on: loop, random: { 0 }, delegate: owner)
            owner.client = client
            client.start()
            return { withExtendedLifetime(client) { owner.token } }
        }
    }

    @Test("push what a device then gets, and say how it went")
    func main() async throws {
        try await withRelay { folder, _ in
            let state = folder.path + "/device.json"
            let token = try await enrol(folder, state: state)
            let directory = ["-d", folder.path]
            #expect(await Commands.program.run(["send"] + directory + ["--alert", "one", token]) == 0)
            #expect(
                await Commands.program.run(["send"] + directory + ["--alert", "two", "--json", token]) == 0)
            #expect(
                await Commands.program.run(["send"] + directory + ["--alert", "three", token, "ab"]) == 1)
            #expect(
                await Commands.program.run(["device"] + directory + ["--state", state, "--count", "3"]) == 0)
        }
    }

    @Test("tell a relay that is not there from one that is not trusted")
    func noConnection() throws {
        let relay = try Destination("localhost:2197")
        #expect(
            CommandFailure.notConnected(to: relay, .connectTimeout).sentence
                == "No relay answers at localhost:2197 (no connection in time): check that it runs there.")
        #expect(
            CommandFailure.notConnected(to: relay, .handshakeFailed("The TLS handshake failed: why")).sentence
                == "There is no connection to the relay at localhost:2197: The TLS handshake failed: why.")
    }

    @Test("fail with exit code 1 where nobody listens, and where the relay does not know them")
    func failures() async throws {
        try await withRelay { folder, values in
            var elsewhere = values
            elsewhere.providerPort = 1
            elsewhere.devicePort = 1
            try elsewhere.write(to: folder)
            let token = String(repeating: "ab", count: 32)
            let directory = ["-d", folder.path]
            #expect(await Commands.program.run(["send"] + directory + ["--alert", "x", token]) == 1)
            #expect(await Commands.program.run(["device"] + directory) == 1)
            try values.write(to: folder)
            let state = folder.path + "/device.json"
            let stranger = DeviceState(
                identity: DeviceIdentity(high: 1, low: 2), secret: Array(repeating: 0, count: 32))
            try FileText.write(try Console.json(stranger), to: state)
            #expect(await Commands.program.run(["device"] + directory + ["--state", state]) == 1)
        }
    }
}

/// Disconnects after the first device token.
private final class TokenTaker: DeviceClientDelegate {
    unowned let loop: EventLoop
    unowned var client: DeviceClient?
    var token = ""

    init(_ loop: EventLoop) { self.loop = loop }

    func receive(_ event: DeviceClientEvent) {
        guard case .registered(let registration) = event else { return }
        token = registration.deviceToken.hex
        client?.stop { [loop] in loop.stop() }
    }
}
