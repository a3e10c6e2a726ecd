/// A valid request of each kind. Every other request is described by its differences from one of these.
enum ContractModel: Sendable {
    case push
    case create
    case read
    case delete
    case list
    case broadcast

    /// The name in the document.
    var name: String {
        switch self {
        case .push: "push"
        case .create: "create"
        case .read: "read"
        case .delete: "delete"
        case .list: "list"
        case .broadcast: "broadcast"
        }
    }

    var method: String {
        switch self {
        case .push, .create, .broadcast: "POST"
        case .read, .list: "GET"
        case .delete: "DELETE"
        }
    }

    var path: String {
        switch self {
        case .push: "/3/device/{token}"
        case .create, .read, .delete: "/1/apps/com.example.app/channels"
        case .list: "/1/apps/com.example.app/all-channels"
        case .broadcast: "/4/broadcasts/apps/com.example.app"
        }
    }

    /// The headers after the pseudo-headers.
    var headers: [(name: String, value: String)] {
        let authorization = (name: "authorization", value: "bearer {jwt}")
        let channel = (name: "apns-channel-id", value: "{channel}")
        return switch self {
        case .push: [authorization, ("apns-topic", ContractFixture.topic)]
        case .create, .list: [authorization]
        case .read, .delete: [authorization, channel]
        case .broadcast:
            [
                authorization, channel, ("apns-push-type", "liveactivity"), ("apns-priority", "10"),
                ("apns-expiration", "0"),
            ]
        }
    }

    var body: ContractBody {
        switch self {
        case .push, .broadcast: .text("{}")
        case .create: .text(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
        case .read, .delete, .list: .text("")
        }
    }

    /// The headers with the identity in the answer. If the request has one of them, the answer repeats its value.
    var identityHeaders: [String] {
        switch self {
        case .push: ["apns-id"]
        case .create, .read, .delete, .list: ["apns-request-id"]
        case .broadcast: ["apns-request-id", "apns-id"]
        }
    }
}
