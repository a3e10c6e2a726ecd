import PostriderTransport

/// What a listener has told about its connections.
final class ListenerReports: ListenerObserver {
    private(set) var refusals: [(refusal: Refusal, peer: Peer)] = []
    private(set) var failures: [(reason: CloseReason, peer: Peer)] = []
    private(set) var handshakes = 0

    func refused(_ refusal: Refusal, _ peer: Peer) { refusals.append((refusal, peer)) }
    func failed(_ reason: CloseReason, _ peer: Peer) { failures.append((reason, peer)) }
    func handshakeEnded(nanoseconds: UInt64) { handshakes += 1 }
}
