/// Reading. After every call into the session the connection may be closed, or belong to another thread:
/// `holds` is asked before anything of it is touched again.
extension Connection {
    enum Input {
        case bytes(Int)
        case wantsRead
        case wantsWrite
        case end
        case failed(CloseReason)
    }

    /// Reads what is there, for as long as it is this connection's turn. What it leaves is read in the next one.
    func readInput() {
        guard case .open = phase else {
            discardInput()
            return
        }
        guard let loop, let session, !hasInputEnded, sparedTurn != loop.turnNumber else { return }
        let token = token
        let requests = session.requestsReceived
        inputAwaitsWritable = false
        for _ in 0..<limits.readsPerTurn {
            switch unsafe receive(
                into: UnsafeMutableBufferPointer(rebasing: loop.input.prefix(limits.bytesPerRead)), loop)
            {
            case .bytes(let count):
                let mayHaveMore = count == limits.bytesPerRead || tls?.hasBufferedInput == true
                unsafe session.received(loop.input.span.extracting(..<count))
                guard loop.holds(token), case .open = phase else { return }
                watchSession()
                guard mayHaveMore else { return }
                guard session.requestsReceived - requests < limits.requestsPerTurn else {
                    return spareOthers()
                }
            case .wantsRead:
                updateInterest()
                return
            case .wantsWrite:
                inputAwaitsWritable = true
                updateInterest()
                return
            case .end:
                hasInputEnded = true
                updateInterest()
                session.inputEnded()
                return
            case .failed(let reason):
                end(reason)
                return
            }
        }
        spareOthers()
    }

    /// This connection has had its share of the turn.
    private func spareOthers() {
        guard let loop else { return }
        sparedTurn = loop.turnNumber
        if tls?.hasBufferedInput == true { loop.hasUnreadInput(token) }
    }

    /// Reads on where the poller sees nothing: bytes that TLS holds.
    func readBuffered() {
        switch phase {
        case .open:
            if !isReadingPaused { readInput() }
        case .connecting, .handshaking, .closing, .lingering, .moving, .ended: return
        }
    }

    /// Takes input that nobody wants, past TLS, until the peer ends too.
    func discardInput() {
        guard let loop, !hasInputEnded else { return }
        for _ in 0..<limits.readsPerTurn {
            switch unsafe Socket.receive(number, into: loop.input) {
            case .done(0):
                inputEndedUnheard()
                return
            case .done: continue
            case .wouldBlock: return
            case .failed:
                if case .closing(let reason) = phase { end(reason) } else { end(.peerReset) }
                return
            }
        }
    }

    private func inputEndedUnheard() {
        hasInputEnded = true
        if case .lingering = phase { end(.peerClosed) } else { updateInterest() }
    }

    private func receive(
        into buffer: UnsafeMutableBufferPointer<UInt8>, _ loop: EventLoop
    ) -> Input {
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
}

extension CloseReason {
    /// Why TLS cannot go on after its handshake.
    init(_ error: TLSFailure) {
        switch error.origin {
        case .connection: self = .peerReset
        case .local: self = .internalError(error.description)
        case .peer: self = .protocolError(error.description, name: error.name)
        }
    }
}
