public import PostriderNotifications

extension Store {
    /// Copies everything into another store, in which no relay has run. The token secrets come last, so a copying that
    /// was interrupted can be repeated: until then the other store counts as empty, and what is left in its queue is
    /// removed first.
    ///
    /// - Parameter name: the name of the other store, for errors.
    /// - Returns: what was copied of the registry, and the number of notifications.
    /// - Throws: ``StoreError`` of kind ``StoreError/Kind/conflict`` if a relay has run in the other store, and
    ///   those of both stores.
    public func copy(
        to other: any Store, named name: String
    ) throws(StoreError) -> (registry: Registry, notifications: Int) {
        let registry = try loadRegistry()
        guard try other.loadRegistry().tokenSecrets.isEmpty else {
            throw StoreError(
                .conflict, "A relay has run in \(name) already: name an empty database or a new directory.")
        }
        var leftovers: [QueueRow] = []
        _ = try other.scanQueue { leftovers.append($0.row) }
        try inPieces(leftovers) { rows throws(StoreError) in
            var batch = QueueBatch()
            batch.settled = rows
            try result { other.commit(batch, completion: $0) }
        }
        let changes =
            try other.loadReceipts().map { ReceiptChange.remove($0.row) }
            + loadReceipts().map(ReceiptChange.put)
        try inPieces(changes) { changes throws(StoreError) in
            var batch = QueueBatch()
            batch.receipts = changes
            try result { other.commit(batch, completion: $0) }
        }
        var rows: [QueueRow] = []
        _ = try scanQueue { rows.append($0.row) }
        try inPieces(rows) { rows throws(StoreError) in
            var batch = QueueBatch()
            batch.enqueued = try result { read(rows, completion: $0) }
            try result { other.commit(batch, completion: $0) }
        }
        try inPieces(registry.changes) { changes throws(StoreError) in
            try result { other.apply(changes, completion: $0) }
        }
        let secrets = registry.tokenSecrets.map(RegistryChange.addTokenSecret)
        try result { other.apply(secrets, completion: $0) }
        return (registry, rows.count)
    }

    /// Calls `body` with a thousand elements at a time.
    private func inPieces<Element>(
        _ elements: [Element], _ body: ([Element]) throws(StoreError) -> Void
    ) throws(StoreError) {
        var rest = elements[...]
        while !rest.isEmpty {
            try body(Array(rest.prefix(1000)))
            rest = rest.dropFirst(1000)
        }
    }

    /// The result of a call that completes before it returns.
    private func result<Value>(
        _ call: (@escaping (Result<Value, StoreError>) -> Void) -> Void
    ) throws(StoreError) -> Value {
        var result: Result<Value, StoreError>?
        call { result = $0 }
        guard let result else {
            preconditionFailure("the engines that are copied complete each call at once")
        }
        return try result.get()
    }
}

extension Registry {
    /// The changes that make this registry from an empty one, besides those of its token secrets.
    fileprivate var changes: [RegistryChange] {
        var changes = lastRun.map { [RegistryChange.noteRun($0)] } ?? []
        changes += devices.map(RegistryChange.putDevice)
        changes += registrations.map(RegistryChange.putRegistration)
        changes += webSubscriptions.map(RegistryChange.putWebSubscription)
        changes += presences.map(RegistryChange.putPresence)
        changes += labels.map(RegistryChange.putLabel)
        changes += providerKeys.map(RegistryChange.putProviderKey)
        changes += topics.map(RegistryChange.putTopic)
        changes += enrolmentKeys.map(RegistryChange.putEnrolmentKey)
        changes += sendTokens.map(RegistryChange.putSendToken)
        changes += channels.map(RegistryChange.putChannel)
        changes += broadcasts.map(RegistryChange.putBroadcast)
        return changes
    }
}
