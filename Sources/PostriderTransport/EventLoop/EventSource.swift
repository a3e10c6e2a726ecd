/// What a loop watches: a connection, a listener, a mailbox, signals.
protocol EventSource: AnyObject {
    /// The descriptor is ready.
    func ready(_ readiness: Readiness)

    /// The loop ends; nothing follows.
    func loopStopped()
}

/// A mailbox on a loop. Its messages wait until the turn's sockets have been read.
protocol MessageSource: AnyObject {
    func deliver()
}

final class MailboxSource<Message: Sendable>: EventSource, MessageSource {
    private let mailbox: Mailbox<Message>
    private let receive: (inout [Message]) -> Void
    private unowned let loop: EventLoop
    private var messages: [Message] = []

    init(_ mailbox: Mailbox<Message>, on loop: EventLoop, _ receive: @escaping (inout [Message]) -> Void) {
        self.mailbox = mailbox
        self.loop = loop
        self.receive = receive
    }

    func ready(_ readiness: Readiness) { loop.heardBell(of: self) }

    func deliver() {
        mailbox.take(into: &messages)
        receive(&messages)
        messages.removeAll(keepingCapacity: true)
    }

    func loopStopped() {}
}
