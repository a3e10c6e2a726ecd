import PostriderNotifications

extension ContractTable {
    static let channelRequests = ContractGroup(
        title: "Channels: path, method and identifier",
        introduction: """
            The order is: path, method, headers that occur twice, authentication, the identifier of the \
            request. An answer has an `apns-request-id` and no `apns-id`.
            """,
        cases: channelPaths + channelNames + channelDuplicates)

    private static let channelPaths = [
        ContractCase(
            "channel-path-singular", "Other paths are refused.", as: .create,
            path: "/1/apps/com.example.app/channel", gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-slash", "A path with a slash at the end is another path.", as: .create,
            path: "/1/apps/com.example.app/channels/", gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-identifier", "A header names the channel, not the path.", as: .read,
            path: "/1/apps/com.example.app/channels/{channel}", gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-no-app", "The path must name an app.", as: .create, path: "/1/apps/channels",
            gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-case", "Paths are case-sensitive.", as: .list,
            path: "/1/apps/com.example.app/All-Channels", gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-query", "A path has no query.", as: .list,
            path: "/1/apps/com.example.app/all-channels?limit=1", gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-first", "The path is checked before the method and authentication.", as: .create,
            ["authorization": nil], path: "/1/apps/com.example.app", method: "PUT",
            gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-put", "A channel cannot be changed.", as: .create, method: "PUT",
            gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "channel-list-post", "A list is requested with GET.", as: .list, method: "POST",
            gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "channel-list-delete", "Channels are deleted one by one.", as: .list, method: "DELETE",
            gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "channel-method-case", "The method must be in upper case.", as: .read, method: "get",
            gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "channel-method-before-auth", "The method is checked before authentication.", as: .create,
            ["authorization": nil], method: "PATCH", gets: .refused(405, "MethodNotAllowed")),
    ]

    private static let mixedIdentity = "9cC486ea-EA83-9351-40DF-557a308816D8"

    private static let channelNames = [
        ContractCase(
            "channel-id-drawn", "Without an identifier the relay draws a UUID and sends it in upper case.",
            as: .read,
            gets: .answered(200, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)),
        ContractCase(
            "channel-id-echoed", "`apns-request-id` is returned byte for byte.", as: .create,
            ["apns-request-id": mixedIdentity],
            gets: .answered(201, "", ["apns-channel-id": "*", "apns-request-id": mixedIdentity])),
        ContractCase(
            "channel-id-on-errors", "`apns-request-id` is returned with errors too.", as: .read,
            ["apns-request-id": mixedIdentity, "apns-channel-id": nil],
            gets: .refused(400, "MissingChannelId", ["apns-request-id": mixedIdentity])),
        ContractCase(
            "channel-id-drawn-on-errors", "Every answer has an `apns-request-id`.", as: .list,
            ["authorization": nil], gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "channel-id-of-pushes", "`apns-id` may identify a request as well.", as: .create,
            ["apns-id": mixedIdentity],
            gets: .answered(201, "", ["apns-channel-id": "*", "apns-request-id": mixedIdentity])),
        ContractCase(
            "channel-id-both", "`apns-request-id` wins over `apns-id`.", as: .create,
            ["apns-id": goodIdentity, "apns-request-id": mixedIdentity],
            gets: .answered(201, "", ["apns-channel-id": "*", "apns-request-id": mixedIdentity])),
        ContractCase(
            "channel-id-text", "The identifier must be a UUID; another text is refused and still returned.",
            as: .list, ["apns-request-id": "no-uuid"],
            gets: .refused(400, "BadMessageId", ["apns-request-id": "no-uuid"])),
        ContractCase(
            "channel-id-empty", "An empty identifier is not a UUID.", as: .list, ["apns-request-id": ""],
            gets: .refused(400, "BadMessageId", ["apns-request-id": ""])),
        ContractCase(
            "channel-id-of-pushes-text", "`apns-id` must be a UUID here too.", as: .delete,
            ["apns-id": "no-uuid"],
            gets: .refused(400, "BadMessageId", ["apns-request-id": "no-uuid"])),
    ]

    private static let channelDuplicates = [
        ContractCase(
            "channel-twice-id", "There may be one identifier.", as: .create,
            ["apns-request-id": goodIdentity],
            twice: "apns-request-id", gets: .refused(400, "DuplicateHeaders")),
        ContractCase(
            "channel-twice-channel", "There may be one channel.", as: .read, twice: "apns-channel-id",
            gets: .refused(400, "DuplicateHeaders")),
        ContractCase(
            "channel-twice-authorization", "There may be one token.", as: .list, twice: "authorization",
            gets: .refused(400, "DuplicateHeaders")),
    ]

    // MARK: Making

    static let channelMaking = ContractGroup(
        title: "Channels: creating one",
        introduction: """
            The body is a JSON object with `message-storage-policy`, 0 (the channel stores nothing) or 1 \
            (it stores its most recent broadcast), and `push-type`. Headers of pushes are ignored.
            """,
        cases: goodCreations + badCreations + creationSizes)

    private static let created = ContractAnswer.answered(201, "", ["apns-channel-id": "*"])

    private static func making(_ name: String, _ rule: String, _ body: String, gets answer: ContractAnswer)
        -> ContractCase
    {
        ContractCase(name, rule, as: .create, body: .text(body), gets: answer)
    }

    private static let goodCreations = [
        ContractCase("create", "The answer names the channel, and has no body.", as: .create, gets: created),
        making(
            "create-policy-0", "A channel may store nothing.",
            #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#, gets: created),
        making(
            "create-policy-text",
            "A policy may be a whole number written as text, as in examples on the web.",
            #"{"message-storage-policy":"1","push-type":"LiveActivity"}"#, gets: created),
        making(
            "create-type-lower-case", "The push type may be of either case.",
            #"{"message-storage-policy":1,"push-type":"liveactivity"}"#, gets: created),
        making(
            "create-type-documented", "The push type may be of either case.",
            #"{"push-type": "Liveactivity", "message-storage-policy": 1}"#, gets: created),
        ContractCase(
            "create-node-apn", "node-apn also sends a priority.", as: .create, ["apns-priority": "10"],
            body: .text(#"{"message-storage-policy":0,"push-type":"liveactivity"}"#), gets: created),
        ContractCase(
            "create-push-headers", "Headers of pushes are ignored.", as: .create,
            ["apns-priority": "7", "apns-expiration": "soon", "apns-push-type": "alert"], gets: created),
        ContractCase(
            "create-topic", "The path names the app: `apns-topic` is ignored.", as: .create,
            ["apns-topic": "com.example.foreign"], gets: created),
    ]

    private static let badCreations = [
        making(
            "create-policy-2", "There are two policies.",
            #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#,
            gets: .refused(400, "BadRequestParams")),
        ContractCase(
            "create-policy-text-strict", "A strict relay refuses a policy that is text.", as: .create,
            body: .text(#"{"message-storage-policy":"1","push-type":"LiveActivity"}"#), with: .strict,
            gets: .refused(400, "BadRequestParams")),
        making(
            "create-policy-word", "A policy must be a whole number, also as text.",
            #"{"message-storage-policy":"most recent","push-type":"LiveActivity"}"#,
            gets: .refused(400, "BadRequestParams")),
        making(
            "create-policy-missing", "A policy is required.", #"{"push-type":"LiveActivity"}"#,
            gets: .refused(400, "BadRequestParams")),
        making(
            "create-attribute", "Unknown attributes are refused.",
            #"{"message-storage-policy":1,"push-type":"LiveActivity","name":"News"}"#,
            gets: .refused(400, "BadRequestParams")),
        making(
            "create-type-missing", "A push type is required.", #"{"message-storage-policy":1}"#,
            gets: .refused(400, "MissingPushType")),
        making(
            "create-type-alert", "There is only one push type.",
            #"{"message-storage-policy":1,"push-type":"alert"}"#, gets: .refused(400, "InvalidPushType")),
        making("create-no-body", "A body is required.", "", gets: .refused(400, "PayloadEmpty")),
        making(
            "create-broken", "The object must be complete.", #"{"message-storage-policy":1"#,
            gets: .refused(400, "BadRequestPayload")),
        making("create-array", "An array is not an object.", "[]", gets: .refused(400, "BadRequestPayload")),
        making(
            "create-space", "White space is not an object.", " ", gets: .refused(400, "BadRequestPayload")),
        ContractCase(
            "create-latin", "Text must be UTF-8.", as: .create, body: .invalidText,
            gets: .refused(400, "BadRequestPayload")),
    ]

    private static let settings = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#

    private static let creationSizes = [
        ContractCase(
            "create-5120", "A body has at most 5120 bytes.", as: .create,
            body: .padded(settings, bytes: 5120),
            gets: created),
        ContractCase(
            "create-5121", "A longer body is refused.", as: .create, body: .padded(settings, bytes: 5121),
            gets: .refused(413, "PayloadTooLarge")),
        ContractCase(
            "create-limit", "An app has at most 10,000 channels.", as: .create, with: .fullOfChannels,
            gets: .refused(400, "CannotCreateChannelConfig")),
        ContractCase(
            "create-limit-of-environment", "Each environment is counted on its own.", as: .create,
            with: .fullOfChannels, in: .development, gets: created),
        ContractCase(
            "create-disk-full", "The channel cannot be made durable now; the reason is written with a space.",
            as: .create, with: .failingStore(.full), gets: .refused(503, "Service Unavailable")),
        ContractCase(
            "create-store-damaged",
            "The channel cannot be made durable at all; the operator has to act.",
            as: .create, with: .failingStore(.conflict), gets: .refused(500, "InternalServerError")),
    ]
}
