import PostriderNotifications

extension ContractTable {
    static let headers = ContractGroup(
        title: "Headers",
        introduction: """
            An empty value is refused like any other invalid value, with three exceptions: an empty \
            `apns-collapse-id`, `apns-topic` or `authorization` counts as missing.
            """,
        cases: identities + expirations + priorities + collapseIdentifiers + others)

    private static let identities = [
        ContractCase(
            "id-drawn", "Without `apns-id` the relay draws a UUID and sends it in upper case.",
            gets: .accepted),
        ContractCase(
            "id-echoed", "`apns-id` is returned byte for byte.",
            ["apns-id": "9cC486ea-EA83-9351-40DF-557a308816D8"],
            gets: .accepted(["apns-id": "9cC486ea-EA83-9351-40DF-557a308816D8"])),
        ContractCase(
            "id-echoed-on-errors", "`apns-id` is returned with errors too.",
            ["apns-id": goodIdentity, "apns-priority": "7"],
            gets: .refused(400, "BadPriority", ["apns-id": goodIdentity])),
        ContractCase(
            "id-drawn-on-errors", "Every answer has an `apns-id`.", ["authorization": nil],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "id-text", "`apns-id` must be a UUID; another text is refused and still returned.",
            ["apns-id": "no-uuid"], gets: .refused(400, "BadMessageId", ["apns-id": "no-uuid"])),
        ContractCase(
            "id-without-dashes", "A UUID is written with dashes, 8-4-4-4-12 digits.",
            ["apns-id": "9CC486EAEA83935140DF557A308816D8"],
            gets: .refused(400, "BadMessageId")),
        ContractCase(
            "id-in-braces", "A UUID is written without braces.",
            ["apns-id": "(9CC486EA-EA83-9351-40DF-557A308816D8)"],
            gets: .refused(400, "BadMessageId")),
        ContractCase(
            "id-empty", "An empty `apns-id` is not a UUID.", ["apns-id": ""],
            gets: .refused(400, "BadMessageId", ["apns-id": ""])),
    ]

    private static let expirations = [
        ContractCase(
            "expiration-absent", "Without `apns-expiration` a notification is kept for 30 days.",
            ["apns-expiration": nil], gets: .accepted),
        ContractCase(
            "expiration-zero", "0 means that the push is attempted once and not stored.",
            ["apns-expiration": "0"],
            gets: .accepted),
        ContractCase(
            "expiration-past", "A moment that has passed means the same as 0.",
            ["apns-expiration": "{an hour ago}"],
            gets: .accepted),
        ContractCase(
            "expiration-future", "A moment is given in seconds since 1970.",
            ["apns-expiration": "{in an hour}"],
            gets: .accepted),
        ContractCase(
            "expiration-far", "A notification is stored for at most 30 days; a later moment means 30 days.",
            ["apns-expiration": "{in 31 days}"], gets: .accepted),
        ContractCase(
            "expiration-largest", "The largest number is the largest of 64 bits.",
            ["apns-expiration": "9223372036854775807"], gets: .accepted),
        ContractCase(
            "expiration-overflow", "A number of more than 64 bits is refused.",
            ["apns-expiration": "9223372036854775808"],
            gets: .refused(400, "BadExpirationDate")),
        ContractCase(
            "expiration-float", "A float is refused.", ["apns-expiration": "1700000000.5"],
            gets: .refused(400, "BadExpirationDate")),
        ContractCase(
            "expiration-exponent", "A float is refused.", ["apns-expiration": "1e9"],
            gets: .refused(400, "BadExpirationDate")),
        ContractCase(
            "expiration-negative", "A negative number is refused.", ["apns-expiration": "-1"],
            gets: .refused(400, "BadExpirationDate")),
        ContractCase(
            "expiration-plus", "A sign is refused.", ["apns-expiration": "+1"],
            gets: .refused(400, "BadExpirationDate")),
        ContractCase(
            "expiration-text", "Text is refused.", ["apns-expiration": "tomorrow"],
            gets: .refused(400, "BadExpirationDate")),
        ContractCase(
            "expiration-empty", "An empty value is not a number.", ["apns-expiration": ""],
            gets: .refused(400, "BadExpirationDate")),
    ]

    private static let priorities = [
        ContractCase(
            "priority-10", "10 means immediate; it is the default.", ["apns-priority": "10"],
            gets: .accepted),
        ContractCase(
            "priority-5", "5 means with regard to the device's power.", ["apns-priority": "5"],
            gets: .accepted),
        ContractCase("priority-1", "1 means low.", ["apns-priority": "1"], gets: .accepted),
        ContractCase(
            "priority-0", "There are no other priorities.", ["apns-priority": "0"],
            gets: .refused(400, "BadPriority")),
        ContractCase(
            "priority-7", "There are no other priorities.", ["apns-priority": "7"],
            gets: .refused(400, "BadPriority")),
        ContractCase(
            "priority-05", "A priority has no leading zero.", ["apns-priority": "05"],
            gets: .refused(400, "BadPriority")),
        ContractCase(
            "priority-text", "A priority is a number.", ["apns-priority": "high"],
            gets: .refused(400, "BadPriority")),
        ContractCase(
            "priority-empty", "An empty value is not a number.", ["apns-priority": ""],
            gets: .refused(400, "BadPriority")),
    ]

    private static let collapseIdentifiers = [
        ContractCase(
            "collapse-64", "A collapse identifier has at most 64 bytes.", ["apns-collapse-id": "{64 bytes}"],
            gets: .accepted),
        ContractCase(
            "collapse-65", "A longer one is refused.", ["apns-collapse-id": "{65 bytes}"],
            gets: .refused(400, "BadCollapseId")),
        ContractCase(
            "collapse-wide", "Bytes are counted, not characters: `ü` 32 times is 64.",
            ["apns-collapse-id": "{32 times ü}"], gets: .accepted),
        ContractCase(
            "collapse-wider", "Bytes are counted, not characters: `ü` 33 times is 66.",
            ["apns-collapse-id": "{33 times ü}"], gets: .refused(400, "BadCollapseId")),
        ContractCase(
            "collapse-empty", "An empty one counts as missing.", ["apns-collapse-id": ""], gets: .accepted),
    ]

    private static let others = [
        ContractCase(
            "topic-missing", "With a token, `apns-topic` is required.", ["apns-topic": nil],
            gets: .refused(400, "MissingTopic")),
        ContractCase(
            "topic-empty", "An empty topic counts as missing.", ["apns-topic": ""],
            gets: .refused(400, "MissingTopic")),
        ContractCase(
            "topic-letters", "A topic has letters, digits, dots, dashes and underscores.",
            ["apns-topic": "com/example/app"], gets: .refused(400, "BadTopic")),
        ContractCase(
            "topic-long", "A topic has at most 255 bytes.", ["apns-topic": "{256 bytes}"],
            gets: .refused(400, "BadTopic")),
        ContractCase(
            "topic-unknown", "The operator must have added the topic.",
            ["apns-topic": "com.example.unknown"], gets: .refused(400, "TopicDisallowed")),
        ContractCase(
            "topic-of-other-team", "The topic must belong to the provider's team.",
            ["apns-topic": "com.example.foreign"],
            gets: .refused(400, "TopicDisallowed")),
        ContractCase(
            "topic-before-token", "The topic is checked before the device token.",
            ["apns-topic": "com.example.unknown"], path: "/3/device/{160 digits}",
            gets: .refused(400, "TopicDisallowed")),
        ContractCase(
            "type-unknown", "The push type must be one of those below.", ["apns-push-type": "banner"],
            gets: .refused(400, "InvalidPushType")),
        ContractCase(
            "type-case", "Push types are in lower case.", ["apns-push-type": "Alert"],
            gets: .refused(400, "InvalidPushType")),
        ContractCase(
            "type-empty", "An empty push type is unknown.", ["apns-push-type": ""],
            gets: .refused(400, "InvalidPushType")),
        ContractCase(
            "unknown-headers",
            "Unknown headers and the content type are ignored.",
            [
                "content-type": "application/x-www-form-urlencoded", "interruption-level": "high",
                "user-agent": "x",
            ],
            gets: .accepted),
        ContractCase(
            "host", "A `host` header is ignored.", ["host": "api.push.apple.com"], gets: .accepted),
    ]
}
