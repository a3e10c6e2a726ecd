import PostriderCourier
import PostriderNotifications

/// One call of gRPC over a connection to the app socket, which is one stream: its caller, and the received bytes that
/// have not been processed yet.
///
/// The connection's window bounds what it holds: the window opens only when all complete messages of the stream are
/// processed.
final class AppCall {
    /// The caller of a stream.
    enum Party {
        /// An app.
        case app(AppStream)
        /// The input method.
        case inputMethod(InputMethod)
    }

    /// How a stream ends, once its messages are processed.
    enum Ending {
        /// The caller has ended the stream, and is answered with trailers.
        case ended
        /// The caller has cancelled the stream, or the agent has closed the connection.
        case cancelled
        /// The connection broke.
        case broken
    }

    /// The number of the stream.
    let stream: Int32
    /// The caller.
    let party: Party
    /// How the stream ends; nil while it goes on.
    private(set) var ending: Ending?
    private var framing: MessageFraming
    private var unprocessedBytes = 0

    init(_ stream: Int32, _ party: Party) {
        self.stream = stream
        self.party = party
        switch party {
        case .app: framing = MessageFraming(maxMessageBytes: Limits.appMessageBytes)
        case .inputMethod: framing = MessageFraming(maxMessageBytes: Limits.orderBytes)
        }
    }

    /// Adds received bytes.
    func feed(_ bytes: Span<UInt8>) {
        unprocessedBytes += bytes.count
        framing.feed(bytes)
    }

    /// The next complete message; nil if there is none.
    func next<Message: CourierMessage>(_: Message.Type) throws(CourierError) -> Message? {
        try framing.next(Message.self)
    }

    /// How many bytes more the peer may send, now that its complete messages are processed.
    func takeProcessedBytes() -> Int {
        defer { unprocessedBytes = 0 }
        return unprocessedBytes
    }

    /// Ends the stream; the first call counts. No message is delivered on it any more.
    func finish(_ ending: Ending) {
        self.ending = self.ending ?? ending
        if case .app(let app) = party { app.isLeaving = true }
    }
}
