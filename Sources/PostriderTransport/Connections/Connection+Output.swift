/// Writing. The handler's output goes to the socket at once; the connection keeps only what the socket does not take.
extension Connection {
    private enum Output {
        case complete
        case awaits(Readiness)
        case failed(CloseReason)
    }

    /// Asks the handler for its output and writes it. `output` is the loop's buffer, which all connections share.
    func flush(using output: inout [UInt8]) {
        isDirty = false
        guard !isBlocked, let loop, let session else { return }
        let token = token
        output.removeAll(keepingCapacity: true)
        isFlushing = true
        session.flush(into: &output)
        isFlushing = false
        guard loop.holds(token) else { return }
        watchSession()
        var sent = 0
        switch write(output.span, &sent, loop) {
        case .complete:
            // A handler that produced output and asks for another flush may have more to send before the connection
            // closes.
            if case .closing(let reason) = phase, !isDirty || output.isEmpty { finish(reason) }
        case .awaits(let readiness):
            pending = Array(output[sent...])
            pendingStart = 0
            outputAwaits = readiness
            setDeadline(limits.writeMilliseconds)
            updateInterest()
        case .failed(let reason): endUnsent(reason)
        }
    }

    /// Ends a connection whose peer takes no more output. Input that the peer sent before is still read.
    private func endUnsent(_ reason: CloseReason) {
        guard let loop else { return }
        let token = token
        readInput()
        guard loop.holds(token) else { return }
        end(reason)
    }

    /// Continues to write pending output. When all of it is written, the handler is asked for more.
    func resumeOutput() {
        guard let loop else { return }
        let output = pending
        switch write(output.span, &pendingStart, loop) {
        case .complete:
            pending = []
            pendingStart = 0
            outputAwaits = []
            deadline = nil
            setNeedsFlush()
            if tls?.hasBufferedInput == true { loop.work.add(unread: token) }
        case .awaits(let readiness): outputAwaits = readiness
        case .failed(let reason): endUnsent(reason)
        }
        updateInterest()
    }

    /// Writes `bytes` from index `start` on, and advances `start` by the bytes written.
    private func write(_ bytes: Span<UInt8>, _ start: inout Int, _ loop: EventLoop) -> Output {
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
}
