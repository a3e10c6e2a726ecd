import PostriderCourier
import PostriderNotifications

/// One stream of a connection to the app socket: who calls there, and what was received and is not worked off yet.
///
/// What it holds is bounded by the connection's window, which opens only when all that has come on the stream is worked
/// off but the beginning of one message.
final class AppCall {
    /// Who calls.
    enum Party {
        /// An app.
        case app(AppStream)
        /// The input method.
        case inputMethod(InputMethod)
    }

    /// How a stream goes, once its calls are worked off.
    enum Departure {
        /// The caller has said everything, and is answered with trailers.
        case ended
        /// The caller has cancelled, or the agent has closed the connection.
        case cancelled
        /// The connection broke.
        case broken
    }

    /// Its number.
    let stream: Int32
    /// Who calls.
    let party: Party
    /// How it goes; nil: not yet.
    private(set) var departure: Departure?
    private var framing: MessageFraming
    private var heldBytes = 0

    init(_ stream: Int32, _ party: Party) {
        self.stream = stream
        self.party = party
        switch party {
        case .app: framing = MessageFraming(maxMessageBytes: Limits.appMessageBytes)
        case .inputMethod: framing = MessageFraming(maxMessageBytes: Limits.orderBytes)
        }
    }

    /// Takes on what has come.
    func feed(_ bytes: Span<UInt8>) {
        heldBytes += bytes.count
        framing.feed(bytes)
    }

    /// The next call; nil: no other has come as a whole.
    func next<Message: CourierMessage>(_: Message.Type) throws(CourierError) -> Message? {
        try framing.next(Message.self)
    }

    /// How many bytes more the peer may send now.
    func release() -> Int {
        defer { heldBytes = 0 }
        return heldBytes
    }

    /// The stream goes: the first reason counts. Nothing more is handed over on it.
    func depart(_ departure: Departure) {
        self.departure = self.departure ?? departure
        if case .app(let app) = party { app.isLeaving = true }
    }
}
