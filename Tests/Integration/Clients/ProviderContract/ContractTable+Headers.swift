import PostriderNotifications

extension ContractTable {
    static let headers = ContractGroup(
        title: "Headers",
        introduction: """
            An empty value is a value, and refused like any other that does not fit, with three \
            exceptions: an empty `apns-collapse-id` is none, an empty `apns-topic` is missing, and so is \
            an empty `authorization`.
            """,
        cases: identities + expirations + priorities + collapseIdentifiers + others)

    private static let identities = [
        ContractCase(
            "id-drawn", "Without `apns-id` the relay draws a UUID and prints it in upper case.",
            gets: .accepted),
        ContractCase(
            "id-echoed", "`apns-id` comes back byte for byte.",
            ["apns-id": "9cC486ea-EA83-9351-40DF-557a308816D8"],
            gets: .accepted(["apns-id": "9cC486ea-EA83-9351-40DF-557a308816D8"])),
        ContractCase(
            "id-echoed-on-errors", "`apns-id` comes back with every answer.",
            ["apns-id": goodIdentity, "apns-priority": "7"],
            gets: .refused(400, "BadPriority", ["apns-id": goodIdentity])),
        ContractCase(
            "id-drawn-on-errors", "Every answer has an `apns-id`.", ["authorization": nil],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "id-text", "`apns-id` is a UUID; another text is refused and comes back all the same.",
            ["apns-id": "no-uuid"], gets: .refused(400, "BadMessageId", ["apns-id": "no-uuid"])),
        ContractCase(
            "id-without-dashes", "A UUID has 8-4-4-4-12 digits.",
            ["apns-id": "9CC486EAEA83935140DF557A308816D8"],
            gets: .refused(400, "BadMessageId")),
        ContractCase(
            "id-in-braces", "A UUID has no braces.", ["apns-id": "(9CC486EA-EA83-9351-40DF-557A308816D8)"],
            gets: .refused(400, "BadMessageId")),
        ContractCase(
            "id-empty", "An empty `apns-id` is no UUID.", ["apns-id": ""],
            gets: .refused(400, "BadMessageId", ["apns-id": ""])),
    ]

    private static let expirations = [
        ContractCase(
            "expiration-absent", "Without `apns-expiration` a notification is kept for 30 days.",
            ["apns-expiration": nil], gets: .accepted),
        ContractCase(
            "expiration-zero", "0 means now or never: one attempt, nothing stored.", ["apns-expiration": "0"],
            gets: .accepted),
        ContractCase(
            "expiration-past", "A moment that has passed means now or never.",
            ["apns-expiration": "{an hour ago}"],
            gets: .accepted),
        ContractCase(
            "expiration-future", "A moment to come is in seconds since 1970.",
            ["apns-expiration": "{in an hour}"],
            gets: .accepted),
        ContractCase(
            "expiration-far", "Nothing is kept for longer than 30 days; who asks for more gets these.",
            ["apns-expiration": "{in 31 days}"], gets: .accepted),
        ContractCase(
            "expiration-largest", "The largest number is the largest of 64 bits.",
            ["apns-expiration": "9223372036854775807"], gets: .accepted),
        ContractCase(
            "expiration-overflow", "A larger one is refused.", ["apns-expiration": "9223372036854775808"],
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
            "expiration-empty", "An empty value is no number.", ["apns-expiration": ""],
            gets: .refused(400, "BadExpirationDate")),
    ]

    private static let priorities = [
        ContractCase(
            "priority-10", "10 is immediate, and what is taken without the header.", ["apns-priority": "10"],
            gets: .accepted),
        ContractCase(
            "priority-5", "5 is considerate of the device's power.", ["apns-priority": "5"], gets: .accepted),
        ContractCase("priority-1", "1 is low.", ["apns-priority": "1"], gets: .accepted),
        ContractCase(
            "priority-0", "There is no other priority.", ["apns-priority": "0"],
            gets: .refused(400, "BadPriority")),
        ContractCase(
            "priority-7", "There is no other priority.", ["apns-priority": "7"],
            gets: .refused(400, "BadPriority")),
        ContractCase(
            "priority-05", "A priority is written as such.", ["apns-priority": "05"],
            gets: .refused(400, "BadPriority")),
        ContractCase(
            "priority-text", "A priority is a number.", ["apns-priority": "high"],
            gets: .refused(400, "BadPriority")),
        ContractCase(
            "priority-empty", "An empty value is no number.", ["apns-priority": ""],
            gets: .refused(400, "BadPriority")),
    ]

    private static let collapseIdentifiers = [
        ContractCase(
            "collapse-64", "A collapse identifier has 64 bytes at most.", ["apns-collapse-id": "{64 bytes}"],
            gets: .accepted),
        ContractCase(
            "collapse-65", "One byte more is refused.", ["apns-collapse-id": "{65 bytes}"],
            gets: .refused(400, "BadCollapseId")),
        ContractCase(
            "collapse-wide", "Bytes are counted, not letters: 32 times `ü` are 64.",
            ["apns-collapse-id": "{32 times ü}"], gets: .accepted),
        ContractCase(
            "collapse-wider", "Bytes are counted, not letters: 33 times `ü` are 66.",
            ["apns-collapse-id": "{33 times ü}"], gets: .refused(400, "BadCollapseId")),
        ContractCase("collapse-empty", "An empty one is none.", ["apns-collapse-id": ""], gets: .accepted),
    ]

    private static let others = [
        ContractCase(
            "topic-missing", "With a token the topic must be said.", ["apns-topic": nil],
            gets: .refused(400, "MissingTopic")),
        ContractCase(
            "topic-empty", "An empty topic is missing.", ["apns-topic": ""],
            gets: .refused(400, "MissingTopic")),
        ContractCase(
            "topic-letters", "A topic has letters, digits, dots, dashes and underscores.",
            ["apns-topic": "com/example/app"], gets: .refused(400, "BadTopic")),
        ContractCase(
            "topic-long", "A topic has 255 bytes at most.", ["apns-topic": "{256 bytes}"],
            gets: .refused(400, "BadTopic")),
        ContractCase(
            "topic-unknown", "A topic that the operator has not added is nobody's.",
            ["apns-topic": "com.example.unknown"], gets: .refused(400, "TopicDisallowed")),
        ContractCase(
            "topic-of-other-team", "A topic is its team's.", ["apns-topic": "com.example.foreign"],
            gets: .refused(400, "TopicDisallowed")),
        ContractCase(
            "topic-before-token", "The topic is looked at before the device token.",
            ["apns-topic": "com.example.unknown"], path: "/3/device/{160 digits}",
            gets: .refused(400, "TopicDisallowed")),
        ContractCase(
            "type-unknown", "A push type is one of those below.", ["apns-push-type": "banner"],
            gets: .refused(400, "InvalidPushType")),
        ContractCase(
            "type-case", "Push types are in lower case.", ["apns-push-type": "Alert"],
            gets: .refused(400, "InvalidPushType")),
        ContractCase(
            "type-empty", "An empty push type is none of them.", ["apns-push-type": ""],
            gets: .refused(400, "InvalidPushType")),
        ContractCase(
            "unknown-headers",
            "Headers that mean nothing here are not looked at, and the content type neither.",
            [
                "content-type": "application/x-www-form-urlencoded", "interruption-level": "high",
                "user-agent": "x",
            ],
            gets: .accepted),
        ContractCase(
            "host", "A `host` header does no harm.", ["host": "api.push.apple.com"], gets: .accepted),
    ]
}
