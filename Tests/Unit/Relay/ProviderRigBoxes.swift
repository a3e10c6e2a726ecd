import PostriderNotifications

@testable import PostriderRelay

/// The messages that other nodes are to get from the shard of a fixture.
final class NodeBox {
    private var messages: [NodeMessage] = []

    func take(_ some: inout [NodeMessage]) -> Bool {
        messages += some
        some = []
        return true
    }

    func takeAll() -> [NodeMessage] {
        defer { messages = [] }
        return messages
    }
}

/// The commands that the ledger has got from the shard of a ``ProviderFixture``.
final class LedgerBox {
    var isStopped = false
    private var stored: [StoredRow] = []

    func take(_ messages: inout [LedgerCommand]) -> Bool {
        guard !isStopped else { return false }
        for case .store(let queued, _) in messages {
            stored.append(StoredRow(device: queued.notification.device, row: queued.row))
        }
        messages.removeAll()
        return true
    }

    func takeStored() -> [StoredRow] {
        defer { stored = [] }
        return stored
    }
}
