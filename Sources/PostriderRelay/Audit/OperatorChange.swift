import FoundationEssentials
public import PostriderNotifications
import PostriderProviderAPI

/// A change that somebody asked for on the control socket, and what came of it, for an audit. It never has a secret: of
/// a request's body it has only the members that are listed here, and texts that look like a key are masked.
public struct OperatorChange: Sendable, Equatable {
    /// Who asked: the process at the other end of the control socket, as the kernel reports it, or somebody who has
    /// signed in to the console.
    public struct Caller: Sendable, Equatable {
        /// The user, by number; nil if the kernel did not tell.
        public let user: UInt32?
        /// The process; nil if the kernel did not tell.
        public let process: Int32?
        /// The name of the console's session; nil if it was not the console.
        public let session: String?

        /// Creates a caller on the control socket, or the sender of a signal.
        public init(user: UInt32?, process: Int32?) {
            self.user = user
            self.process = process
            session = nil
        }

        /// Creates a caller at the console.
        public init(session: String) {
            user = nil
            process = nil
            self.session = session
        }
    }

    /// Who asked for it.
    public let caller: Caller
    /// When the request was complete.
    public let askedAt: Moment
    /// What was asked for, in the words of the commands, such as `keys add`.
    public let action: String
    /// The key, topic, device or directory that it is about; nil if it is about none.
    public let object: String?
    /// Further facts about what was asked for, such as the team of a key.
    public let details: [String: String]
    /// The status of the answer: 200 if the change was made.
    public private(set) var status = 0
    /// Why it was not made; nil if it was.
    public private(set) var refusal: String?

    /// The change that a request asks for; nil if the request changes nothing, or nobody knows its path.
    ///
    /// - Parameters:
    ///   - path: the path, with or without a query.
    ///   - body: the body, of which some members are taken.
    init?(_ method: String, _ path: String, body: [UInt8], by caller: Caller, at time: Moment) {
        let parts = path.prefix { $0 != "?" }.split(separator: "/").map(String.init)
        guard parts.count >= 2, parts[0] == "v1", let form = Self.form(method, parts[1]) else { return nil }
        self.caller = caller
        askedAt = time
        action = form.action
        let asked = try? JSONDecoder().decode(Body.self, from: Data(body))
        object = (parts.count > 2 ? parts[2] : asked?.directory).map(Self.masked)
        details = form.hasBody ? asked?.details ?? [:] : [:]
    }

    /// A reload (SIGHUP).
    ///
    /// - Parameters:
    ///   - changes: the settings that have new values, by name; an empty value for one that is not set any more.
    ///   - refusal: why nothing was changed; nil if the settings are applied.
    ///   - caller: the process that has sent the signal.
    public init(reload changes: [String: String], refusal: String?, by caller: Caller, at time: Moment) {
        self.caller = caller
        askedAt = time
        action = "reload"
        object = nil
        details = changes.mapValues(Self.masked)
        status = refusal == nil ? 200 : 400
        self.refusal = refusal.map(Self.masked)
    }

    /// What the body of a refusal says (docs/reference/control.md).
    private struct Refusal: Decodable {
        let sentence: String
    }

    /// Adds the outcome: the status and the body of the answer.
    mutating func end(_ status: Int, _ body: [UInt8]) {
        self.status = status
        guard status != 200 else { return }
        let told = try? JSONDecoder().decode(Refusal.self, from: Data(body))
        refusal = Self.masked(told?.sentence ?? "The relay did not say why.")
    }

    /// The words for a request that changes something. `hasBody` is set if its body says more.
    private static func form(_ method: String, _ kind: String) -> (action: String, hasBody: Bool)? {
        switch (method, kind) {
        case ("PUT", "keys"): ("keys add", true)
        case ("PUT", "revoked-keys"): ("keys revoke", false)
        case ("DELETE", "keys"): ("keys remove", false)
        case ("PUT", "topics"): ("topics add", true)
        case ("DELETE", "topics"): ("topics remove", false)
        case ("PUT", "enrolment-keys"): ("enrolment-keys add", true)
        case ("DELETE", "enrolment-keys"): ("enrolment-keys remove", false)
        case ("PUT", "send-tokens"): ("send-tokens add", true)
        case ("DELETE", "send-tokens"): ("send-tokens remove", false)
        case ("PATCH", "devices"): ("devices change", true)
        case ("DELETE", "devices"): ("devices remove", false)
        case ("PUT", "backup"): ("backup", false)
        case ("PUT", "drained-nodes"): ("nodes drain", false)
        case ("PUT", "rules"): ("rules replace", false)
        case ("DELETE", "captures"): ("captures remove", false)
        case ("PUT", "console-links"): ("console login", true)
        default: nil
        }
    }

    /// The members of bodies that stand in the audit.
    private struct Body: Decodable {
        var team: String?
        var environment: String?
        var topics: [String]?
        var relatedKey: String?
        var replaces: Bool?
        var takesBroadcasts: Bool?
        var tags: [String]?
        var name: String?
        var addTags: [String]?
        var removeTags: [String]?
        var directory: String?
        var uses: Int?
        var endsAt: Int64?
        var namePattern: String?
        var role: String?

        var details: [String: String] {
            let all: [(String, String?)] = [
                ("team", team), ("environment", environment), ("topics", topics.map(list)),
                ("relatedKey", relatedKey), ("replaces", replaces.map { "\($0)" }),
                ("takesBroadcasts", takesBroadcasts.map { "\($0)" }), ("tags", tags.map(list)),
                ("name", name), ("addTags", addTags.map(list)), ("removeTags", removeTags.map(list)),
                ("uses", uses.map { "\($0)" }), ("endsAt", endsAt.map { "\($0)" }),
                ("namePattern", namePattern), ("role", role),
            ]
            return all.reduce(into: [:]) { details, member in
                details[member.0] = member.1.map(OperatorChange.masked)
            }
        }

        private func list(_ words: [String]) -> String { words.joined(separator: " ") }
    }

    /// The most characters of a text in the audit.
    private static let longest = 500

    /// The fewest digits of a part of a secret that is not shown. Fewer give nothing away, and are those of a word.
    private static let leastDigits = 8

    /// The text without the digits of secrets that begin so.
    private static func maskingSecrets(_ text: String, beginning: String) -> String {
        let parts = text.split(separator: beginning, omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: String(parts[0])) { masked, part in
            let digits = part.prefix { $0.isASCII && $0.isHexDigit }
            masked += beginning + (digits.count < leastDigits ? digits : "…") + part.dropFirst(digits.count)
        }
    }

    /// A text without keys and tokens, and not too long. An enrolment key or a send token is in it where a user has
    /// mistaken it for a name.
    static func masked(_ text: String) -> String {
        guard !text.contains("-----BEGIN") else { return "…" }
        let masked = [EnrolmentKey.beginning, SendToken.beginning].reduce(text) {
            maskingSecrets($0, beginning: $1)
        }
        return masked.count > longest ? masked.prefix(longest) + "…" : masked
    }
}
