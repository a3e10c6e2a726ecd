import PostriderOptions
import PostriderRelay

/// `postrider devices`: what has enrolled.
enum DevicesCommand: OperatorCommand {
    static let name = "devices"
    static let summary = "List and remove devices."
    static let actions = [
        OperatorAction(name, "list", "List the devices with the device tokens of their apps.") {
            options, client in
            let (devices, text) = try await client.list("/v1/devices", of: [Control.Device].self)
            Console.say(options.isSet("json") ? text : Self.describe(devices))
        },
        OperatorAction(
            name, "remove", "Remove a device, with its registrations and what waits for it.",
            operands: [.required("IDENTITY")],
            examples: [.init("A device that was lost", "postrider devices remove 0123456789abcdef01234567")]
        ) { options, client in
            let identity = try options.checked(options.operands[0])
            let answer = try await client.request("DELETE", "/v1/devices/\(identity)")
            options.say(answer, "Device \(identity) is removed.")
        },
    ]

    /// One line for each device, below it one for each of its apps.
    static func describe(_ devices: [Control.Device]) -> String {
        let table = Listing.columns(
            ["IDENTITY", "NAME", "ENROLLED", "CONNECTED", "PENDING"],
            devices.map { device in
                [
                    device.identity, device.name, Listing.time(device.enrolledAt),
                    device.isConnected ? "yes" : "no", "\(device.pending)",
                ]
            })
        let lines = table.split(separator: "\n").map(String.init)
        let apps = devices.map { device in
            let machines = device.duplicates.map { addresses in
                "  two machines use this identity: \(addresses.joined(separator: " and ")), last at "
                    + Listing.time(device.duplicatedAt ?? 0)
            }
            return [machines].compactMap { $0 }
                + device.registrations.map { "  \($0.topic)  \($0.token)  \($0.environment)" }
        }
        return (lines[0...0] + zip(lines.dropFirst(), apps).flatMap { [$0] + $1 }).joined(separator: "\n")
    }
}
