import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// Decides who may do what with the operator's interface: on the control socket (``SocketAccess``), or by the console.
protocol ControlAccess: AnyObject {
    /// Fields of every answer.
    var fields: [(name: String, value: String)] { get }
    /// How long a connection may stay without a request; nil for ever.
    var idleMilliseconds: Int? { get }

    /// Returns whether this peer may connect.
    func admits(_ peer: Peer?) -> Bool

    /// A connection has ended.
    func ended(_ reason: CloseReason, _ peer: Peer?)

    /// Decides on a request by its head.
    func decide(_ method: String, _ path: String, _ head: HeaderBlock, from peer: Peer?) -> ControlDecision
}

/// What is done with a request.
enum ControlDecision {
    /// It is served for this caller.
    case serve(OperatorChange.Caller)
    /// It is answered with this.
    case answer(ControlResponse)
    /// It is answered with what the closure makes of its body.
    case read(([UInt8]) -> ControlResponse)
}

/// An answer with its media type and fields.
struct ControlResponse {
    var status: Int
    var type = "application/json"
    var fields: [(name: String, value: String)] = []
    var body: [UInt8]

    /// An answer in JSON.
    init(_ answer: ControlHandler.Answer, fields: [(name: String, value: String)] = []) {
        (status, body) = (answer.status, answer.body)
        self.fields = fields + (answer.gap.map { [(ControlAnswer.gapField, $0)] } ?? [])
    }

    /// The contents of a file.
    init(type: String, body: [UInt8]) {
        status = 200
        self.type = type
        self.body = body
    }

    /// A refusal with a sentence.
    static func refusal(_ status: Int, _ sentence: String) -> ControlResponse {
        ControlResponse(ControlHandler.refusal(status, sentence))
    }
}

/// The access to the control socket: only root and the user who runs the relay may use it; the kernel says who is
/// connected (SO_PEERCRED).
final class SocketAccess: ControlAccess {
    private let user: UInt32
    private let log: Log

    init(user: UInt32, log: Log) {
        self.user = user
        self.log = log
    }

    var fields: [(name: String, value: String)] { [] }
    var idleMilliseconds: Int? { nil }

    func admits(_ peer: Peer?) -> Bool {
        let caller = peer?.credentials?.user
        guard caller != user, caller != 0 else { return true }
        let name = caller.map(String.init) ?? "unknown"
        log.warning("the control socket refused user \(name)", kind: "control socket", from: name)
        return false
    }

    func ended(_ reason: CloseReason, _ peer: Peer?) {}

    func decide(_ method: String, _ path: String, _ head: HeaderBlock, from peer: Peer?) -> ControlDecision {
        .serve(OperatorChange.Caller(user: peer?.credentials?.user, process: peer?.credentials?.process))
    }
}
