import PostriderNotifications
import PostriderRelay
import Testing

/// One rule of the provider contract: a request and the relay's answer. The values are copied by hand from the
/// contract and from Apple's documentation, not from the code.
struct ContractCase: Sendable, CustomTestStringConvertible {
    /// The name of the case in the document and in a failure of the test.
    let name: String
    /// The rule, as a sentence.
    let rule: String
    let request: ContractRequest
    /// The requests before it on the same connection; each must be accepted.
    let before: [ContractRequest]
    /// Whether the request is repeated until it is not accepted any more.
    let isRepeated: Bool
    let setting: ContractSetting
    let environment: PostriderNotifications.Environment
    let answer: ContractAnswer

    var testDescription: String { name }

    /// Creates a case from the headers in which its request differs from a valid one of its kind; nil removes a
    /// header. `twice` names a header that is sent two times.
    init(
        _ name: String,
        _ rule: String,
        as model: ContractModel = .push,
        _ headers: KeyValuePairs<String, String?> = [:],
        path: String? = nil,
        method: String? = nil,
        twice: String? = nil,
        body: ContractBody? = nil,
        before: [ContractRequest] = [],
        repeated isRepeated: Bool = false,
        with setting: ContractSetting = ContractSetting(),
        in environment: PostriderNotifications.Environment = .production,
        gets answer: ContractAnswer
    ) {
        self.name = name
        self.rule = rule
        request = ContractRequest(
            model, method: method, path: path, changes: headers.map { ($0.key, $0.value) }, twice: twice,
            body: body)
        self.before = before
        self.isRepeated = isRepeated
        self.setting = setting
        self.environment = environment
        self.answer = answer
    }
}

/// A request, described by its differences from a valid one of its kind. A word in braces stands for a value of the
/// relay under test.
struct ContractRequest: Sendable {
    let model: ContractModel
    let method: String
    let path: String
    let changes: [(name: String, value: String?)]
    let twice: String?
    let body: ContractBody

    init(
        _ model: ContractModel, method: String? = nil, path: String? = nil,
        changes: [(name: String, value: String?)] = [], twice: String? = nil, body: ContractBody? = nil
    ) {
        self.model = model
        self.method = method ?? model.method
        self.path = path ?? model.path
        self.changes = changes
        self.twice = twice
        self.body = body ?? model.body
    }

    /// Makes a valid push with these changes.
    static func push(_ changes: KeyValuePairs<String, String?> = [:]) -> ContractRequest {
        ContractRequest(.push, changes: changes.map { ($0.key, $0.value) })
    }

    /// All headers after the pseudo-headers, in the order in which they are sent.
    var headers: [(name: String, value: String)] {
        var headers: [(name: String, value: String?)] = model.headers.map { ($0.name, $0.value) }
        for change in changes {
            if let place = headers.firstIndex(where: { $0.name == change.name }) {
                headers[place].value = change.value
            } else {
                headers.append(change)
            }
        }
        let present = headers.compactMap { name, value in value.map { (name: name, value: $0) } }
        return present + present.filter { $0.name == twice }
    }
}

/// The body of a request.
enum ContractBody: Equatable, Sendable {
    /// This text.
    case text(String)
    /// A JSON object of this size.
    case object(bytes: Int)
    /// This text, followed by white space up to this size.
    case padded(String, bytes: Int)
    /// Bytes that are not UTF-8, inside a JSON string.
    case invalidText

    var bytes: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .object(let count):
            Array(#"{"a":""#.utf8) + [UInt8](repeating: 0x61, count: count - 8) + Array(#""}"#.utf8)
        case .padded(let text, let count):
            Array(text.utf8) + [UInt8](repeating: 0x20, count: count - text.utf8.count)
        case .invalidText: Array(#"{"a":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
        }
    }
}

/// The relay's configuration, where it is not the default.
struct ContractSetting: Hashable, Sendable {
    var fidelity = APNsCompatibility()
    var pushesPerSecond: Int?
    var deviceExpiryDays: Int?
    /// The error of the store; nil if it works.
    var storeFailure: StoreError.Kind?
    /// Whether the app has as many channels as the limit allows.
    var isFullOfChannels = false

    static let strict: ContractSetting = {
        var setting = ContractSetting()
        setting.fidelity.isStrict = true
        return setting
    }()

    static let liveSpellings: ContractSetting = {
        var setting = ContractSetting()
        setting.fidelity.usesLiveSpellings = true
        return setting
    }()

    static let fullOfChannels: ContractSetting = {
        var setting = ContractSetting()
        setting.isFullOfChannels = true
        return setting
    }()

    static func rate(_ pushesPerSecond: Int) -> ContractSetting {
        var setting = ContractSetting()
        setting.pushesPerSecond = pushesPerSecond
        return setting
    }

    static func failingStore(_ kind: StoreError.Kind) -> ContractSetting {
        var setting = ContractSetting()
        setting.storeFailure = kind
        return setting
    }

    static func expiry(days: Int) -> ContractSetting {
        var setting = ContractSetting()
        setting.deviceExpiryDays = days
        return setting
    }
}

/// The answer to a request.
struct ContractAnswer: Sendable {
    let status: Int
    /// The reason in the body; nil if there is no body.
    let reason: String?
    /// The timestamp of a 410.
    let timestamp: Int64?
    /// The headers with these values, in addition to those of every answer; `*` stands for any value.
    let headers: [String: String]
    /// The body of an answer without a reason. Words in braces stand for values of the relay under test.
    var text = ""

    /// The answer 200 without a body.
    static let accepted = ContractAnswer(status: 200, reason: nil, timestamp: nil, headers: [:])

    /// Returns 200 without a body, with these headers.
    static func accepted(_ headers: [String: String]) -> ContractAnswer {
        ContractAnswer(status: 200, reason: nil, timestamp: nil, headers: headers)
    }

    /// Returns another successful status, with this body.
    static func answered(_ status: Int, _ text: String = "", _ headers: [String: String] = [:])
        -> ContractAnswer
    {
        ContractAnswer(status: status, reason: nil, timestamp: nil, headers: headers, text: text)
    }

    /// Returns a status and a reason.
    static func refused(
        _ status: Int, _ reason: String, since timestamp: Int64? = nil, _ headers: [String: String] = [:]
    ) -> ContractAnswer {
        ContractAnswer(status: status, reason: reason, timestamp: timestamp, headers: headers)
    }
}

/// A rule about more than one request and its answer. A separate test checks it.
struct ContractEvent: Sendable {
    let name: String
    let rule: String
    /// The event, in words.
    let event: String
    /// What the provider observes, in words.
    let answer: String
    /// The reason that the provider gets; nil if there is none.
    let reason: String?
    /// The file below Tests with that test, and the words in the file that name it.
    let shownBy: (file: String, test: String)

    init(
        _ name: String, _ rule: String, _ event: String, _ answer: String, reason: String? = nil,
        shownBy file: String, _ test: String
    ) {
        self.name = name
        self.rule = rule
        self.event = event
        self.answer = answer
        self.reason = reason
        shownBy = (file, test)
    }
}

/// Related cases: a table of the document. A new group must be added to ``ContractTable/groups``.
struct ContractGroup: Sendable, CustomTestStringConvertible {
    let title: String
    /// The text above the table.
    let introduction: String
    var cases: [ContractCase] = []
    var events: [ContractEvent] = []
    /// Whether each case needs its own connection, because a connection keeps the identity of its first request's
    /// provider.
    var isBinding = false

    var testDescription: String { title }
}
