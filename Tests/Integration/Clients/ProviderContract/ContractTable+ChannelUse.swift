import PostriderNotifications

extension ContractTable {
    static let channelUse = ContractGroup(
        title: "Channels: reading, listing and deleting",
        introduction: """
            `apns-channel-id` is the name from the answer to a creation: 16 bytes in base64. A broadcast \
            needs it as well.
            """,
        cases: reading + naming + listing + deleting)

    private static let reading = [
        ContractCase(
            "read", "The answer has the settings with which the channel was created.", as: .read,
            gets: .answered(200, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)),
        ContractCase(
            "read-policy-0", "The policy is a number.", as: .read,
            ["apns-channel-id": "{channel that stores nothing}"],
            gets: .answered(200, #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)),
        ContractCase(
            "read-development", "A channel belongs to one environment.", as: .read,
            ["apns-channel-id": "{development channel}"], in: .development,
            gets: .answered(200, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)),
        ContractCase(
            "read-without-padding", "The padding of base64 is optional.", as: .read,
            ["apns-channel-id": "{channel without padding}"],
            gets: .answered(200, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)),
    ]

    private static let naming = [
        ContractCase(
            "channel-missing", "The channel must be named.", as: .read, ["apns-channel-id": nil],
            gets: .refused(400, "MissingChannelId")),
        ContractCase(
            "channel-empty", "An empty header names no channel.", as: .delete, ["apns-channel-id": ""],
            gets: .refused(400, "MissingChannelId")),
        ContractCase(
            "channel-not-base64", "A channel's name is base64.", as: .read,
            ["apns-channel-id": "AAAAAAAAAAEAAAAA*AAAAQ=="],
            gets: .refused(400, "BadChannelId")),
        ContractCase(
            "channel-short", "A channel's name has 16 bytes.", as: .delete, ["apns-channel-id": "AAAA"],
            gets: .refused(400, "BadChannelId")),
        ContractCase(
            "channel-long", "A channel's name has 16 bytes.", as: .read,
            ["apns-channel-id": "AAAAAAAAAAEAAAAAAAAAAQAA"], gets: .refused(400, "BadChannelId")),
        ContractCase(
            "channel-unknown", "A channel that was never created is unknown.", as: .read,
            ["apns-channel-id": "{unknown channel}"],
            gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "channel-of-other-app", "A channel belongs to one app.", as: .read,
            ["apns-channel-id": "{older channel of the second app}"],
            gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "channel-of-development", "A channel of the development environment is unknown in production.",
            as: .delete, ["apns-channel-id": "{development channel}"],
            gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "channel-of-production", "A channel of the production environment is unknown in development.",
            as: .read, in: .development, gets: .refused(400, "ChannelNotRegistered")),
    ]

    private static let listing = [
        ContractCase(
            "list", "The answer has all channels of the app, in the order in which they were created.",
            as: .list,
            path: "/1/apps/com.example.second/all-channels",
            gets: .answered(
                200,
                #"{"channels":["{older channel of the second app}","{newer channel of the second app}"]}"#)),
        ContractCase(
            "list-empty", "Each environment has its own channels.", as: .list,
            path: "/1/apps/com.example.second/all-channels", in: .development,
            gets: .answered(200, #"{"channels":[]}"#)),
        ContractCase(
            "list-channel-header", "A list names no channel: the header is ignored.", as: .list,
            ["apns-channel-id": "x"], path: "/1/apps/com.example.second/all-channels", in: .development,
            gets: .answered(200, #"{"channels":[]}"#)),
    ]

    private static let doomed = (name: "apns-channel-id", value: "{second channel to delete}" as String?)

    private static let deleting = [
        ContractCase(
            "delete", "The answer has no body.", as: .delete, ["apns-channel-id": "{channel to delete}"],
            gets: .answered(204)),
        ContractCase(
            "delete-again", "A deleted channel is unknown.", as: .delete,
            ["apns-channel-id": "{second channel to delete}"],
            before: [ContractRequest(.delete, changes: [doomed])],
            gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "delete-disk-full", "A deletion must be made durable too.", as: .delete,
            ["apns-channel-id": "{channel to delete}"], with: .failingStore(.full),
            gets: .refused(503, "Service Unavailable")),
    ]

    // MARK: The app

    static let channelApps = ContractGroup(
        title: "Channels and broadcasts: the app in the path",
        introduction: """
            The app is checked after authentication and before everything else that a request is about. It \
            is the bundle identifier without the suffix of a push type.
            """,
        cases: [
            ContractCase(
                "app-suffix", "The app is named without a suffix.", as: .create,
                path: "/1/apps/com.example.app.push-type.liveactivity/channels",
                gets: .refused(400, "TopicDisallowed")),
            ContractCase(
                "app-suffix-list", "The app is named without a suffix.", as: .list,
                path: "/1/apps/com.example.app.voip/all-channels", gets: .refused(400, "TopicDisallowed")),
            ContractCase(
                "app-suffix-broadcast", "The app is named without a suffix here too.", as: .broadcast,
                path: "/4/broadcasts/apps/com.example.app.push-type.liveactivity",
                gets: .refused(400, "TopicDisallowed")),
            ContractCase(
                "app-of-other-team", "The app must belong to the provider's team.", as: .create,
                path: "/1/apps/com.example.foreign/channels", gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-of-other-team-broadcast", "The app must belong to the provider's team.", as: .broadcast,
                path: "/4/broadcasts/apps/com.example.foreign", gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-unknown", "The operator must have added the app.", as: .list,
                path: "/1/apps/com.example.unknown/all-channels", gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-empty", "An empty name is not an app.", as: .list, path: "/1/apps//all-channels",
                gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-malformed", "The name must be a bundle identifier.", as: .broadcast,
                path: "/4/broadcasts/apps/com%2Eexample", gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-not-enabled", "The operator has allowed the app no channels.", as: .create,
                path: "/1/apps/com.example.quiet/channels", gets: .refused(400, "FeatureNotEnabled")),
            ContractCase(
                "app-not-enabled-list", "Such an app has nothing to list.", as: .list,
                path: "/1/apps/com.example.quiet/all-channels", gets: .refused(400, "FeatureNotEnabled")),
            ContractCase(
                "app-not-enabled-broadcast", "Such an app has nothing to broadcast to.", as: .broadcast,
                path: "/4/broadcasts/apps/com.example.quiet", gets: .refused(400, "FeatureNotEnabled")),
            ContractCase(
                "app-before-channel", "The app is checked before the channel.", as: .read,
                ["apns-channel-id": nil], path: "/1/apps/com.example.foreign/channels",
                gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-before-body", "The app is checked before the body.", as: .create,
                path: "/1/apps/com.example.quiet/channels", body: .text(""),
                gets: .refused(400, "FeatureNotEnabled")),
            ContractCase(
                "name-before-app", "The identifier of the request is checked before the app.", as: .create,
                ["apns-request-id": "no-uuid"], path: "/1/apps/com.example.foreign/channels",
                gets: .refused(400, "BadMessageId")),
        ])
}
