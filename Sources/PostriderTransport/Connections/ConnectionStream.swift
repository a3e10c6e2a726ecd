/// The bytes of one connection: its socket, with or without TLS.
struct ConnectionStream: ~Copyable {
    /// The result of a read.
    enum Input {
        case bytes(Int)
        case wantsRead
        case wantsWrite
        case end
        case failed(CloseReason)
    }

    /// The result of a write.
    enum Output {
        case complete
        case awaits(Readiness)
        case failed(CloseReason)
    }

    /// The number of the socket's descriptor. It stays known after the socket is closed.
    let number: Int32
    private var descriptor: Descriptor?
    private(set) var tls: (any TLSSession)?

    init(_ descriptor: consuming Descriptor, _ tls: (any TLSSession)?) {
        number = descriptor.number
        self.descriptor = consume descriptor
        self.tls = tls
    }

    /// Whether the socket is open.
    var isOpen: Bool { descriptor != nil }

    /// Whether TLS has bytes that the socket no longer reports.
    var hasBufferedInput: Bool { tls?.hasBufferedInput == true }

    /// Puts TLS on a stream that had none.
    mutating func begin(_ tls: any TLSSession) {
        precondition(self.tls == nil, "bug: TLS begins twice")
        self.tls = tls
    }

    /// Reads once.
    func read(into buffer: UnsafeMutableBufferPointer<UInt8>, on loop: EventLoop) -> Input {
        guard let tls else {
            switch unsafe Socket.receive(number, into: buffer) {
            case .done(0): return .end
            case .done(let count): return .bytes(count)
            case .wouldBlock: return .wantsRead
            case .failed: return .failed(.peerReset)
            }
        }
        var span = unsafe buffer.mutableSpan
        do {
            switch try tls.read(into: &span, using: loop.workspace(of: tls)) {
            case .bytes(let count): return .bytes(count)
            case .wantsRead: return .wantsRead
            case .wantsWrite: return .wantsWrite
            case .endOfStream: return .end
            }
        } catch {
            return .failed(CloseReason(error))
        }
    }

    /// Writes `bytes` from index `start` on, and advances `start` by the bytes written.
    func write(_ bytes: Span<UInt8>, _ start: inout Int, on loop: EventLoop) -> Output {
        while start < bytes.count {
            let rest = bytes.extracting(start...)
            guard let tls else {
                switch Socket.send(number, rest) {
                case .done(let count): start += count
                case .wouldBlock: return .awaits(.writable)
                case .failed: return .failed(.peerReset)
                }
                continue
            }
            do {
                switch try tls.write(rest, using: loop.workspace(of: tls)) {
                case .bytes(let count): start += count
                case .wantsRead: return .awaits(.readable)
                case .wantsWrite: return .awaits(.writable)
                case .endOfStream: return .failed(.peerReset)
                }
            } catch {
                return .failed(CloseReason(error))
            }
        }
        return .complete
    }

    /// Sends close_notify, if there is TLS and the socket takes it.
    func endTLS(on loop: EventLoop) {
        if let tls { tls.shutdown(using: loop.workspace(of: tls)) }
    }

    /// Tells TLS that the loop does not use it any more.
    func leave(_ loop: EventLoop) {
        if let tls { tls.release(using: loop.workspace(of: tls)) }
    }

    /// Closes the socket.
    mutating func close() {
        tls = nil
        descriptor = nil
    }
}

extension CloseReason {
    /// The close reason for a TLS failure after the handshake.
    fileprivate init(_ error: TLSFailure) {
        switch error.origin {
        case .connection: self = .peerReset
        case .local: self = .internalError(error.description)
        case .peer: self = .protocolError(error.description, name: error.name)
        }
    }
}
