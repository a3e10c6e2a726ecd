/// Writing. The handler's output goes to the socket at once; the connection keeps only what the socket does not take.
extension Connection {
    /// Asks the handler for its output and writes it. `output` is the loop's buffer, which all connections share.
    func flush(using output: inout [UInt8]) {
        writing.isDirty = false
        guard !isBlocked, let loop, let session else { return }
        let token = token
        output.removeAll(keepingCapacity: true)
        writing.isFlushing = true
        session.flush(into: &output)
        writing.isFlushing = false
        guard loop.holds(token) else { return }
        watchSession()
        var sent = 0
        switch stream.write(output.span, &sent, on: loop) {
        case .complete:
            // A handler that produced output and asks for another flush may have more to send before the connection
            // closes.
            if case .closing(let reason) = phase, !writing.isDirty || output.isEmpty { finish(reason) }
        case .awaits(let readiness):
            writing.block(output[sent...], readiness)
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
        let output = writing.pending
        switch stream.write(output.span, &writing.start, on: loop) {
        case .complete:
            writing.unblock()
            deadline = nil
            setNeedsFlush()
            if stream.hasBufferedInput { loop.work.add(unread: token) }
        case .awaits(let readiness): writing.awaits = readiness
        case .failed(let reason): endUnsent(reason)
        }
        updateInterest()
    }
}
