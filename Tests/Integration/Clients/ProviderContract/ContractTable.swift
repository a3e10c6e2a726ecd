import PostriderNotifications

/// The provider contract as cases: the only source of the document and of its tests.
enum ContractTable {
    /// The tables of the document, in order.
    static let groups = [
        paths, headers, duplicates, pushTypes, payloads, deviceTokens, authentication, keys, certificates,
        circumstances, channelRequests, channelMaking, channelUse, channelApps, broadcasts, broadcastHeaders,
        broadcastPayloads, channelProviders,
    ]

    /// Every case of every group.
    static var cases: [ContractCase] { groups.flatMap(\.cases) }

    /// Every event of every group.
    static var events: [ContractEvent] { groups.flatMap(\.events) }

    // MARK: What is asked for

    private static let paths = ContractGroup(
        title: "Method and path",
        introduction: "A push is `POST /3/device/` and the device token in hexadecimal digits.",
        cases: [
            ContractCase("good", "A push needs no headers other than these two.", gets: .accepted),
            ContractCase(
                "get", "Other methods are refused.", method: "GET", gets: .refused(405, "MethodNotAllowed")),
            ContractCase(
                "put", "Other methods are refused.", method: "PUT", gets: .refused(405, "MethodNotAllowed")),
            ContractCase(
                "method-lower-case", "The method must be in upper case.", method: "post",
                gets: .refused(405, "MethodNotAllowed")),
            ContractCase(
                "method-first", "The method is checked before authentication.",
                ["authorization": nil], path: "/", method: "GET", gets: .refused(405, "MethodNotAllowed")),
            ContractCase("path-root", "Other paths are refused.", path: "/", gets: .refused(404, "BadPath")),
            ContractCase(
                "path-version", "Other paths are refused.", path: "/2/device/{token}",
                gets: .refused(404, "BadPath")),
            ContractCase(
                "path-case", "Paths are case-sensitive.", path: "/3/Device/{token}",
                gets: .refused(404, "BadPath")),
            ContractCase(
                "path-slash", "A device path ends with a slash and the token.", path: "/3/device",
                gets: .refused(404, "BadPath")),
            ContractCase(
                "path-before-token", "The path is checked before authentication.", ["authorization": nil],
                path: "/3/devices/{token}", gets: .refused(404, "BadPath")),
            ContractCase(
                "token-missing", "A device path without a token names no device.",
                path: "/3/device/",
                gets: .refused(400, "MissingDeviceToken")),
            ContractCase(
                "token-upper-case", "Digits may be of either case.", path: "/3/device/{TOKEN}",
                gets: .accepted),
            ContractCase(
                "token-odd", "A device token has an even number of digits.", path: "/3/device/abc",
                gets: .refused(400, "BadDeviceToken")),
            ContractCase(
                "token-not-hexadecimal", "A device token has only hexadecimal digits.",
                path: "/3/device/{token}?a=b",
                gets: .refused(400, "BadDeviceToken")),
            ContractCase(
                "token-long", "A device token has at most 200 digits.", path: "/3/device/{202 digits}",
                gets: .refused(400, "BadDeviceToken")),
            ContractCase(
                "token-of-other-length",
                "A token may have any even length; one that the relay never issued is unknown.",
                path: "/3/device/{160 digits}", gets: .refused(400, "BadDeviceToken")),
        ])

    // MARK: Twice

    private static let duplicates = ContractGroup(
        title: "Headers that occur twice",
        introduction: "Each of these headers may occur once. That is checked before authentication.",
        cases: [
            ContractCase(
                "twice-authorization", "There may be one token.", twice: "authorization",
                gets: .refused(400, "DuplicateHeaders")
            ),
            ContractCase(
                "twice-topic", "There may be one topic.", twice: "apns-topic",
                gets: .refused(400, "DuplicateHeaders")),
            ContractCase(
                "twice-id", "There may be one identity; the answer has the last one.",
                ["apns-id": goodIdentity],
                twice: "apns-id", gets: .refused(400, "DuplicateHeaders", ["apns-id": goodIdentity])),
            ContractCase(
                "twice-push-type", "There may be one push type.", ["apns-push-type": "alert"],
                twice: "apns-push-type",
                gets: .refused(400, "DuplicateHeaders")),
            ContractCase(
                "twice-priority", "There may be one priority.", ["apns-priority": "10"],
                twice: "apns-priority",
                gets: .refused(400, "DuplicateHeaders")),
            ContractCase(
                "twice-expiration", "There may be one expiration.", ["apns-expiration": "0"],
                twice: "apns-expiration",
                gets: .refused(400, "DuplicateHeaders")),
            ContractCase(
                "twice-collapse-id", "There may be one collapse identifier.", ["apns-collapse-id": "a"],
                twice: "apns-collapse-id", gets: .refused(400, "DuplicateHeaders")),
            ContractCase(
                "twice-unknown", "Unknown headers may occur any number of times.",
                ["x-trace": "1"],
                twice: "x-trace", gets: .accepted),
        ])

    static let goodIdentity = "9CC486EA-EA83-9351-40DF-557A308816D8"
}
