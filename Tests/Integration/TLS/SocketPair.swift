import Foundation
import PostriderCrypto
import PostriderTLS
import PostriderTransport

/// A server and a client at the two ends of a socket, both in this thread.
final class SocketPair {
    let descriptors: [Int32]
    let server: TLSStream
    let client: TLSStream
    let ciphers = AEADContexts()

    init(_ server: TLSContext, _ client: TLSContext, serverName: String = "localhost") throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        let status = unsafe socketpair(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends)
        precondition(status == 0, "a socket pair can be made")
        descriptors = ends
        self.server = try TLSStream(accepting: ends[0], context: server)
        self.client = try TLSStream(context: client, descriptor: ends[1], serverName: serverName)
    }

    deinit { for descriptor in descriptors { close(descriptor) } }

    /// The errors of a handshake, for each side; nil if it succeeded.
    struct Outcome {
        var server: CryptoError?
        var client: CryptoError?
    }

    /// Runs both sides until each has finished or failed.
    func handshake() -> Outcome {
        var outcome = Outcome()
        var isServerDone = false
        var isClientDone = false
        while !isServerDone || !isClientDone {
            if !isClientDone { isClientDone = turn(client, &outcome.client) }
            if !isServerDone { isServerDone = turn(server, &outcome.server) }
        }
        return outcome
    }

    /// Runs one step of one side. Returns true if it has finished or failed.
    func turn(_ stream: TLSStream, _ failure: inout CryptoError?) -> Bool {
        do {
            return try stream.handshake(using: ciphers) == .complete
        } catch {
            failure = error
            return true
        }
    }
}

extension SocketPair {
    /// Creates a pair after its handshake, whose server has left OpenSSL or not.
    convenience init(_ certificates: TestCertificates, leaving: Bool) throws {
        try self.init(certificates.server(), certificates.client())
        let outcome = handshake()
        precondition(outcome.server == nil && outcome.client == nil, "two of us agree")
        if leaving { server.leaveHandshake(using: ciphers) }
    }

    /// Reads the available bytes, or returns why there are none.
    func read(_ stream: TLSStream) throws(CryptoError) -> (TLSStream.Transfer, [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var span = buffer.mutableSpan
        let transfer = try stream.read(into: &span, using: ciphers)
        guard case .bytes(let count) = transfer else { return (transfer, []) }
        return (transfer, Array(buffer[..<count]))
    }

    /// Writes the bytes that the socket has room for.
    func write(_ bytes: [UInt8], to stream: TLSStream) throws(CryptoError) -> TLSStream.Transfer {
        try stream.write(bytes.span, using: ciphers)
    }
}
