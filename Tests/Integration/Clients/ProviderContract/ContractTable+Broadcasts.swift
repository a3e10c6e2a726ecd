import PostriderNotifications

extension ContractTable {
    static let broadcasts = ContractGroup(
        title: "Broadcasts: path, method, name and channel",
        introduction: """
            Apple's samples call a broadcast `apns-id` here and `apns-request-id` there: both are taken, \
            and an answer has both. What a broadcast may not lack is looked at in this order: the \
            channel, `apns-expiration`, `apns-priority`, `apns-push-type`, the payload. Last comes what \
            only the home of the channel knows.
            """,
        cases: broadcastPaths + broadcastNames + broadcastChannels)

    private static let broadcastPaths = [
        ContractCase("broadcast", "The answer has no body.", as: .broadcast, gets: .accepted),
        ContractCase(
            "broadcast-path-singular", "Other paths are refused.", as: .broadcast,
            path: "/4/broadcast/apps/com.example.app", gets: .refused(404, "BadPath")),
        ContractCase(
            "broadcast-path-slash", "A slash at the end is another path.", as: .broadcast,
            path: "/4/broadcasts/apps/com.example.app/", gets: .refused(404, "BadPath")),
        ContractCase(
            "broadcast-path-no-app", "An app is named.", as: .broadcast, path: "/4/broadcasts/apps",
            gets: .refused(404, "BadPath")),
        ContractCase(
            "broadcast-get", "Other methods are refused.", as: .broadcast, method: "GET",
            gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "broadcast-put", "The method is looked at before who asks.", as: .broadcast,
            ["authorization": nil], method: "PUT", gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "broadcast-twice", "Each header may come once.", as: .broadcast, twice: "apns-priority",
            gets: .refused(400, "DuplicateHeaders")),
    ]

    private static let lowerIdentity = "9cc486ea-ea83-9351-40df-557a308816d8"

    private static let broadcastNames = [
        ContractCase(
            "broadcast-id-of-requests", "`apns-request-id` names it, and `apns-id` repeats that.",
            as: .broadcast, ["apns-request-id": lowerIdentity],
            gets: .accepted(["apns-request-id": lowerIdentity, "apns-id": lowerIdentity])),
        ContractCase(
            "broadcast-id-of-pushes", "`apns-id` names it, and `apns-request-id` repeats that.",
            as: .broadcast, ["apns-id": lowerIdentity],
            gets: .accepted(["apns-request-id": lowerIdentity, "apns-id": lowerIdentity])),
        ContractCase(
            "broadcast-id-both", "Where both are there, each comes back.", as: .broadcast,
            ["apns-id": goodIdentity, "apns-request-id": lowerIdentity],
            gets: .accepted(["apns-request-id": lowerIdentity, "apns-id": goodIdentity])),
        ContractCase(
            "broadcast-id-on-errors", "They come back with every answer.", as: .broadcast,
            ["apns-id": lowerIdentity, "apns-priority": nil],
            gets: .refused(
                400, "BadPriority", ["apns-request-id": lowerIdentity, "apns-id": lowerIdentity])),
        ContractCase(
            "broadcast-id-text", "`apns-id` is a UUID.", as: .broadcast, ["apns-id": "no-uuid"],
            gets: .refused(400, "BadMessageId", ["apns-request-id": "no-uuid", "apns-id": "no-uuid"])),
        ContractCase(
            "broadcast-request-id-text", "`apns-request-id` is a UUID.", as: .broadcast,
            ["apns-request-id": "no-uuid"],
            gets: .refused(400, "BadMessageId", ["apns-request-id": "no-uuid", "apns-id": "no-uuid"])),
    ]

    private static let broadcastChannels = [
        ContractCase(
            "broadcast-channel-missing", "A channel is named.", as: .broadcast, ["apns-channel-id": nil],
            gets: .refused(400, "MissingChannelId")),
        ContractCase(
            "broadcast-channel-first", "The channel is looked at before the other headers.", as: .broadcast,
            ["apns-channel-id": nil, "apns-expiration": nil, "apns-priority": nil],
            gets: .refused(400, "MissingChannelId")),
        ContractCase(
            "broadcast-channel-malformed", "A name is the base64 of 16 bytes.", as: .broadcast,
            ["apns-channel-id": "news"], gets: .refused(400, "BadChannelId")),
        ContractCase(
            "broadcast-channel-unknown", "What was never issued is unknown.", as: .broadcast,
            ["apns-channel-id": "{unknown channel}"], gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "broadcast-channel-of-other-app", "A channel belongs to one app.", as: .broadcast,
            ["apns-channel-id": "{older channel of the second app}"],
            gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "broadcast-channel-of-development", "A channel is in one environment.", as: .broadcast,
            ["apns-channel-id": "{development channel}"], gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "broadcast-development", "Each environment has a listener of its own.", as: .broadcast,
            ["apns-channel-id": "{development channel}"], in: .development, gets: .accepted),
        ContractCase(
            "broadcast-channel-deleted", "A channel that was deleted is unknown.", as: .broadcast,
            ["apns-channel-id": "{channel to delete}"],
            before: [
                ContractRequest(.delete, changes: [(name: "apns-channel-id", value: "{channel to delete}")])
            ], gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "broadcast-channel-last", "The channel is looked up after the payload was looked at.",
            as: .broadcast, ["apns-channel-id": "{unknown channel}"], body: .text(""),
            gets: .refused(400, "PayloadEmpty")),
    ]

    // MARK: Headers

    static let broadcastHeaders = ContractGroup(
        title: "Broadcasts: headers",
        introduction: "Other than with pushes, none of these may be left out.",
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
            "expiration-far", "Nothing is kept for longer than eight hours; who asks for more gets these.",
            "apns-expiration", "{in 31 days}", gets: .accepted),
        broadcast(
            "expiration-past", "A moment that has passed means now or never.", "apns-expiration",
            "{an hour ago}", gets: .accepted),
        ContractCase(
            "broadcast-policy-0", "A channel that stores nothing takes what is now or never.", as: .broadcast,
            ["apns-channel-id": "{channel that stores nothing}"], gets: .accepted),
        ContractCase(
            "broadcast-policy-0-future", "It takes nothing else.", as: .broadcast,
            ["apns-channel-id": "{channel that stores nothing}", "apns-expiration": "{in an hour}"],
            gets: .refused(400, "BadExpirationDate")),
        ContractCase(
            "broadcast-policy-0-past", "For it, 0 must be said as 0.", as: .broadcast,
            ["apns-channel-id": "{channel that stores nothing}", "apns-expiration": "{an hour ago}"],
            gets: .refused(400, "BadExpirationDate")),
        expiring("absent", "It must be said.", nil),
        expiring("empty", "An empty value is no number.", ""),
        expiring("text", "It is a number.", "soon"),
        expiring("float", "It is a whole number.", "1700000000.5"),
        expiring("negative", "It is not negative.", "-1"),
        expiring("overflow", "It has 64 bits.", "9223372036854775808"),
    ]

    private static let broadcastPriorities = [
        broadcast(
            "priority-5", "5 lets the devices be considerate.", "apns-priority", "5", gets: .accepted),
        broadcast(
            "priority-absent", "It must be said.", "apns-priority", nil, gets: .refused(400, "BadPriority")),
        broadcast(
            "priority-1", "Other than with pushes, there is no 1.", "apns-priority", "1",
            gets: .refused(400, "BadPriority")),
        broadcast(
            "priority-7", "There is 10 and 5.", "apns-priority", "7", gets: .refused(400, "BadPriority")),
        ContractCase(
            "broadcast-expiration-before-priority", "The expiration is looked at before the priority.",
            as: .broadcast, ["apns-expiration": "soon", "apns-priority": "7"],
            gets: .refused(400, "BadExpirationDate")),
    ]

    private static let broadcastTypes = [
        broadcast(
            "type-documented", "Documents write it so.", "apns-push-type", "Liveactivity", gets: .accepted),
        broadcast(
            "type-upper-case", "It may be of either case.", "apns-push-type", "LIVEACTIVITY",
            gets: .accepted),
        broadcast(
            "type-absent", "It must be said.", "apns-push-type", nil, gets: .refused(400, "MissingPushType")),
        broadcast(
            "type-empty", "An empty value says nothing.", "apns-push-type", "",
            gets: .refused(400, "MissingPushType")),
        broadcast(
            "type-alert", "There is one push type.", "apns-push-type", "alert",
            gets: .refused(400, "InvalidPushType")),
        broadcast(
            "topic", "The path names the app: `apns-topic` is not looked at.", "apns-topic",
            "com.example.foreign", gets: .accepted),
        broadcast(
            "collapse-id", "There is no collapse identifier: it is not looked at.", "apns-collapse-id",
            "{65 bytes}", gets: .accepted),
    ]

    // MARK: Payload

    static let broadcastPayloads = ContractGroup(
        title: "Broadcasts: payload",
        introduction: """
            One JSON object, as with pushes. Other than there, Apple names a reason for what is none. The \
            relay reads nothing in it.
            """,
        cases: [
            ContractCase(
                "broadcast-aps", "What stands in it is between the provider and the app.", as: .broadcast,
                body: .text(#"{"aps":{"event":"update","content-state":{"score":1}}}"#), gets: .accepted),
            ContractCase(
                "broadcast-5120", "5120 bytes at most.", as: .broadcast, body: .object(bytes: 5120),
                gets: .accepted),
            ContractCase(
                "broadcast-5121", "One byte more is refused.", as: .broadcast, body: .object(bytes: 5121),
                gets: .refused(413, "PayloadTooLarge")),
            ContractCase(
                "broadcast-large", "A body of up to 64 KiB is read to its end before it is refused.",
                as: .broadcast, body: .object(bytes: 65_000), gets: .refused(413, "PayloadTooLarge")),
            ContractCase(
                "broadcast-no-body", "A body is needed.", as: .broadcast, body: .text(""),
                gets: .refused(400, "PayloadEmpty")),
            ContractCase(
                "broadcast-broken", "Half an object is none.", as: .broadcast, body: .text(#"{"aps":"#),
                gets: .refused(400, "BadRequestPayload")),
            ContractCase(
                "broadcast-array", "An array is no object.", as: .broadcast, body: .text("[]"),
                gets: .refused(400, "BadRequestPayload")),
            ContractCase(
                "broadcast-latin", "Text is UTF-8.", as: .broadcast, body: .invalidText,
                gets: .refused(400, "BadRequestPayload")),
            ContractCase(
                "broadcast-disk-full", "What the channel stores cannot be made durable now.", as: .broadcast,
                ["apns-expiration": "{in an hour}"], with: .failingStore(.full),
                gets: .refused(503, "Service Unavailable")),
            ContractCase(
                "broadcast-stored-nowhere", "A channel that stores nothing does without the disk.",
                as: .broadcast, ["apns-channel-id": "{channel that stores nothing}"],
                with: .failingStore(.full), gets: .accepted),
        ])
}
