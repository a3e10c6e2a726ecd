import FoundationEssentials
import PostriderNotifications
import PostriderProviderAPI

/// The operator's requests about tokens of plain sends.
extension AccessRoutes {
    func listSendTokens(_ respond: Respond) {
        let tokens = sendTokens.values.sorted { $0.name < $1.name }
        respond(
            ControlHandler.answer(
                tokens.map {
                    Control.SendToken(
                        name: $0.name, topics: $0.topics.map(\.text), addedAt: $0.addedAt.milliseconds)
                }))
    }

    func putSendToken(_ name: String, _ body: [UInt8], _ respond: @escaping Respond) {
        let addition = try? JSONDecoder().decode(Control.SendTokenAddition.self, from: Data(body))
        let topics = Set((addition?.topics ?? []).compactMap(Topic.init)).sorted { $0.text < $1.text }
        guard Control.isName(name), topics.count == addition?.topics.count,
            1...Limits.topicsOfSendToken ~= topics.count
        else {
            return respond(
                ControlHandler.refusal(
                    400,
                    "A send token's name is \(Control.nameWords), and it has from 1 to "
                        + "\(Limits.topicsOfSendToken) topics, each of them once."))
        }
        guard sendTokens[name] == nil else {
            return respond(
                ControlHandler.refusal(
                    409, "There is a send token \(name) already: remove it, or take another name."))
        }
        guard sendTokens.count < Limits.sendTokens else {
            return respond(
                ControlHandler.refusal(
                    409, "There are \(Limits.sendTokens) send tokens, the most possible: remove one first."))
        }
        let token = SendToken.text(of: context.random.bytes(32))
        let record = SendTokenRecord(
            name: name, digest: SendToken.digest(Array(token.utf8)), topics: topics, addedAt: context.now)
        let answer = ControlHandler.answer(Control.NewSendToken(name: name, token: token))
        change(.putSendToken(record), respond, answer) { $0.sendTokens[name] = record }
    }

    func removeSendToken(_ name: String, _ respond: @escaping Respond) {
        guard sendTokens[name] != nil else {
            return respond(ControlHandler.refusal(404, "There is no send token \(name)."))
        }
        change(.removeSendToken(name: name), respond) { $0.sendTokens[name] = nil }
    }
}

extension Control {
    /// An element of `GET /v1/send-tokens`.
    public struct SendToken: Codable, Sendable {
        /// Its name.
        public var name: String
        /// The topics to which it may send.
        public var topics: [String]
        /// When it was added, in milliseconds since 1970.
        public var addedAt: Int64
    }

    /// `PUT /v1/send-tokens/<name>`.
    public struct SendTokenAddition: Codable, Sendable {
        /// The topics to which the token may send.
        public var topics: [String]

        /// An addition from its parts.
        public init(topics: [String]) { self.topics = topics }
    }

    /// The answer to `PUT /v1/send-tokens/<name>`. The token is never shown again.
    public struct NewSendToken: Codable, Sendable {
        /// Its name.
        public var name: String
        /// The token.
        public var token: String
    }
}
