import PostriderProxies

/// What came of feeding a handshake with the bytes of a proxy.
struct Talk: Equatable {
    /// Every message that the client has sent, the first one included.
    var sent: [[UInt8]] = []
    var isEstablished = false
    var failure: String?

    /// Feeds a handshake with pieces, and the end of the connection behind them if the tunnel does not stand by then.
    init(_ handshake: TunnelHandshake, _ pieces: [[UInt8]], ends: Bool = true) {
        var handshake = handshake
        sent.append(handshake.start())
        do throws(TunnelFailure) {
            for piece in pieces {
                switch try handshake.receive(piece.span) {
                case .wait: break
                case .send(let message): sent.append(message)
                case .established: isEstablished = true
                }
            }
            if ends, !isEstablished { throw handshake.failureAtEnd }
        } catch {
            failure = error.description
        }
    }
}

let relay = TunnelTarget(name: "relay.example.org", port: 5223)
let credentials: ProxyCredentials = {
    guard let credentials = ProxyCredentials(user: "fleet", password: "open sesame") else {
        preconditionFailure("a user and a password")
    }
    return credentials
}()

/// The bytes in two pieces, cut at each place, and one by one.
func cuts(of bytes: [UInt8]) -> [[[UInt8]]] {
    bytes.indices.map { [Array(bytes[..<$0]), Array(bytes[$0...])] } + [bytes.map { [$0] }]
}
