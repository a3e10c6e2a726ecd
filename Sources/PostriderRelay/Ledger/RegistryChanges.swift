import PostriderNotifications

/// The requests of one shard to the ledger that it awaits: changes of the registry, copies and confirmations.
final class RegistryChanges {
    private let context: ShardContext
    private var waiting: [UInt64: (Result<Void, StoreError>) -> Void] = [:]
    private var readers: [UInt64: (Result<Registry, StoreError>) -> Void] = [:]
    /// Called with the version of what every node of the cluster has, when other nodes have changed it; on shard 0.
    var whenSharedChanged: ((Int64) -> Void)?
    /// Called when the shards have what had this version.
    var whenRead: ((Int64) -> Void)?

    init(_ context: ShardContext) { self.context = context }

    /// Has the ledger change the registry, all or nothing. `then` is called when the change is durable or has failed.
    func apply(_ changes: [RegistryChange], then: @escaping (Result<Void, StoreError>) -> Void) {
        context.outbox.send(.apply(changes, shard: context.index, ticket: ticket(for: then)))
    }

    /// `then` is called when everything that the shard has asked of the ledger so far is durable, or has failed.
    func confirm(then: @escaping (Result<Void, StoreError>) -> Void) {
        context.outbox.send(.confirm(shard: context.index, ticket: ticket(for: then)))
    }

    /// Has the ledger copy the store. `then` is called at the end of the copy.
    func backUp(to directory: String, then: @escaping (Result<Void, StoreError>) -> Void) {
        let order = BackupRequest(directory: directory, shard: context.index, ticket: ticket(for: then))
        context.outbox.send(.backUp(order))
    }

    /// Has the ledger read what every node of the cluster has. `then` gets it as it is after everything that the shard
    /// has asked for so far.
    func readShared(then: @escaping (Result<Registry, StoreError>) -> Void) {
        let ticket = context.drawNumber()
        readers[ticket] = then
        context.outbox.send(.readShared(shard: context.index, ticket: ticket))
    }

    /// The ledger has read.
    func read(_ ticket: UInt64, _ result: Result<Registry, StoreError>) {
        readers.removeValue(forKey: ticket)?(result)
    }

    /// The ledger has answered.
    func applied(_ ticket: UInt64, _ result: Result<Void, StoreError>) {
        waiting.removeValue(forKey: ticket)?(result)
    }

    private func ticket(for then: @escaping (Result<Void, StoreError>) -> Void) -> UInt64 {
        let ticket = context.drawNumber()
        waiting[ticket] = then
        return ticket
    }
}

extension Result where Success == Void {
    var isSuccess: Bool { failure == nil }

    var failure: Failure? {
        switch self {
        case .success: nil
        case .failure(let failure): failure
        }
    }
}
