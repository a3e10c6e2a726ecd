/// Writing: what the session flushes goes to the socket at once, and only what the socket does not take is
/// kept.
extension Connection {
    private enum Output {
        case complete
        case awaits(Readiness)
        case failed(CloseReason)
    }

    /// Asks the session for its output and writes it. `output` is the loop's buffer, shared by all
    /// connections.
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
            // A session that has said something and asks for another flush may have more to say.
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

    /// The peer takes nothing more. What it said before it went is still heard.
    private func endUnsent(_ reason: CloseReason) {
        guard let loop else { return }
        let token = token
        readInput()
        guard loop.holds(token) else { return }
        end(reason)
    }

    /// Goes on with pending output. When all of it has gone the session is asked for more.
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
            if tls?.hasBufferedInput == true { loop.hasUnreadInput(token) }
        case .awaits(let readiness): outputAwaits = readiness
        case .failed(let reason): endUnsent(reason)
        }
        updateInterest()
    }

    /// Writes from `start` on, and moves it.
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
