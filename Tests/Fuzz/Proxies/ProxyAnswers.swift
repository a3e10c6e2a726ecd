import PostriderProxies

/// What a proxy says before a tunnel stands.
///
/// The first byte says which protocol is spoken (bit 0), whether there are a user and a password (bit 1), and the size
/// of the pieces (the rest); the other bytes are the proxy's.
enum ProxyAnswers {
    private struct Outcome: Equatable {
        var sent: [[UInt8]] = []
        var isEstablished = false
        var failure: String?
    }

    static func run(_ input: [UInt8]) throws(Contradiction) {
        guard let mode = input.first else { return }
        let bytes = Array(input.dropFirst())
        let pieces = outcome(mode, bytes, pieces: Int(mode >> 2) + 1)
        let single = outcome(mode, bytes, pieces: 1)
        // Whoever answers at once what comes in two messages is turned away, so larger pieces may fail where bytes one
        // by one do not; but they never open a tunnel that those do not.
        if pieces.isEstablished {
            try hold(single == pieces, "single bytes have another outcome: \(single), and not \(pieces)")
        }
        if let failure = pieces.failure {
            try hold(failure.utf8.count < 1024, "the sentence has \(failure.utf8.count) bytes")
            let isPrintable = failure.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
            try hold(isPrintable, "the sentence shows what is not printable")
            try hold(!failure.contains("open sesame"), "the sentence shows the password")
        }
        try hold(pieces.sent.reduce(0) { $0 + $1.count } < 2048, "much was sent")
    }

    private static func outcome(_ mode: UInt8, _ bytes: [UInt8], pieces size: Int) -> Outcome {
        var handshake = TunnelHandshake(
            with: mode & 1 == 0 ? .http : .socks5, to: TunnelTarget(name: "relay.example.org", port: 5223),
            as: mode & 2 == 0 ? nil : ProxyCredentials(user: "fleet", password: "open sesame"))
        var outcome = Outcome(sent: [handshake.start()])
        do throws(TunnelFailure) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                let piece = Array(bytes[start..<min(start + size, bytes.count)])
                switch try handshake.receive(piece.span) {
                case .wait: break
                case .send(let message): outcome.sent.append(message)
                case .established:
                    outcome.isEstablished = true
                    return outcome
                }
            }
            throw handshake.failureAtEnd
        } catch {
            outcome.failure = error.description
        }
        return outcome
    }
}
