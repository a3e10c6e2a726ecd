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
            return Self.line(event.data).map { Console.say($0) } ?? true
        }
    }

    /// One line for an event; nil for one of a later version.
    private static func line(_ text: String) -> String? {
        let (decoder, data) = (JSONDecoder(), Data(text.utf8))
        if let event = try? decoder.decode(Control.DeviceEvent.self, from: data) {
            return DeviceListing.line(event)
        }
        return (try? decoder.decode(Control.NodeEvent.self, from: data)).map(DeviceListing.line)
    }
}
