import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderRelay

/// Prints the events of devices (`GET /v1/devices/events`), until the relay ends or the reader is gone.
struct DeviceWatch {
    let client: ControlClient
    let isJSON: Bool

    func run() async throws {
        let watch = EventWatch(
            client: client, path: "/v1/devices/events", subject: "what happens to devices")
        try await watch.run { [isJSON] event in
            guard !isJSON else { return Console.say(event.data) }
            let decoded = try? JSONDecoder().decode(Control.DeviceEvent.self, from: Data(event.data.utf8))
            return decoded.map { Console.say(DeviceListing.line($0)) } ?? true
        }
    }
}
