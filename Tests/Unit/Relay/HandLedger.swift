import PostriderNotifications

@testable import PostriderRelay

/// A ledger that executes its commands when the test says so.
final class HandLedger {
    private(set) var mail: [LedgerCommand] = []
    private var disk: [QueueRow: Notification] = [:]
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
            case .load(let device, let rows) where failsToRead:
                let failure = StoreError(.inputOutput, "The disk failed.")
                return .push(.loaded(device, asked: rows, .failure(failure)))
            case .load(let device, let rows):
                let found = rows.compactMap { row in
                    disk[row].map { QueuedNotification(row: row, notification: $0) }
                }
                return .push(.loaded(device, asked: rows, .success(found)))
            case .apply(_, _, let ticket), .confirm(_, let ticket):
                return .registry(
                    .applied(
                        ticket: ticket,
                        isDurable ? .success(()) : .failure(StoreError(.full, "The disk is full."))))
            case .backUp, .close: return nil
            }
        }
    }
}
