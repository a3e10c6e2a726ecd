import PostriderNotifications

extension ContractTable {
    static let channelRequests = ContractGroup(
        title: "Channels: path, method and name",
        introduction: """
            The path is looked at first, then the method, then headers that come twice, then who asks, then \
            the name of the request. An answer has an `apns-request-id` and no `apns-id`.
            """,
        cases: channelPaths + channelNames + channelDuplicates)

    private static let channelPaths = [
        ContractCase(
            "channel-path-singular", "Other paths are refused.", as: .create,
            path: "/1/apps/com.example.app/channel", gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-slash", "A slash at the end is another path.", as: .create,
            path: "/1/apps/com.example.app/channels/", gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-identifier", "A channel is named by a header and not in the path.", as: .read,
            path: "/1/apps/com.example.app/channels/{channel}", gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-no-app", "An app is named.", as: .create, path: "/1/apps/channels",
            gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-case", "Paths have a case.", as: .list,
            path: "/1/apps/com.example.app/All-Channels", gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-query", "There are no queries.", as: .list,
            path: "/1/apps/com.example.app/all-channels?limit=1", gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-path-first", "The path is looked at before the method and before who asks.", as: .create,
            ["authorization": nil], path: "/1/apps/com.example.app", method: "PUT",
            gets: .refused(404, "BadPath")),
        ContractCase(
            "channel-put", "A channel does not change.", as: .create, method: "PUT",
            gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "channel-list-post", "A list is got.", as: .list, method: "POST",
            gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "channel-list-delete", "Channels are deleted one by one.", as: .list, method: "DELETE",
            gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "channel-method-case", "Methods are in upper case.", as: .read, method: "get",
            gets: .refused(405, "MethodNotAllowed")),
        ContractCase(
            "channel-method-before-auth", "The method is looked at before who asks.", as: .create,
            ["authorization": nil], method: "PATCH", gets: .refused(405, "MethodNotAllowed")),
    ]

    private static let mixedIdentity = "9cC486ea-EA83-9351-40DF-557a308816D8"

    private static let channelNames = [
        ContractCase(
            "channel-id-drawn", "Without a name the relay draws a UUID and prints it in upper case.",
            as: .read,
            gets: .answered(200, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)),
        ContractCase(
            "channel-id-echoed", "`apns-request-id` comes back byte for byte.", as: .create,
            ["apns-request-id": mixedIdentity],
            gets: .answered(201, "", ["apns-channel-id": "*", "apns-request-id": mixedIdentity])),
        ContractCase(
            "channel-id-on-errors", "`apns-request-id` comes back with every answer.", as: .read,
            ["apns-request-id": mixedIdentity, "apns-channel-id": nil],
            gets: .refused(400, "MissingChannelId", ["apns-request-id": mixedIdentity])),
        ContractCase(
            "channel-id-drawn-on-errors", "Every answer has an `apns-request-id`.", as: .list,
            ["authorization": nil], gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "channel-id-of-pushes", "`apns-id` names a request as well.", as: .create,
            ["apns-id": mixedIdentity],
            gets: .answered(201, "", ["apns-channel-id": "*", "apns-request-id": mixedIdentity])),
        ContractCase(
            "channel-id-both", "`apns-request-id` comes before `apns-id`.", as: .create,
            ["apns-id": goodIdentity, "apns-request-id": mixedIdentity],
            gets: .answered(201, "", ["apns-channel-id": "*", "apns-request-id": mixedIdentity])),
        ContractCase(
            "channel-id-text", "A name is a UUID; another text is refused and comes back all the same.",
            as: .list, ["apns-request-id": "no-uuid"],
            gets: .refused(400, "BadMessageId", ["apns-request-id": "no-uuid"])),
        ContractCase(
            "channel-id-empty", "An empty name is no UUID.", as: .list, ["apns-request-id": ""],
            gets: .refused(400, "BadMessageId", ["apns-request-id": ""])),
        ContractCase(
            "channel-id-of-pushes-text", "`apns-id` is a UUID here, too.", as: .delete,
            ["apns-id": "no-uuid"],
            gets: .refused(400, "BadMessageId", ["apns-request-id": "no-uuid"])),
    ]

    private static let channelDuplicates = [
        ContractCase(
            "channel-twice-id", "One name.", as: .create, ["apns-request-id": goodIdentity],
            twice: "apns-request-id", gets: .refused(400, "DuplicateHeaders")),
        ContractCase(
            "channel-twice-channel", "One channel.", as: .read, twice: "apns-channel-id",
            gets: .refused(400, "DuplicateHeaders")),
        ContractCase(
            "channel-twice-authorization", "One token.", as: .list, twice: "authorization",
            gets: .refused(400, "DuplicateHeaders")),
    ]

    // MARK: Making

    static let channelMaking = ContractGroup(
        title: "Channels: making one",
        introduction: """
            The body is a JSON object with `message-storage-policy`, 0 (nothing is stored) or 1 (the most \
            recent broadcast is), and `push-type`. Headers of pushes mean nothing here.
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
            "create-policy-text", "A policy may be a whole number as text, as examples on the web write it.",
            #"{"message-storage-policy":"1","push-type":"LiveActivity"}"#, gets: created),
        making(
            "create-type-lower-case", "The push type may be of either case.",
            #"{"message-storage-policy":1,"push-type":"liveactivity"}"#, gets: created),
        making(
            "create-type-documented", "The push type may be of either case.",
            #"{"push-type": "Liveactivity", "message-storage-policy": 1}"#, gets: created),
        ContractCase(
            "create-node-apn", "node-apn says a priority besides.", as: .create, ["apns-priority": "10"],
            body: .text(#"{"message-storage-policy":0,"push-type":"liveactivity"}"#), gets: created),
        ContractCase(
            "create-push-headers", "Headers of pushes are not looked at.", as: .create,
            ["apns-priority": "7", "apns-expiration": "soon", "apns-push-type": "alert"], gets: created),
        ContractCase(
            "create-topic", "The path names the app: `apns-topic` is not looked at.", as: .create,
            ["apns-topic": "com.example.foreign"], gets: created),
    ]

    private static let badCreations = [
        making(
            "create-policy-2", "There are two policies.",
            #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#,
            gets: .refused(400, "BadRequestParams")),
        ContractCase(
            "create-policy-text-strict", "A strict relay takes no text for a policy.", as: .create,
            body: .text(#"{"message-storage-policy":"1","push-type":"LiveActivity"}"#), with: .strict,
            gets: .refused(400, "BadRequestParams")),
        making(
            "create-policy-word", "A policy is a whole number, also where it is text.",
            #"{"message-storage-policy":"most recent","push-type":"LiveActivity"}"#,
            gets: .refused(400, "BadRequestParams")),
        making(
            "create-policy-missing", "A policy is needed.", #"{"push-type":"LiveActivity"}"#,
            gets: .refused(400, "BadRequestParams")),
        making(
            "create-attribute", "Another attribute is not known.",
            #"{"message-storage-policy":1,"push-type":"LiveActivity","name":"News"}"#,
            gets: .refused(400, "BadRequestParams")),
        making(
            "create-type-missing", "A push type is needed.", #"{"message-storage-policy":1}"#,
            gets: .refused(400, "MissingPushType")),
        making(
            "create-type-alert", "There is one push type.",
            #"{"message-storage-policy":1,"push-type":"alert"}"#, gets: .refused(400, "InvalidPushType")),
        making("create-no-body", "A body is needed.", "", gets: .refused(400, "PayloadEmpty")),
        making(
            "create-broken", "Half an object is none.", #"{"message-storage-policy":1"#,
            gets: .refused(400, "BadRequestPayload")),
        making("create-array", "An array is no object.", "[]", gets: .refused(400, "BadRequestPayload")),
        making("create-space", "White space is no object.", " ", gets: .refused(400, "BadRequestPayload")),
        ContractCase(
            "create-latin", "Text is UTF-8.", as: .create, body: .invalidText,
            gets: .refused(400, "BadRequestPayload")),
    ]

    private static let settings = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#

    private static let creationSizes = [
        ContractCase(
            "create-5120", "5120 bytes at most.", as: .create, body: .padded(settings, bytes: 5120),
            gets: created),
        ContractCase(
            "create-5121", "One byte more is refused.", as: .create, body: .padded(settings, bytes: 5121),
            gets: .refused(413, "PayloadTooLarge")),
        ContractCase(
            "create-limit", "An app has 10,000 channels at most.", as: .create, with: .fullOfChannels,
            gets: .refused(400, "CannotCreateChannelConfig")),
        ContractCase(
            "create-limit-of-environment", "That is counted in each environment.", as: .create,
            with: .fullOfChannels, in: .development, gets: created),
        ContractCase(
            "create-disk-full", "The channel cannot be made durable now; the reason is written with a space.",
            as: .create, with: .failingStore(.full), gets: .refused(503, "Service Unavailable")),
        ContractCase(
            "create-store-damaged",
            "The channel cannot be made durable at all; the operator has to see to it.",
            as: .create, with: .failingStore(.conflict), gets: .refused(500, "InternalServerError")),
    ]
}
