import FoundationEssentials
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderRelay

/// `postrider devices`: lists and removes enrolled devices.
enum DevicesCommand: OperatorCommand {
    static let name = "devices"
    static let summary = "List, watch, name, tag and remove devices."
    static let actions = [
        OperatorAction(
            name, "list",
            "List the devices: whether they are connected, since when, and the device tokens of their apps.",
            options: DeviceListOptions.options,
            examples: [
                .init("Devices that have been away for a day", "postrider devices list --offline-for 24h"),
                .init("The kiosks in the lobby", "postrider devices list --tag lobby"),
                .init(
                    "The devices that have been connected for longest, first",
                    "postrider devices list --connected --sort since"),
            ]
        ) { options, client in
            let selection = try DeviceListOptions(options)
            let (devices, text) = try await client.list(selection.path, of: [Control.Device].self)
            Console.say(options.isSet("json") ? text : DeviceListing.table(devices))
        },
        OperatorAction(
            name, "watch", "Show devices that connect, leave, enrol and are removed, until Control-C.",
            examples: [
                .init(
                    "Pass each event to a program",
                    "postrider devices watch --json | while read -r event; do …")
            ]
        ) { options, client in
            try await DeviceWatch(client: client, isJSON: options.isSet("json")).run()
        },
        OperatorAction(
            name, "rename", "Rename a device; a name is \(DeviceName.rule).",
            operands: [.required("DEVICE"), .required("NAME")],
            examples: [
                .init("A device by its identity", "postrider devices rename 0123456789abcdef01234567 kiosk-7")
            ]
        ) { options, client in
            let words = options.operands
            try await Self.change(words[0], Control.DeviceChange(name: words[1]), options, client) {
                "Device \($0.identity) is named \($0.name)."
            }
        },
        OperatorAction(
            name, "tag", "Add tags to a device.",
            operands: [.required("DEVICE"), .required("TAG"), .any("TAG")],
            examples: [.init("A kiosk in the lobby", "postrider devices tag kiosk-7 lobby berlin")]
        ) { options, client in
            let (device, tags) = (options.operands[0], Array(options.operands.dropFirst()))
            try await Self.change(device, Control.DeviceChange(addTags: tags), options, client, Self.tags)
        },
        OperatorAction(
            name, "untag", "Remove tags from a device.",
            operands: [.required("DEVICE"), .required("TAG"), .any("TAG")],
            examples: [.init("A kiosk that has moved", "postrider devices untag kiosk-7 lobby")]
        ) { options, client in
            let (device, tags) = (options.operands[0], Array(options.operands.dropFirst()))
            try await Self.change(device, Control.DeviceChange(removeTags: tags), options, client, Self.tags)
        },
        OperatorAction(
            name, "remove", "Remove a device, with its registrations and stored notifications.",
            operands: [.required("DEVICE")],
            examples: [
                .init("A device that was lost", "postrider devices remove kiosk-7"),
                .init("A device by its identity", "postrider devices remove 0123456789abcdef01234567"),
            ]
        ) { options, client in
            let device = try options.checked(options.operands[0])
            let answer = try await client.request("DELETE", "/v1/devices/\(device)")
            let heir = try? JSONDecoder().decode(Control.RemovedDevice.self, from: Data(answer)).heir
            let rest = heir.map { " Device \($0.identity), which calls itself so, is named \($0.name) now." }
            options.say(answer, "Device \(device) is removed.\(rest ?? "")")
        },
    ]

    private static func change(
        _ device: String, _ change: Control.DeviceChange, _ options: ParsedOptions, _ client: ControlClient,
        _ sentence: (Control.LabelledDevice) -> String
    ) async throws {
        let path = "/v1/devices/\(try options.checked(device))"
        let answer = try await client.request("PATCH", path, body: Array(JSONEncoder().encode(change)))
        guard let changed = try? JSONDecoder().decode(Control.LabelledDevice.self, from: Data(answer)) else {
            throw CommandFailure("The relay changed the device \(device), and did not say how it is now.")
        }
        options.say(answer, sentence(changed))
    }

    private static func tags(_ device: Control.LabelledDevice) -> String {
        let list = device.tags.isEmpty ? "no tags" : "the tags " + device.tags.joined(separator: ", ")
        return "Device \(device.name) has \(list)."
    }
}
