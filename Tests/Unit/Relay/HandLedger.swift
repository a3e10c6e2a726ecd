import PostriderNotifications

@testable import PostriderRelay

/// A ledger that executes its commands when the test says so.
final class HandLedger {
    private(set) var mail: [LedgerCommand] = []
    private var disk: [QueueRow: Notification] = [:]
    /// The changes of receipts that are durable, in order.
    private(set) var receipts: [ReceiptChange] = []
    /// The changes of the registry that are durable, in order.
    private(set) var made: [RegistryChange] = []
    /// Whether reads from the disk fail.
    var failsToRead = false

    /// The number of requested loads without an answer.
    var loads: Int { mail.count { if case .load = $0 { true } else { false } } }

    /// The channels whose removal was requested.
    var removedChannels: [ChannelIdentity] {
        changes.compactMap { if case .removeChannel(let channel) = $0 { channel } else { nil } }
    }

    /// The channels whose stored broadcast's removal was requested.
    var removedBroadcasts: [ChannelIdentity] {
        changes.compactMap { if case .removeBroadcast(let channel) = $0 { channel } else { nil } }
    }

    /// The requested changes of the registry that are not made yet.
    var changes: [RegistryChange] {
        mail.flatMap { message -> [RegistryChange] in
            if case .apply(let changes, _, _) = message { changes } else { [] }
        }
    }

    /// The notifications on the disk, in the order of rows.
    var queued: [QueuedNotification] {
        disk.map { QueuedNotification(row: $0.key, notification: $0.value) }.sorted { $0.row < $1.row }
    }

    /// Why changes of the registry fail that are not durable; nil for a full disk.
    var refusal: StoreError?

    /// Puts on the disk what an earlier relay has left.
    func restore(_ queued: [QueuedNotification]) {
        for one in queued { disk[one.row] = one.notification }
    }

    func take(_ messages: inout [LedgerCommand]) -> Bool {
        mail += messages
        messages = []
        return true
    }

    func work(isDurable: Bool) -> [ShardMessage] {
        defer { mail = [] }
        return mail.compactMap { message in
            switch message {
            case .store(let queued, _):
                if isDurable { disk[queued.row] = queued.notification }
                return .push(
                    .stored(
                        [StoredRow(device: queued.notification.device, row: queued.row)],
                        failure: isDurable ? nil : .serviceUnavailable))
            case .settle(let row):
                disk[row] = nil
                return nil
            case .receipt(let change):
                if isDurable { receipts.append(change) }
                return nil
            case .load(let device, let rows) where failsToRead:
                let failure = StoreError(.inputOutput, "The disk failed.")
                return .push(.loaded(device, asked: rows, .failure(failure)))
            case .load(let device, let rows):
                let found = rows.compactMap { row in
                    disk[row].map { QueuedNotification(row: row, notification: $0) }
                }
                return .push(.loaded(device, asked: rows, .success(found)))
            case .apply(let changes, _, let ticket):
                if isDurable { made += changes }
                return answer(ticket, isDurable)
            case .confirm(_, let ticket): return answer(ticket, isDurable)
            case .readShared, .backUp, .take, .close: return nil
            }
        }
    }

    private func answer(_ ticket: UInt64, _ isDurable: Bool) -> ShardMessage {
        let failure = refusal ?? StoreError(.full, "The disk is full.")
        return .registry(.applied(ticket: ticket, isDurable ? .success(()) : .failure(failure)))
    }
}
