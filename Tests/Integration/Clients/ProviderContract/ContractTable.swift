import PostriderNotifications

/// The provider contract as cases. The document and the tests are made of this table and of nothing else.
enum ContractTable {
    /// The tables of the document, in its order.
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
            ContractCase("good", "A push needs no header but these two.", gets: .accepted),
            ContractCase(
                "get", "Other methods are refused.", method: "GET", gets: .refused(405, "MethodNotAllowed")),
            ContractCase(
                "put", "Other methods are refused.", method: "PUT", gets: .refused(405, "MethodNotAllowed")),
            ContractCase(
                "method-lower-case", "Methods are in upper case.", method: "post",
                gets: .refused(405, "MethodNotAllowed")),
            ContractCase(
                "method-first", "The method is looked at first, before who asks and what for.",
                ["authorization": nil], path: "/", method: "GET", gets: .refused(405, "MethodNotAllowed")),
            ContractCase("path-root", "Other paths are refused.", path: "/", gets: .refused(404, "BadPath")),
            ContractCase(
                "path-version", "Other paths are refused.", path: "/2/device/{token}",
                gets: .refused(404, "BadPath")),
            ContractCase(
                "path-case", "Paths have a case.", path: "/3/Device/{token}", gets: .refused(404, "BadPath")),
            ContractCase(
                "path-slash", "Without the slash there is no place for a token.", path: "/3/device",
                gets: .refused(404, "BadPath")),
            ContractCase(
                "path-before-token", "The path is looked at before who asks.", ["authorization": nil],
                path: "/3/devices/{token}", gets: .refused(404, "BadPath")),
            ContractCase(
                "token-missing", "A path that ends where the token is due names no device.",
                path: "/3/device/",
                gets: .refused(400, "MissingDeviceToken")),
            ContractCase(
                "token-upper-case", "Digits may be of either case.", path: "/3/device/{TOKEN}",
                gets: .accepted),
            ContractCase(
                "token-odd", "An odd number of digits is no token.", path: "/3/device/abc",
                gets: .refused(400, "BadDeviceToken")),
            ContractCase(
                "token-not-hexadecimal", "Nothing but hexadecimal digits is a token.",
                path: "/3/device/{token}?a=b",
                gets: .refused(400, "BadDeviceToken")),
            ContractCase(
                "token-long", "A token has 200 digits at most.", path: "/3/device/{202 digits}",
                gets: .refused(400, "BadDeviceToken")),
            ContractCase(
                "token-of-other-length",
                "Tokens are opaque and of any even length; what was never issued is unknown.",
                path: "/3/device/{160 digits}", gets: .refused(400, "BadDeviceToken")),
        ])

    // MARK: Twice

    private static let duplicates = ContractGroup(
        title: "Headers that come twice",
        introduction: "Each of these headers may come once. That is looked at before who asks.",
        cases: [
            ContractCase(
                "twice-authorization", "One token.", twice: "authorization",
                gets: .refused(400, "DuplicateHeaders")
            ),
            ContractCase(
                "twice-topic", "One topic.", twice: "apns-topic", gets: .refused(400, "DuplicateHeaders")),
            ContractCase(
                "twice-id", "One identity, and the answer has the last one.", ["apns-id": goodIdentity],
                twice: "apns-id", gets: .refused(400, "DuplicateHeaders", ["apns-id": goodIdentity])),
            ContractCase(
                "twice-push-type", "One push type.", ["apns-push-type": "alert"], twice: "apns-push-type",
                gets: .refused(400, "DuplicateHeaders")),
            ContractCase(
                "twice-priority", "One priority.", ["apns-priority": "10"], twice: "apns-priority",
                gets: .refused(400, "DuplicateHeaders")),
            ContractCase(
                "twice-expiration", "One expiration.", ["apns-expiration": "0"], twice: "apns-expiration",
                gets: .refused(400, "DuplicateHeaders")),
            ContractCase(
                "twice-collapse-id", "One collapse identifier.", ["apns-collapse-id": "a"],
                twice: "apns-collapse-id", gets: .refused(400, "DuplicateHeaders")),
            ContractCase(
                "twice-unknown", "Headers that mean nothing here may come as often as they like.",
                ["x-trace": "1"],
                twice: "x-trace", gets: .accepted),
        ])

    static let goodIdentity = "9CC486EA-EA83-9351-40DF-557A308816D8"
}
