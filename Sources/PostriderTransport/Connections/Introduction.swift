internal import PostriderProxies

/// Reads from a socket the header with which a load balancer says whose connection it forwards, and no byte beyond it:
/// TLS reads the socket from there on.
final class Introduction {
    /// The result of reading what has arrived.
    enum Outcome {
        case wantsRead
        /// The header has arrived. The client's address; nil if the header names no client.
        case complete(SocketAddress?)
        /// The load balancer has gone before its header was complete; most do so to check the port.
        case ended(CloseReason)
        case failed(ProxyHeaderFailure)
    }

    private var header = ProxyHeader()

    /// Reads until the header is complete or the socket is empty. `buffer` is overwritten.
    func read(_ number: Int32, using buffer: UnsafeMutableBufferPointer<UInt8>) -> Outcome {
        let room = unsafe UnsafeMutableBufferPointer(rebasing: buffer.prefix(ProxyHeader.mostBytes))
        while true {
            switch unsafe Socket.peek(number, into: room) {
            case .done(0): return .ended(.peerClosed)
            case .wouldBlock: return .wantsRead
            case .failed: return .ended(.peerReset)
            case .done(let count):
                do throws(ProxyHeaderFailure) {
                    let taken = try unsafe header.receive(room.span.extracting(..<count))
                    // Those bytes are there, so the kernel hands over all of them.
                    _ = unsafe Socket.receive(number, into: .init(rebasing: room.prefix(taken)))
                    guard let client = header.client else { continue }
                    return .complete(try Self.address(client))
                } catch {
                    return .failed(error)
                }
            }
        }
    }

    private static func address(
        _ client: ProxyHeader.Client
    ) throws(ProxyHeaderFailure) -> SocketAddress? {
        switch client {
        case .unnamed: return nil
        case .address(let bytes, let port): return SocketAddress(bytes, port: port)
        case .text(let text, let port):
            guard let address = try? SocketAddress(host: text, port: port) else {
                throw .malformed("the address \(text)")
            }
            return address.unmapped
        }
    }
}

extension SocketAddress {
    /// The address in network byte order, 4 or 16 bytes. An IPv4 address that is mapped to IPv6 becomes IPv4.
    fileprivate init(_ bytes: [UInt8], port: UInt16) {
        func word(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
        if bytes.count == 4 {
            self.init(.ipv4(UInt32(word(0..<4)).bigEndian, port: port))
        } else {
            self = Self(.ipv6(word(0..<8).bigEndian, word(8..<16).bigEndian, port: port, scope: 0)).unmapped
        }
    }

    /// The IPv4 address that is mapped to IPv6 (RFC 4291, section 2.5.5.2), or this address. All mapped addresses have
    /// the same /64, so they would be a single source.
    fileprivate var unmapped: SocketAddress {
        guard case .ipv6(0, let second, let port, _) = kind, second.bigEndian >> 32 == 0xFFFF else {
            return self
        }
        return SocketAddress(.ipv4(UInt32(truncatingIfNeeded: second.bigEndian).bigEndian, port: port))
    }
}
