/// Reading. After every call into the handler the connection may be closed or may belong to another thread, so the
/// code calls `holds` before it touches the connection again.
extension Connection {
    enum Input {
        case bytes(Int)
        case wantsRead
        case wantsWrite
        case end
        case failed(CloseReason)
    }

    /// Reads input until the connection has used its share of this turn. The rest is read in the next turn.
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
                guard !isReadingHeld else { return }
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

    /// Ends this connection's reading in this turn because it has used its share, and reads on in the next turn.
    private func spareOthers() {
        guard let loop else { return }
        sparedTurn = loop.turnNumber
        if tls?.hasBufferedInput == true { loop.work.add(unread: token) }
    }

    /// Stops reading; see ``ConnectionOutput``.
    public func pauseReading() {
        isReadingHeld = true
        updateInterest()
    }

    /// Reads on, beginning with bytes that TLS has buffered.
    public func resumeReading() {
        guard isReadingHeld else { return }
        isReadingHeld = false
        updateInterest()
        if tls?.hasBufferedInput == true { loop?.work.add(unread: token) }
    }

    /// Reads bytes that TLS has buffered: epoll does not report them.
    func readBuffered() {
        switch phase {
        case .open:
            if !isReadingPaused { readInput() }
        case .connecting, .introducing, .handshaking, .closing, .lingering, .moving, .ended: return
        }
    }

    /// Reads and discards input below TLS until the peer ends its output too.
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
    /// The close reason for a TLS failure after the handshake.
    init(_ error: TLSFailure) {
        switch error.origin {
        case .connection: self = .peerReset
        case .local: self = .internalError(error.description)
        case .peer: self = .protocolError(error.description, name: error.name)
        }
    }
}
