import PostriderNotifications

extension ContractTable {
    static let broadcasts = ContractGroup(
        title: "Broadcasts: path, method, identifier and channel",
        introduction: """
            Apple's samples identify a broadcast by `apns-id` or by `apns-request-id`: both are accepted, \
            and an answer has both. The required parts are checked in this order: the channel, \
            `apns-expiration`, `apns-priority`, `apns-push-type`, the payload. Last comes what only the \
            home of the channel knows.
            """,
        cases: broadcastPaths + broadcastNames + broadcastChannels)

    private static let broadcastPaths = [
        ContractCase("broadcast", "The answer has no body.", as: .broadcast, gets: .accepted),
        ContractCase(
            "broadcast-path-singular", "Other paths are refused.", as: .broadcast,
            path: "/4/broadcast/apps/com.example.app", gets: .refused(404, "BadPath")),
        ContractCase(
            "broadcast-path-slash", "A path with a slash at the end is another path.", as: .broadcast,
            path: "/4/broadcasts/apps/com.example.app/", gets: .refused(404, "BadPath")),
        ContractCase(
            "broadcast-path-no-app", "The path must name an app.", as: .broadcast, path: "/4/broadcasts/apps",
            gets: .refused(404, "BadPath")),
        ContractCase(
            "broadcast-get", "Other methods are refused.", as: .broadcast, method: "GET",
            gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "broadcast-put", "The method is checked before authentication.", as: .broadcast,
            ["authorization": nil], method: "PUT", gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "broadcast-twice", "Each header may occur once.", as: .broadcast, twice: "apns-priority",
            gets: .refused(400, "DuplicateHeaders")),
    ]

    private static let lowerIdentity = "9cc486ea-ea83-9351-40df-557a308816d8"

    private static let broadcastNames = [
        ContractCase(
            "broadcast-id-of-requests", "`apns-request-id` identifies it, and `apns-id` repeats that.",
            as: .broadcast, ["apns-request-id": lowerIdentity],
            gets: .accepted(["apns-request-id": lowerIdentity, "apns-id": lowerIdentity])),
        ContractCase(
            "broadcast-id-of-pushes", "`apns-id` identifies it, and `apns-request-id` repeats that.",
            as: .broadcast, ["apns-id": lowerIdentity],
            gets: .accepted(["apns-request-id": lowerIdentity, "apns-id": lowerIdentity])),
        ContractCase(
            "broadcast-id-both", "If both are there, each is returned.", as: .broadcast,
            ["apns-id": goodIdentity, "apns-request-id": lowerIdentity],
            gets: .accepted(["apns-request-id": lowerIdentity, "apns-id": goodIdentity])),
        ContractCase(
            "broadcast-id-on-errors", "They are returned with errors too.", as: .broadcast,
            ["apns-id": lowerIdentity, "apns-priority": nil],
            gets: .refused(
                400, "BadPriority", ["apns-request-id": lowerIdentity, "apns-id": lowerIdentity])),
        ContractCase(
            "broadcast-id-text", "`apns-id` must be a UUID.", as: .broadcast, ["apns-id": "no-uuid"],
            gets: .refused(400, "BadMessageId", ["apns-request-id": "no-uuid", "apns-id": "no-uuid"])),
        ContractCase(
            "broadcast-request-id-text", "`apns-request-id` must be a UUID.", as: .broadcast,
            ["apns-request-id": "no-uuid"],
            gets: .refused(400, "BadMessageId", ["apns-request-id": "no-uuid", "apns-id": "no-uuid"])),
    ]

    private static let broadcastChannels = [
        ContractCase(
            "broadcast-channel-missing", "The channel must be named.", as: .broadcast,
            ["apns-channel-id": nil],
            gets: .refused(400, "MissingChannelId")),
        ContractCase(
            "broadcast-channel-first", "The channel is checked before the other headers.", as: .broadcast,
            ["apns-channel-id": nil, "apns-expiration": nil, "apns-priority": nil],
            gets: .refused(400, "MissingChannelId")),
        ContractCase(
            "broadcast-channel-malformed", "A channel's name is 16 bytes in base64.", as: .broadcast,
            ["apns-channel-id": "news"], gets: .refused(400, "BadChannelId")),
        ContractCase(
            "broadcast-channel-unknown", "A channel that was never created is unknown.", as: .broadcast,
            ["apns-channel-id": "{unknown channel}"], gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "broadcast-channel-of-other-app", "A channel belongs to one app.", as: .broadcast,
            ["apns-channel-id": "{older channel of the second app}"],
            gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "broadcast-channel-of-development", "A channel belongs to one environment.", as: .broadcast,
            ["apns-channel-id": "{development channel}"], gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "broadcast-development", "Each environment has its own port.", as: .broadcast,
            ["apns-channel-id": "{development channel}"], in: .development, gets: .accepted),
        ContractCase(
            "broadcast-channel-deleted", "A deleted channel is unknown.", as: .broadcast,
            ["apns-channel-id": "{channel to delete}"],
            before: [
                ContractRequest(.delete, changes: [(name: "apns-channel-id", value: "{channel to delete}")])
            ], gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "broadcast-channel-last", "The channel is looked up after the payload is checked.",
            as: .broadcast, ["apns-channel-id": "{unknown channel}"], body: .text(""),
            gets: .refused(400, "PayloadEmpty")),
    ]

    // MARK: Headers

    static let broadcastHeaders = ContractGroup(
        title: "Broadcasts: headers",
        introduction: "Unlike with pushes, each of these is required.",
        cases: broadcastExpirations + broadcastPriorities + broadcastTypes)

    private static func broadcast(
        _ name: String, _ rule: String, _ header: String, _ value: String?, gets answer: ContractAnswer
    ) -> ContractCase {
        ContractCase("broadcast-" + name, rule, as: .broadcast, [header: value], gets: answer)
    }

    private static func expiring(_ name: String, _ rule: String, _ value: String?) -> ContractCase {
        broadcast(
            "expiration-" + name, rule, "apns-expiration", value, gets: .refused(400, "BadExpirationDate"))
    }

    private static let broadcastExpirations = [
        broadcast(
            "expiration-future", "A channel that stores keeps it until then.", "apns-expiration",
            "{in an hour}", gets: .accepted),
        broadcast(
            "expiration-far",
            "A broadcast is stored for at most eight hours; a later moment means eight hours.",
            "apns-expiration", "{in 31 days}", gets: .accepted),
        broadcast(
            "expiration-past", "A moment that has passed means the same as 0.", "apns-expiration",
            "{an hour ago}", gets: .accepted),
        ContractCase(
            "broadcast-policy-0", "A channel that stores nothing accepts 0.", as: .broadcast,
            ["apns-channel-id": "{channel that stores nothing}"], gets: .accepted),
        ContractCase(
            "broadcast-policy-0-future", "Such a channel accepts nothing else.", as: .broadcast,
            ["apns-channel-id": "{channel that stores nothing}", "apns-expiration": "{in an hour}"],
            gets: .refused(400, "BadExpirationDate")),
        ContractCase(
            "broadcast-policy-0-past", "Such a channel does not accept a moment that has passed either.",
            as: .broadcast,
            ["apns-channel-id": "{channel that stores nothing}", "apns-expiration": "{an hour ago}"],
            gets: .refused(400, "BadExpirationDate")),
        expiring("absent", "`apns-expiration` is required.", nil),
        expiring("empty", "An empty value is not a number.", ""),
        expiring("text", "The expiration must be a number.", "soon"),
        expiring("float", "The expiration must be a whole number.", "1700000000.5"),
        expiring("negative", "The expiration must not be negative.", "-1"),
        expiring("overflow", "The expiration has at most 64 bits.", "9223372036854775808"),
    ]

    private static let broadcastPriorities = [
        broadcast(
            "priority-5", "5 means with regard to the device's power.", "apns-priority", "5",
            gets: .accepted),
        broadcast(
            "priority-absent", "`apns-priority` is required.", "apns-priority", nil,
            gets: .refused(400, "BadPriority")),
        broadcast(
            "priority-1", "Unlike with pushes, there is no priority 1.", "apns-priority", "1",
            gets: .refused(400, "BadPriority")),
        broadcast(
            "priority-7", "The priority must be 10 or 5.", "apns-priority", "7",
            gets: .refused(400, "BadPriority")),
        ContractCase(
            "broadcast-expiration-before-priority", "The expiration is checked before the priority.",
            as: .broadcast, ["apns-expiration": "soon", "apns-priority": "7"],
            gets: .refused(400, "BadExpirationDate")),
    ]

    private static let broadcastTypes = [
        broadcast(
            "type-documented", "Apple's documents write the type so.", "apns-push-type", "Liveactivity",
            gets: .accepted),
        broadcast(
            "type-upper-case", "The type may be of either case.", "apns-push-type", "LIVEACTIVITY",
            gets: .accepted),
        broadcast(
            "type-absent", "`apns-push-type` is required.", "apns-push-type", nil,
            gets: .refused(400, "MissingPushType")),
        broadcast(
            "type-empty", "An empty value counts as missing.", "apns-push-type", "",
            gets: .refused(400, "MissingPushType")),
        broadcast(
            "type-alert", "There is only one push type.", "apns-push-type", "alert",
            gets: .refused(400, "InvalidPushType")),
        broadcast(
            "topic", "The path names the app: `apns-topic` is ignored.", "apns-topic",
            "com.example.foreign", gets: .accepted),
        broadcast(
            "collapse-id", "Broadcasts have no collapse identifier: the header is ignored.",
            "apns-collapse-id",
            "{65 bytes}", gets: .accepted),
    ]

    // MARK: Payload

    static let broadcastPayloads = ContractGroup(
        title: "Broadcasts: payload",
        introduction: """
            One JSON object, as with pushes; but here Apple names a reason for invalid JSON. The relay \
            does not read its members.
            """,
        cases: [
            ContractCase(
                "broadcast-aps", "The relay does not read `aps`.", as: .broadcast,
                body: .text(#"{"aps":{"event":"update","content-state":{"score":1}}}"#), gets: .accepted),
            ContractCase(
                "broadcast-5120", "A payload has at most 5120 bytes.", as: .broadcast,
                body: .object(bytes: 5120),
                gets: .accepted),
            ContractCase(
                "broadcast-5121", "A longer payload is refused.", as: .broadcast, body: .object(bytes: 5121),
                gets: .refused(413, "PayloadTooLarge")),
            ContractCase(
                "broadcast-large", "A body of up to 64 KiB is read to its end before it is refused.",
                as: .broadcast, body: .object(bytes: 65_000), gets: .refused(413, "PayloadTooLarge")),
            ContractCase(
                "broadcast-no-body", "A payload is required.", as: .broadcast, body: .text(""),
                gets: .refused(400, "PayloadEmpty")),
            ContractCase(
                "broadcast-broken", "The object must be complete.", as: .broadcast, body: .text(#"{"aps":"#),
                gets: .refused(400, "BadRequestPayload")),
            ContractCase(
                "broadcast-array", "An array is not an object.", as: .broadcast, body: .text("[]"),
                gets: .refused(400, "BadRequestPayload")),
            ContractCase(
                "broadcast-latin", "Text must be UTF-8.", as: .broadcast, body: .invalidText,
                gets: .refused(400, "BadRequestPayload")),
            ContractCase(
                "broadcast-disk-full", "The broadcast that the channel stores cannot be made durable now.",
                as: .broadcast,
                ["apns-expiration": "{in an hour}"], with: .failingStore(.full),
                gets: .refused(503, "Service Unavailable")),
            ContractCase(
                "broadcast-stored-nowhere", "A channel that stores nothing needs no disk.",
                as: .broadcast, ["apns-channel-id": "{channel that stores nothing}"],
                with: .failingStore(.full), gets: .accepted),
        ])
}
