import PostriderNotifications

extension ContractTable {
    static let channelUse = ContractGroup(
        title: "Channels: reading, listing and deleting",
        introduction: """
            `apns-channel-id` is what the answer to a creation said: 16 bytes in base64. The same is the \
            first thing that a broadcast is asked for.
            """,
        cases: reading + naming + listing + deleting)

    private static let reading = [
        ContractCase(
            "read", "The answer is what the channel was made with.", as: .read,
            gets: .answered(200, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)),
        ContractCase(
            "read-policy-0", "The policy is a number.", as: .read,
            ["apns-channel-id": "{channel that stores nothing}"],
            gets: .answered(200, #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)),
        ContractCase(
            "read-development", "A channel is in one environment.", as: .read,
            ["apns-channel-id": "{development channel}"], in: .development,
            gets: .answered(200, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)),
        ContractCase(
            "read-without-padding", "The padding of base64 may be left out.", as: .read,
            ["apns-channel-id": "{channel without padding}"],
            gets: .answered(200, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)),
    ]

    private static let naming = [
        ContractCase(
            "channel-missing", "A channel is named.", as: .read, ["apns-channel-id": nil],
            gets: .refused(400, "MissingChannelId")),
        ContractCase(
            "channel-empty", "An empty header names none.", as: .delete, ["apns-channel-id": ""],
            gets: .refused(400, "MissingChannelId")),
        ContractCase(
            "channel-not-base64", "A name is base64.", as: .read,
            ["apns-channel-id": "AAAAAAAAAAEAAAAA*AAAAQ=="],
            gets: .refused(400, "BadChannelId")),
        ContractCase(
            "channel-short", "A name is of 16 bytes.", as: .delete, ["apns-channel-id": "AAAA"],
            gets: .refused(400, "BadChannelId")),
        ContractCase(
            "channel-long", "A name is of 16 bytes.", as: .read,
            ["apns-channel-id": "AAAAAAAAAAEAAAAAAAAAAQAA"], gets: .refused(400, "BadChannelId")),
        ContractCase(
            "channel-unknown", "What was never issued is unknown.", as: .read,
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
            "list", "All channels of the app, in the order in which they were made.", as: .list,
            path: "/1/apps/com.example.second/all-channels",
            gets: .answered(
                200,
                #"{"channels":["{older channel of the second app}","{newer channel of the second app}"]}"#)),
        ContractCase(
            "list-empty", "Each environment has channels of its own.", as: .list,
            path: "/1/apps/com.example.second/all-channels", in: .development,
            gets: .answered(200, #"{"channels":[]}"#)),
        ContractCase(
            "list-channel-header", "A list asks for no channel: the header is not looked at.", as: .list,
            ["apns-channel-id": "x"], path: "/1/apps/com.example.second/all-channels", in: .development,
            gets: .answered(200, #"{"channels":[]}"#)),
    ]

    private static let doomed = (name: "apns-channel-id", value: "{second channel to delete}" as String?)

    private static let deleting = [
        ContractCase(
            "delete", "The answer has no body.", as: .delete, ["apns-channel-id": "{channel to delete}"],
            gets: .answered(204)),
        ContractCase(
            "delete-again", "What is deleted is unknown from then on.", as: .delete,
            ["apns-channel-id": "{second channel to delete}"],
            before: [ContractRequest(.delete, changes: [doomed])],
            gets: .refused(400, "ChannelNotRegistered")),
        ContractCase(
            "delete-disk-full", "The end of a channel is made durable, too.", as: .delete,
            ["apns-channel-id": "{channel to delete}"], with: .failingStore(.full),
            gets: .refused(503, "Service Unavailable")),
    ]

    // MARK: The app

    static let channelApps = ContractGroup(
        title: "Channels and broadcasts: the app in the path",
        introduction: """
            The app is looked at after who asks and before everything else that a request is about. It is \
            the bundle identifier, without the suffix of a push type.
            """,
        cases: [
            ContractCase(
                "app-suffix", "An app has no suffix.", as: .create,
                path: "/1/apps/com.example.app.push-type.liveactivity/channels",
                gets: .refused(400, "TopicDisallowed")),
            ContractCase(
                "app-suffix-list", "An app has no suffix.", as: .list,
                path: "/1/apps/com.example.app.voip/all-channels", gets: .refused(400, "TopicDisallowed")),
            ContractCase(
                "app-suffix-broadcast", "An app has no suffix, here neither.", as: .broadcast,
                path: "/4/broadcasts/apps/com.example.app.push-type.liveactivity",
                gets: .refused(400, "TopicDisallowed")),
            ContractCase(
                "app-of-other-team", "Another team's app.", as: .create,
                path: "/1/apps/com.example.foreign/channels", gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-of-other-team-broadcast", "Another team's app.", as: .broadcast,
                path: "/4/broadcasts/apps/com.example.foreign", gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-unknown", "An app that the operator has not added.", as: .list,
                path: "/1/apps/com.example.unknown/all-channels", gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-empty", "An empty name is no app's.", as: .list, path: "/1/apps//all-channels",
                gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-malformed", "Nor is what no app is called.", as: .broadcast,
                path: "/4/broadcasts/apps/com%2Eexample", gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-not-enabled", "The operator lets the app have no channels.", as: .create,
                path: "/1/apps/com.example.quiet/channels", gets: .refused(400, "FeatureNotEnabled")),
            ContractCase(
                "app-not-enabled-list", "Then there is nothing to list.", as: .list,
                path: "/1/apps/com.example.quiet/all-channels", gets: .refused(400, "FeatureNotEnabled")),
            ContractCase(
                "app-not-enabled-broadcast", "And nothing to broadcast to.", as: .broadcast,
                path: "/4/broadcasts/apps/com.example.quiet", gets: .refused(400, "FeatureNotEnabled")),
            ContractCase(
                "app-before-channel", "The app is looked at before the channel.", as: .read,
                ["apns-channel-id": nil], path: "/1/apps/com.example.foreign/channels",
                gets: .refused(403, "TopicMismatch")),
            ContractCase(
                "app-before-body", "The app is looked at before the body.", as: .create,
                path: "/1/apps/com.example.quiet/channels", body: .text(""),
                gets: .refused(400, "FeatureNotEnabled")),
            ContractCase(
                "name-before-app", "The name of the request is looked at before the app.", as: .create,
                ["apns-request-id": "no-uuid"], path: "/1/apps/com.example.foreign/channels",
                gets: .refused(400, "BadMessageId")),
        ])
}
