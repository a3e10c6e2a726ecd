import PostriderNotifications

/// The messages of Web Push that have come to their home, and whose senders have no answer yet.
///
/// A sender gets one answer: a refusal, or the row of its message. One that wants a receipt gets it when the receipt
/// cannot be lost any more, or cannot be had.
final class WebAnswers {
    private struct Message {
        let row: QueueRow
        var receipt: PromisedReceipt
        var isAccepted = false
    }

    private enum PromisedReceipt {
        /// The sender wants none, or cannot have one.
        case none
        /// It is not known yet whether the receipt is durable.
        case awaited
        /// The receipt is durable.
        case durable
    }

    private let context: ShardContext
    private let promises: ReceiptPromises
    private var messages: [ReplyAddress: Message] = [:]

    init(_ context: ShardContext, _ promises: ReceiptPromises) {
        self.context = context
        self.promises = promises
    }

    /// A message is about to be offered to its device. If it has a receipt, that is promised from now on.
    func expect(_ row: QueueRow, _ receipt: Receipt?, for address: ReplyAddress) {
        messages[address] = Message(row: row, receipt: receipt == nil ? .none : .awaited)
        if let receipt { promises.add(receipt) }
    }

    /// The message for this address was offered to its device. Asks whether its receipt is durable.
    func offered(for address: ReplyAddress) {
        guard let message = messages[address], message.receipt == .awaited else { return }
        promises.confirm(message.row) { [unowned self] isDurable in
            messages[address]?.receipt = isDurable ? .durable : .none
            answerIfKnown(address)
        }
    }

    /// The device's queue has answered a push. Returns whether the answer is given here: a message of Web Push is
    /// accepted. A message that is refused, also after some time, is promised nothing.
    func take(_ result: PushResult, for address: ReplyAddress) -> Bool {
        guard !messages.isEmpty, let message = messages[address] else { return false }
        guard case .accepted = result else {
            messages[address] = nil
            promises.refused(message.row)
            return false
        }
        promises.accepted(message.row)
        messages[address]?.isAccepted = true
        answerIfKnown(address)
        return true
    }

    private func answerIfKnown(_ address: ReplyAddress) {
        guard let message = messages[address], message.isAccepted, message.receipt != .awaited else { return }
        messages[address] = nil
        context.outbox.send(
            .web(.accepted(address, message.row, hasReceipt: message.receipt == .durable)),
            to: Int(address.shard))
    }
}
