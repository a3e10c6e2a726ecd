import FoundationEssentials
import PostriderOptions
import PostriderRelay

/// `postrider enrolment-keys`: manages the keys with which devices enrol.
enum EnrolmentKeysCommand: OperatorCommand {
    static let name = "enrolment-keys"
    static let summary = "List, add and remove the keys with which devices enrol."
    static let actions = [
        OperatorAction(name, "list", "List the enrolment keys by their names.") { options, client in
            let (keys, text) = try await client.list("/v1/enrolment-keys", of: [Control.EnrolmentKey].self)
            if options.isSet("json") {
                Console.say(text)
            } else {
                Console.say(
                    Listing.columns(
                        ["NAME", "ADDED", "TAGS"],
                        keys.map { key in
                            let tags = key.tags?.joined(separator: " ") ?? ""
                            return [key.name, Listing.time(key.addedAt), tags]
                        }))
            }
        },
        OperatorAction(
            name, "add",
            "Create an enrolment key and print it. It cannot be printed again: the relay stores only "
                + "its digest.",
            operands: [.required("NAME")],
            options: [.list("tag", "TAG", "A tag for the devices that enrol with the key; can be repeated.")],
            examples: [
                .init(
                    "A key for a batch of devices, in a file",
                    "postrider enrolment-keys add batch-7 > enrolment.key"),
                .init(
                    "A key for the kiosks in the lobby",
                    "postrider enrolment-keys add lobby --tag lobby --tag kiosk > enrolment.key"),
            ]
        ) { options, client in
            let name = try options.checked(options.operands[0])
            let tags = try options.list("tag").map { tag throws(UsageError) in try options.tag(tag) }
            let addition = Control.EnrolmentKeyAddition(tags: tags)
            let answer = try await client.request(
                "PUT", "/v1/enrolment-keys/\(name)",
                body: tags.isEmpty ? [] : Array(JSONEncoder().encode(addition)))
            guard let made = try? JSONDecoder().decode(Control.NewEnrolmentKey.self, from: Data(answer))
            else {
                throw CommandFailure(
                    "The relay made the enrolment key \(name), but did not tell it: remove it again.")
            }
            options.say(answer, made.key)
        },
        OperatorAction(
            name, "remove", "Remove a key; devices that enrolled with it stay.",
            operands: [.required("NAME")],
            examples: [.init("A key that too many people know", "postrider enrolment-keys remove batch-7")]
        ) { options, client in
            let name = try options.checked(options.operands[0])
            let answer = try await client.request("DELETE", "/v1/enrolment-keys/\(name)")
            options.say(answer, "Devices cannot enrol with \(name) any more.")
        },
    ]
}
