/// Reading. After every call into the handler the connection may be closed or may belong to another thread, so the
/// code calls `holds` before it touches the connection again.
extension Connection {
    /// Reads input until the connection has used its share of this turn. The rest is read in the next turn.
    func readInput() {
        guard case .open = phase else {
            discardInput()
            return
        }
        guard let loop, let session, !reading.hasEnded, reading.sparedTurn != loop.turnNumber else { return }
        let token = token
        let requests = session.requestsReceived
        reading.awaitsWritable = false
        for _ in 0..<limits.readsPerTurn {
            switch unsafe stream.read(
                into: UnsafeMutableBufferPointer(rebasing: loop.input.prefix(limits.bytesPerRead)), on: loop)
            {
            case .bytes(let count):
                let mayHaveMore = count == limits.bytesPerRead || stream.hasBufferedInput
                unsafe session.received(loop.input.span.extracting(..<count))
                guard loop.holds(token), case .open = phase else { return }
                watchSession()
                guard !reading.isHeld else { return }
                guard mayHaveMore else { return }
                guard session.requestsReceived - requests < limits.requestsPerTurn else {
                    return spareOthers()
                }
            case .wantsRead:
                updateInterest()
                return
            case .wantsWrite:
                reading.awaitsWritable = true
                updateInterest()
                return
            case .end:
                reading.hasEnded = true
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
        reading.sparedTurn = loop.turnNumber
        if stream.hasBufferedInput { loop.work.add(unread: token) }
    }

    /// Stops reading; see ``ConnectionOutput``.
    public func pauseReading() {
        reading.isHeld = true
        updateInterest()
    }

    /// Reads on, beginning with bytes that TLS has buffered.
    public func resumeReading() {
        guard reading.isHeld else { return }
        reading.isHeld = false
        updateInterest()
        if stream.hasBufferedInput { loop?.work.add(unread: token) }
    }

    /// Reads bytes that TLS has buffered: epoll does not report them.
    func readBuffered() {
        switch phase {
        case .open:
            if !isReadingPaused { readInput() }
        case .opening, .closing, .lingering, .moving, .ended: return
        }
    }

    /// Reads and discards input below TLS until the peer ends its output too.
    func discardInput() {
        guard let loop, !reading.hasEnded else { return }
        for _ in 0..<limits.readsPerTurn {
            switch unsafe Socket.receive(number, into: loop.input) {
            case .done(0):
                reading.hasEnded = true
                if case .lingering = phase { return end(.peerClosed) }
                return updateInterest()
            case .done: continue
            case .wouldBlock: return
            case .failed:
                if case .closing(let reason) = phase { end(reason) } else { end(.peerReset) }
                return
            }
        }
    }
}
