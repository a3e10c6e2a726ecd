import FoundationEssentials
import PostriderCommands
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
                        ["NAME", "ADDED", "ENDS", "USES", "DEVICES", "TAGS"],
                        keys.map { key in
                            let tags = key.tags?.joined(separator: " ") ?? ""
                            let uses = "\(key.used ?? 0)" + (key.uses.map { " of \($0)" } ?? "")
                            return [
                                key.name, Listing.time(key.addedAt),
                                key.endsAt.map { Listing.time($0) } ?? "-", uses, key.namePattern ?? "*",
                                tags,
                            ]
                        }))
            }
        },
        OperatorAction(
            name, "add",
            "Create an enrolment key and print it. It cannot be printed again: the relay stores only "
                + "its digest.",
            operands: [.required("NAME")],
            options: [
                .list("tag", "TAG", "A tag for the devices that enrol with the key; can be repeated.")
            ] + Option.keyEnds + [
                .value("uses", "NUMBER", "The most devices that enrol with it; any number if not given."),
                .value(
                    "name-pattern", "PATTERN", "Names of its devices, such as 'kiosk-*'; any if not given."),
            ],
            examples: [
                .init(
                    "A key for a batch of devices, in a file",
                    "postrider enrolment-keys add batch-7 > enrolment.key"),
                .init(
                    "A key for 20 kiosks, for a week",
                    "postrider enrolment-keys add tour --uses 20 --valid-days 7 --name-pattern 'kiosk-*'"),
                .init(
                    "A key for the kiosks in the lobby",
                    "postrider enrolment-keys add lobby --tag lobby --tag kiosk > enrolment.key"),
            ]
        ) { options, client in
            let name = try options.checked(options.operands[0])
            let tags = try options.list("tag").map { tag throws(UsageError) in try options.tag(tag) }
            let addition = Control.EnrolmentKeyAddition(
                tags: tags, endsAt: try options.keyEnd(),
                uses: try options.integer("uses", in: 1...1_000_000),
                namePattern: options.string("name-pattern"))
            let isPlain =
                tags.isEmpty && addition.endsAt == nil && addition.uses == nil
                && addition.namePattern == nil
            let answer = try await client.request(
                "PUT", "/v1/enrolment-keys/\(name)",
                body: isPlain ? [] : Array(JSONEncoder().encode(addition)))
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

extension ParsedOptions {
    /// The end of a key, from `--valid-days` or `--until`, in milliseconds since 1970; nil if it has none.
    func keyEnd() throws -> Int64? {
        let days = try integer("valid-days", in: 1...3650)
        guard let text = string("until") else {
            return days.map { Int64((Date().timeIntervalSince1970 + Double($0) * 86_400) * 1000) }
        }
        guard days == nil else { throw error("--until and --valid-days exclude each other") }
        let date =
            (try? Date(text, strategy: .iso8601)) ?? (try? Date(text + "T00:00:00Z", strategy: .iso8601))
        guard let date, date > Date() else {
            throw error(
                "--until must be a time to come, such as 2026-12-31 or 2026-12-31T18:00:00Z, not '\(text)'")
        }
        return Int64(date.timeIntervalSince1970 * 1000)
    }
}

extension Option {
    /// The options for the end of a key.
    static let keyEnds: [Option] = [
        .value("valid-days", "DAYS", "Days (1 to 3650) until its end; no end if not given."),
        .value("until", "TIME", "The same as a date, such as 2026-12-31 or 2026-12-31T18:00:00Z."),
    ]
}
