/// An object that handles the events of a descriptor: a listener, a mailbox, and those of `PostriderSystem`, such as
/// signals.
package protocol EventSource: AnyObject {
    /// Handles the readiness of the descriptor.
    func ready(_ readiness: Readiness)

    /// Called when the loop ends; no other call follows.
    func loopStopped()
}

/// A mailbox on a loop. Its messages are delivered after the sockets of the turn have been read.
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

    func ready(_ readiness: Readiness) { loop.work.add(rung: self) }

    func deliver() {
        mailbox.take(into: &messages)
        receive(&messages)
        messages.removeAll(keepingCapacity: true)
    }

    func loopStopped() {}
}
