import FoundationEssentials
import PostriderRelay

/// What a load run needs for devices of its own at a relay that it did not start: an enrolment key, made through the
/// control socket and taken away again, with the devices that came of it.
struct FleetEnrolment: Sendable {
    /// The key's name, which no other run has, and how the names of the devices begin.
    let name: String
    /// What devices enrol with.
    let key: String
    private let client: ControlClient
    /// Whether the devices stay at the relay, with what waits for them.
    var keepsDevices = false
    /// How long the relay may take to remove the devices.
    private static let removalSeconds = 60

    /// Makes the key.
    static func make(
        _ client: ControlClient, name: String = "load-\(newRun())"
    ) async throws -> FleetEnrolment {
        let answer = try await client.request("PUT", "/v1/enrolment-keys/\(name)")
        let made = try JSONDecoder().decode(Control.NewEnrolmentKey.self, from: Data(answer))
        return FleetEnrolment(name: name, key: made.key, client: client)
    }

    /// What tells the names of a run from those of others: seven lower-case letters and digits.
    static func newRun() -> String {
        let digits = String(UInt32.random(in: 0 ... .max), radix: 36)
        return String(repeating: "0", count: 7 - digits.count) + digits
    }

    /// Takes it away again. Where that cannot be done it says what is left, and answers false, for what was measured
    /// is to be told all the same.
    func remove() async -> Bool {
        do {
            // First what lets devices in.
            _ = try await client.request("DELETE", "/v1/enrolment-keys/\(name)")
            guard !keepsDevices else { return true }
            // Also one that enrolled and came no further.
            let devices = try await client.list("/v1/devices", of: [Control.Device].self).item
                .filter { $0.name.hasPrefix(name + "-") }
            let left = try await client.delete(
                devices.map { "/v1/devices/\($0.identity)" }, withinSeconds: Self.removalSeconds)
            guard left > 0 else { return true }
            Console.complain(
                "postrider: \(left) of \(devices.count) devices could not be removed in "
                    + "\(Self.removalSeconds) s and may still be at the relay: 'postrider devices list' has "
                    + "them as \(name)-…, and 'postrider devices remove' takes each away.")
        } catch {
            Console.complain("postrider: \(error)")
            Console.complain(
                "postrider: What was made for this run may still be at the relay: the enrolment key \(name), "
                    + "and devices called \(name)-…; remove them with the operator's commands.")
        }
        return false
    }
}
