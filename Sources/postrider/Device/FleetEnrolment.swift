import FoundationEssentials
import PostriderCommands
import PostriderRelay

/// The enrolment of a load run's devices at a relay that it did not start: an enrolment key, made through the control
/// socket. It is removed after the run, together with the devices that enrolled with it.
struct FleetEnrolment: Sendable {
    /// The name of the key, which is unique to this run, and the prefix of the devices' names.
    let name: String
    /// The enrolment key.
    let key: String
    private let client: ControlClient
    /// Whether the devices, with their queued notifications, stay at the relay after the run.
    var keepsDevices = false
    /// How long the relay may take to remove the devices, in seconds.
    private static let removalSeconds = 60

    /// Makes the key.
    static func make(
        _ client: ControlClient, name: String = "load-\(newRun())"
    ) async throws -> FleetEnrolment {
        let answer = try await client.request("PUT", "/v1/enrolment-keys/\(name)")
        let made = try JSONDecoder().decode(Control.NewEnrolmentKey.self, from: Data(answer))
        return FleetEnrolment(name: name, key: made.key, client: client)
    }

    /// A unique part for the names of one run: seven lower-case letters and digits.
    static func newRun() -> String {
        let digits = String(UInt32.random(in: 0 ... .max), radix: 36)
        return String(repeating: "0", count: 7 - digits.count) + digits
    }

    /// Removes the key and the devices. If that fails, it reports what is left and returns false instead of throwing,
    /// because the measured figures must be reported all the same.
    func remove() async -> Bool {
        do {
            // The key goes first, so that no further device enrols.
            _ = try await client.request("DELETE", "/v1/enrolment-keys/\(name)")
            guard !keepsDevices else { return true }
            // This includes devices that enrolled and did nothing else.
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
