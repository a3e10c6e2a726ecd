import PostriderProxies

/// What a load balancer sends before its client's bytes.
///
/// The first byte says the size of the pieces; the other bytes are the load balancer's.
enum ProxyHeaders {
    private struct Outcome: Equatable {
        var client: ProxyHeader.Client?
        var taken = 0
        var failure: String?
    }

    static func run(_ input: [UInt8]) throws(Contradiction) {
        guard let mode = input.first else { return }
        let bytes = Array(input.dropFirst())
        let pieces = outcome(bytes, pieces: Int(mode) + 1)
        try hold(pieces == outcome(bytes, pieces: 1), "single bytes have another outcome than \(pieces)")
        try hold(pieces.taken <= ProxyHeader.mostBytes, "\(pieces.taken) bytes were taken")
        if let failure = pieces.failure {
            try hold(failure.utf8.count < 256, "the sentence has \(failure.utf8.count) bytes")
            let isPrintable = failure.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
            try hold(isPrintable, "the sentence shows what is not printable")
        }
        if case .text(let text, _) = pieces.client {
            let isPlain = text.utf8.allSatisfy {
                (0x2E...0x3A).contains($0) || (0x61...0x66).contains($0 | 0x20)
            }
            try hold(isPlain, "the address has other characters")
            try hold(bytes[pieces.taken - 1] == 0x0A, "a line ends elsewhere")
        }
    }

    private static func outcome(_ bytes: [UInt8], pieces size: Int) -> Outcome {
        var header = ProxyHeader()
        var outcome = Outcome()
        do throws(ProxyHeaderFailure) {
            for start in stride(from: 0, to: bytes.count, by: size) where header.client == nil {
                let piece = Array(bytes[start..<min(start + size, bytes.count)])
                outcome.taken += try header.receive(piece.span)
            }
            outcome.client = header.client
        } catch {
            // How much of a failed header was taken depends on the pieces.
            outcome = Outcome(failure: error.description)
        }
        return outcome
    }
}
