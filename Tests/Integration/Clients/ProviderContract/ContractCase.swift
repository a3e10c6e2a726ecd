import PostriderNotifications
import PostriderRelay
import Testing

/// One rule of the provider contract, as a request and what the relay answers to it. Values are typed from the contract
/// and from Apple's documentation, not from the code.
struct ContractCase: Sendable, CustomTestStringConvertible {
    /// How the case is called, in the document and where a test fails.
    let name: String
    /// What holds, as a sentence.
    let rule: String
    let request: ContractRequest
    /// Requests that go before it on the same connection; each is accepted.
    let before: [ContractRequest]
    /// Whether it is sent again and again, until it is not accepted any more.
    let isRepeated: Bool
    let setting: ContractSetting
    let environment: PostriderNotifications.Environment
    let answer: ContractAnswer

    var testDescription: String { name }

    /// A request that differs from a good one of its kind in these headers; nil takes one away. `twice` names one that
    /// comes again.
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

/// A request, as it differs from the good one of its kind. Words in braces stand for a value that a house knows.
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

    /// A good push with these changes.
    static func push(_ changes: KeyValuePairs<String, String?> = [:]) -> ContractRequest {
        ContractRequest(.push, changes: changes.map { ($0.key, $0.value) })
    }

    /// All headers behind the pseudo-headers, in the order in which they are sent.
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
    /// A JSON object of so many bytes.
    case object(bytes: Int)
    /// This text and white space, so many bytes together.
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

/// How the relay is set up, where that is not what it does by itself.
struct ContractSetting: Hashable, Sendable {
    var fidelity = APNsCompatibility()
    var pushesPerSecond: Int?
    var deviceExpiryDays: Int?
    /// How the store fails; nil: it does not.
    var storeFailure: StoreError.Kind?
    /// Whether the app has as many channels as it may.
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

/// What a request is answered with.
struct ContractAnswer: Sendable {
    let status: Int
    /// Nil: no body.
    let reason: String?
    /// With a 410.
    let timestamp: Int64?
    /// Headers that must have these values, besides what every answer has; `*` is any value.
    let headers: [String: String]
    /// The body of an answer without reason. Words in braces stand for a value that a house knows.
    var text = ""

    /// 200 without a body.
    static let accepted = ContractAnswer(status: 200, reason: nil, timestamp: nil, headers: [:])

    /// 200 without a body, with these headers.
    static func accepted(_ headers: [String: String]) -> ContractAnswer {
        ContractAnswer(status: 200, reason: nil, timestamp: nil, headers: headers)
    }

    /// Another good status, with this body.
    static func answered(_ status: Int, _ text: String = "", _ headers: [String: String] = [:])
        -> ContractAnswer
    {
        ContractAnswer(status: status, reason: nil, timestamp: nil, headers: headers, text: text)
    }

    /// A status and a reason.
    static func refused(
        _ status: Int, _ reason: String, since timestamp: Int64? = nil, _ headers: [String: String] = [:]
    ) -> ContractAnswer {
        ContractAnswer(status: status, reason: reason, timestamp: timestamp, headers: headers)
    }
}

/// A rule that is not about one request and its answer; a test of its own shows it.
struct ContractEvent: Sendable {
    let name: String
    let rule: String
    /// What happens, in words.
    let event: String
    /// What the provider sees, in words.
    let answer: String
    /// The reason that it sees, if it sees one.
    let reason: String?
    /// The file under Tests and the words in it by which the test is found.
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

/// Cases that belong together: a table of the document. A new one is added to ``ContractTable/groups``.
struct ContractGroup: Sendable, CustomTestStringConvertible {
    let title: String
    /// What is to be known before reading the table.
    let introduction: String
    var cases: [ContractCase] = []
    var events: [ContractEvent] = []
    /// Whether each case has a connection of its own: what a provider says of itself binds a connection.
    var isBinding = false

    var testDescription: String { title }
}
