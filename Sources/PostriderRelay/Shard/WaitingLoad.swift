import PostriderNotifications

/// How much waits in the ``WaitingRequests`` of one shard, and the bounds of that.
struct WaitingLoad {
    private let shard: Int
    private var count = 0
    private var bytes = 0
    /// How many requests of each connection of this shard wait.
    private var connections: [UInt64: Int] = [:]

    init(ofShard shard: Int) { self.shard = shard }

    /// Whether another request may wait. Those of one connection leave room on it for other requests.
    func hasRoom(for request: WaitingRequest) -> Bool {
        count < Limits.movingRequests && bytes + request.byteCount <= Limits.movingBytes
            && (!isOwn(request)
                || connections[request.address.connection] ?? 0 < Limits.movingRequestsOfConnection)
    }

    /// A request waits from now on.
    mutating func add(_ request: WaitingRequest) {
        count += 1
        bytes += request.byteCount
        if isOwn(request) { connections[request.address.connection, default: 0] += 1 }
    }

    /// A request does not wait any more.
    mutating func remove(_ request: WaitingRequest) {
        count -= 1
        bytes -= request.byteCount
        guard isOwn(request), let others = connections[request.address.connection] else { return }
        connections[request.address.connection] = others > 1 ? others - 1 : nil
    }

    private func isOwn(_ request: WaitingRequest) -> Bool { Int(request.address.shard) == shard }
}
