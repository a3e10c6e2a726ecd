import PostriderNotifications
import Testing

@Suite struct RejectionTests {
    /// Apple's table, copied by hand from "Handling notification responses from APNs", not from the code.
    private static let table: [(Int, [String])] = [
        (
            400,
            [
                "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority",
                "BadTopic",
                "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType",
                "MissingDeviceToken",
                "MissingTopic", "PayloadEmpty", "TopicDisallowed",
                // The reasons for channels, from "Handling error responses from Apple Push Notification service".
                "BadChannelId", "BadRequestParams", "BadRequestPayload", "CannotCreateChannelConfig",
                "ChannelNotRegistered", "FeatureNotEnabled", "MissingChannelId", "MissingPushType",
            ]
        ),
        (
            403,
            [
                "BadCertificate", "BadCertificateEnvironment", "ExpiredProviderToken", "Forbidden",
                "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken",
                "BadEnvironmentKeyIdInToken", "TopicMismatch",
            ]
        ),
        (404, ["BadPath"]),
        (405, ["MethodNotAllowed"]),
        (410, ["ExpiredToken", "Unregistered"]),
        (413, ["PayloadTooLarge"]),
        (429, ["TooManyProviderTokenUpdates", "TooManyRequests"]),
        (500, ["InternalServerError"]),
        (503, ["ServiceUnavailable", "Shutdown"]),
    ]

    @Test("every reason of Apple's table is there with its status, and no other")
    func statuses() throws {
        for (status, reasons) in Self.table {
            for reason in reasons {
                #expect(try #require(Rejection(rawValue: reason), "\(reason)").status == status, "\(reason)")
            }
        }
        #expect(Set(Rejection.allCases.map(\.rawValue)) == Set(Self.table.flatMap(\.1)))
    }

    @Test("the body is the reason, and at 410 the moment too")
    func bodies() {
        for rejection in Rejection.allCases {
            let moment = rejection.status == 410 ? Moment(milliseconds: 1_700_000_000_123) : nil
            let body = String(decoding: rejection.body(since: moment), as: UTF8.self)
            let timestamp = moment == nil ? "" : #","timestamp":1700000000123"#
            #expect(body == #"{"reason":"\#(rejection.rawValue)"\#(timestamp)}"#)
        }
    }

    @Test("one reason has another word where the service's own spelling is wanted (10, line 1)")
    func liveSpelling() {
        for rejection in Rejection.allCases where rejection.status != 410 {
            let body = String(decoding: rejection.body(usesLiveSpellings: true), as: UTF8.self)
            let word =
                rejection == .badEnvironmentKeyIdentifierInToken
                ? "BadEnvironmentKeyInToken" : rejection.rawValue
            #expect(body == #"{"reason":"\#(word)"}"#)
        }
    }
}
