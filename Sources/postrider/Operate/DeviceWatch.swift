import FoundationEssentials
import PostriderClients
import PostriderRelay
import PostriderTransport

/// Prints the events of devices (`GET /v1/devices/events`), until the relay ends or the reader is gone.
struct DeviceWatch {
    let client: ControlClient
    let isJSON: Bool

    func run() async throws {
        let end: EventStreamClient.End? = try await LoopThread.run("watch") { [client, isJSON] loop in
            var end: EventStreamClient.End?
            let follower = EventStreamClient.follow(
                "/v1/devices/events", of: Server(socket: client.address), on: loop
            ) { [unowned loop] event in
                if !Self.show(event, isJSON: isJSON) { loop.stop() }
            } ended: { [unowned loop] reason in
                end = reason
                loop.stop()
            }
            return { withExtendedLifetime(follower) { end } }
        }
        switch end {
        case nil: return
        case .answer(_, let body):
            let refusal = try? JSONDecoder().decode(Control.Refusal.self, from: Data(body))
            throw CommandFailure(
                refusal?.sentence ?? "The relay at \(client.address) did not say what happens to devices.")
        case .connection(.refused(let reason)):
            throw CommandFailure(
                "No relay answers at \(client.address) (refused: \(reason)): start it, name its socket with "
                    + "--control, or ask as root or its own user.")
        case .connection(let reason):
            throw CommandFailure(
                "The relay at \(client.address) ended the connection (\(reason)): only root and its own user "
                    + "may use it, and events that come now are not shown.")
        }
    }

    /// Prints an event. Returns false if the reader is gone.
    private static func show(_ event: EventStreamClient.Event, isJSON: Bool) -> Bool {
        guard !isJSON else { return Console.say(event.data) }
        let decoded = try? JSONDecoder().decode(Control.DeviceEvent.self, from: Data(event.data.utf8))
        return decoded.map { Console.say(DeviceListing.line($0)) } ?? true
    }
}
